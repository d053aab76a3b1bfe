"""`assemble_many` and `retrieve_many`: what they take, in which order they answer, and whose filter holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, Context, MemoryIndex, RetrievalConfig, assemble, retrieve
from ctxassembly.batch import Batch, assemble_many, retrieve_many
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.evaluate import LabeledQuestion

WORDS = RetrievalConfig(strategy="keyword")
TEXTS = ("Drink water until two hours before.", "Ferritin is measured in the morning.", "Eat nothing for six hours.")
INDEX = MemoryIndex([Chunk(f"lab#{at}", "lab", text, at) for at, text in enumerate(TEXTS)])
QUESTIONS = ["Until when may I drink water?", "When is ferritin measured?", "How long do I eat nothing?"]


class BrokenIndex(MemoryIndex):
    """Fails for one word."""

    def find_terms(self, request: Any) -> Any:
        if "explode" in request.text:
            raise OSError("the disk is gone")
        return super().find_terms(request)


class Unpicklable(MemoryIndex):
    def __getstate__(self) -> Any:
        raise TypeError("cannot pickle a lock")


def made(questions: Any, config: AssemblyConfig | None = None, **options: Any) -> Batch:
    return assemble_many(questions, config, **{"index": INDEX, "retrieval": WORDS, "progress": False, **options})


def contexts(batch: Batch) -> list[Context]:
    rows = list(batch)
    assert [row.error for row in rows] == [None] * len(rows)
    return [row.context for row in rows if row.context]


@pytest.mark.parametrize("workers", [1, 2])
def test_the_contexts_are_those_of_retrieve_and_assemble_in_the_order_of_the_questions(workers: int):
    questions, config = QUESTIONS * 8, AssemblyConfig(max_tokens=30)
    expected = [
        assemble(retrieve(one, WORDS, index=INDEX).hits, config, query=one, store=INDEX).text for one in questions
    ]
    found = contexts(made(questions, config, workers=workers))
    assert [context.text for context in found] == expected
    assert all(context.token_count <= 30 for context in found)


def test_retrieve_many_returns_what_retrieve_returns():
    rows = [*retrieve_many(QUESTIONS, WORDS, index=INDEX, progress=False)]
    assert [row.retrieved.hits if row.retrieved else () for row in rows] == [
        retrieve(one, WORDS, index=INDEX).hits for one in QUESTIONS
    ]
    assert {row.context for row in rows} == {None}


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Why?", "a45fe7d08a26"),
        (("q1", "Why?"), "q1"),
        ((7, "Why?"), "7"),
        ({"question": "Why?"}, "a45fe7d08a26"),
        ({"id": "q1", "question": "Why?", "filter": None}, "q1"),
        (LabeledQuestion("Why?"), LabeledQuestion("Why?").id),
        (LabeledQuestion("Why?", id="q1"), "q1"),
    ],
)
def test_a_question_has_one_of_four_forms(question: Any, name: str):
    [row] = made([question])
    assert row.question == "Why?"
    assert row.id == (LabeledQuestion("Why?").id if name.startswith("a45") else name)


def test_the_same_question_under_two_filters_has_two_ids():
    first, second = made([{"question": "Why?", "filter": {"tenant": name}} for name in ("ours", "theirs")])
    assert first.id != second.id


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (7, "question 1 must be a text, a pair of id and text, a LabeledQuestion, or a dict"),
        ({"query": "Why?"}, "question 1 must be a text, a pair"),
        ({"question": "Why?", "filters": {"tenant": 1}}, "question 1 must be a text, a pair"),
        ({"question": 7}, "question 1: the question must be a string, got 7"),
        ((None, 7), "question 1: the question must be a string, got 7"),
        (("", "Why?"), "question 1: the id must be a string or an integer, got ''"),
        ((float("nan"), "Why?"), "question 1: the id must be a string or an integer, got nan"),
    ],
)
def test_anything_else_is_an_error_that_names_the_question(question: Any, message: str):
    with pytest.raises(InputError, match=message):
        next(made([question]))


class Frame:
    columns = ("question",)

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


@pytest.mark.parametrize(
    ("questions", "options", "message"),
    [
        ("Why?", {}, "questions must be an iterable of questions, got 'Why\\?'"),
        ({"question": "Why?"}, {}, "questions must be an iterable of questions"),
        (Frame(), {}, r"to_dict\('records'\) gives the rows of a DataFrame"),
        ([], {"workers": 0}, "workers must be an integer of at least 1, got 0"),
        ([], {"config": WORDS}, r"config must be an AssemblyConfig, an object with flow\(call\), or None"),
        ([], {"retrieval": AssemblyConfig()}, "config must be a RetrievalConfig or None"),
        ([], {"labels": None}, "assemble_many.. has no parameter 'labels'"),
        ([], {"filter": {"tenant": 1}}, "assemble_many.. has no parameter 'filter'"),
        ([], {"index": object()}, "index must be an object with find_terms"),
        ([], {"store": object()}, "object has no fetch"),
        ([], {"taxonomy": 7}, "taxonomy must be a Taxonomy or None"),
        ([], {"out": "contexts.csv"}, "out must be a path that ends in .jsonl or .parquet"),
    ],
)
def test_wrong_arguments_are_errors_at_the_call(questions: Any, options: dict[str, Any], message: str):
    with pytest.raises((ConfigError, InputError), match=message):
        made(questions, **options)


def test_retrieve_many_refuses_the_arguments_of_assemble():
    with pytest.raises(ConfigError, match=r"retrieve_many\(\) has no parameter 'store'"):
        retrieve_many([], index=INDEX, store=INDEX)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_one_question_is_in_its_row_and_the_others_go_on(workers: int):
    index = BrokenIndex([Chunk("lab#0", "lab", TEXTS[0], 0)])
    config = replace(WORDS, on_search_error="raise")
    batch = made(["water", ("q2", "explode"), "drink", " "], index=index, retrieval=config, workers=workers)
    rows = list(batch)
    assert [row.context is not None for row in rows] == [True, False, True, False]
    assert "the disk is gone" in str(rows[1].error)
    assert rows[3].error == "InputError: the question is empty"
    assert str(batch.summary).startswith("made 2, resumed 0, failed 2 (q2: SearchError: ")


def test_nothing_is_asked_before_a_row_is_read_and_no_more_than_the_workers_need():
    asked: list[str] = []

    def questions() -> Iterator[str]:
        for number in range(1000):
            asked.append(str(number))
            yield f"water {number}"

    batch = made(questions())
    assert not asked
    next(batch)
    assert len(asked) == 1
    batch.close()
    with pytest.raises(StopIteration):
        next(batch)
    batch = made(questions(), workers=2)
    next(batch)
    assert len(asked) == 1 + 8
    next(batch)
    assert len(asked) == 1 + 9
    batch.close()


def test_a_pipeline_that_cannot_be_pickled_is_a_clear_error_with_workers_alone():
    index = Unpicklable([Chunk("lab#0", "lab", TEXTS[0], 0)])
    with pytest.raises(InputError, match=r"can't be pickled \(TypeError: cannot pickle a lock\).* or workers=1"):
        made(QUESTIONS, index=index, workers=2)
    assert len(contexts(made(QUESTIONS, index=index))) == 3


class OnlyHere(MemoryIndex):
    """Can't be unpickled."""

    def __reduce__(self) -> Any:
        return int, ("not a number",)


def test_a_pipeline_that_cannot_be_unpickled_is_a_clear_error():
    with pytest.raises(InputError, match=r"can't be unpickled in a worker \(ValueError"):
        list(made(QUESTIONS, index=OnlyHere([]), workers=2))


class Ending(MemoryIndex):
    def search(self, request: Any) -> Any:
        import os

        os._exit(3)


def test_a_worker_that_ends_is_a_clear_error():
    with pytest.raises(Exception, match="a worker process ended"):
        list(made(QUESTIONS, index=Ending([]), workers=2))


TENANTS = MemoryIndex(
    [
        Chunk(f"{name}#{at}", "contract", text, at + 2 * place, metadata={"tenant": name})
        for place, name in enumerate(("ours", "theirs"))
        for at, text in enumerate((f"The contract of {name} ends in May.", f"Notice is given in writing to {name}."))
    ]
)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_filter_restricts_hits_and_neighbors(workers: int):
    """All chunks are of one document, so each tenant's are the neighbors of the other's."""
    questions = [
        {"id": f"{name}{number}", "question": "When does the contract end?", "filter": {"tenant": name}}
        for number in range(4)
        for name in ("ours", "theirs")
    ]
    options: dict[str, Any] = {"index": TENANTS, "workers": workers}
    for question, context in zip(questions, contexts(made(questions, **options)), strict=True):
        tenant = question["filter"]["tenant"]
        other = "theirs" if tenant == "ours" else "ours"
        assert f"of {tenant} ends" in context.text
        assert f"writing to {tenant}" in context.text
        assert other not in context.text
    for row in retrieve_many(questions, WORDS, progress=False, **options):
        assert row.retrieved
        assert {hit.chunk.metadata["tenant"] for hit in row.retrieved.hits} == {row.id[:-1]}


def test_a_filter_of_the_index_holds_in_addition():
    ours = TENANTS.with_filter({"tenant": "ours"})
    [row] = made([{"question": "When does the contract end?", "filter": {"tenant": "theirs"}}], index=ours)
    assert row.context
    assert not row.context.text


class Shelf:
    """A store that can't be restricted."""

    def fetch(self, refs: Any) -> Any:
        raise AssertionError("read without the filter")


def test_a_store_that_cannot_apply_the_filter_is_an_error_and_is_not_read():
    [row] = made([{"question": "contract", "filter": {"tenant": "ours"}}], index=TENANTS, store=Shelf())
    assert row.error == "InputError: store must have with_filter where a question has a filter, got Shelf"


def test_a_filter_that_cannot_be_sent_to_a_worker_is_an_error_of_its_question():
    questions = [{"id": "q1", "question": "contract", "filter": lambda chunk: True}, "contract"]
    first, second = made(questions, index=TENANTS, workers=2)
    assert "pickle" in str(first.error)
    assert second.context
