"""One odd value never loses the context: in a chunk it is mended and noted, as an argument it is a clear error."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from fuzz.cases import ANSWERS, Answering, Failing
from fuzz.odd import ODD, UnprintableError

from builders import standing, words_of
from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore, Supplement, aassemble, assemble
from ctxassembly.errors import ConfigError, InputError, StoreError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.serialization import to_plain, trace_to_plain

A = [words_of("A", n) for n in range(9)]
STORE = MemoryStore(A)
FIELDS = ("id", "document_id", "text", "index", "start", "prev_id", "next_id", "metadata", "vector", "score")


def with_odd(field: str, value: Any, chunk: Chunk = A[4]) -> Hit:
    if field == "score":
        return Hit(chunk, value)
    return Hit(replace(chunk, **{field: value}), 0.5)


@pytest.mark.parametrize("field", [*FIELDS, "source", "page", "content_hash", "updated_at", "page_summary", "other"])
def test_an_odd_value_in_a_hit_costs_no_other_hit(field: str):
    config = AssemblyConfig(prefer_version="newest", window=0)
    for name, make in ODD.items():
        value = make()
        odd = with_odd(field, value) if field in FIELDS else with_odd("metadata", {field: value, "title": "A title"})
        context = assemble([Hit(A[0], 0.9), odd, Hit(A[8], 0.1)], config, query="begins", store=STORE)
        assert {"A0", "A8"} <= set(standing(context)), name
        assert len(context.trace.decisions) == 3, name
        for each in (trace_to_plain(context.trace), to_plain(context.citations)):
            json.dumps(each, allow_nan=False, ensure_ascii=False).encode()
        assert "<html" in context.to_html()


@pytest.mark.parametrize("field", FIELDS[:-1])
def test_an_odd_value_in_a_neighbor_costs_no_other_neighbor(field: str):
    for name, make in ODD.items():
        odd = replace(A[5], **{field: make()})
        store = Answering([], lambda _, odd=odd: [A[3], A[4], odd])
        context = assemble([Hit(A[4])], AssemblyConfig(neighbors="unfiltered"), store=store)
        contradicts = any("two texts have index 3" in note for note in context.trace.notes)  # it is A3's, too
        assert {"A3", "A4"} <= set(standing(context)) or contradicts, name


@pytest.mark.parametrize(
    ("rule", "hit", "note"),
    [
        ("an unhashable link", with_odd("prev_id", ["x"]), "prev_id ['x'] is no id of another chunk, left out"),
        ("a link to itself", with_odd("next_id", "A4"), "next_id 'A4' is no id of another chunk, left out"),
        ("a text of bytes", with_odd("text", b"caf\xc3\xa9"), "its text is bytes, read as UTF-8"),
        ("no text", with_odd("text", None), "text None is no string, left out"),
        ("an endless index", with_odd("index", 10**30), f"index {10**30} is not a whole number from 0, left out"),
        ("an index that says nothing", with_odd("index", True), "index True is not a whole number from 0, left out"),
        ("an odd offset", with_odd("start", "x"), "start 'x' is not a whole number from 0, left out"),
        ("a list as score", with_odd("score", [1]), "score [1] is no finite number, left out"),
    ],
    ids=safe_repr,
)
def test_each_odd_value_is_noted(rule: str, hit: Hit, note: str):
    context = assemble([hit])
    assert f"hit {context.trace.decisions[0].chunk_id!r}: {note}" in context.trace.notes


@pytest.mark.parametrize("name", ["NUL", "surrogates"])
@pytest.mark.parametrize("field", ["document_id", "prev_id"])
def test_what_no_database_can_be_asked_for_costs_the_others_nothing(name: str, field: str):
    class Strict(MemoryStore):
        def fetch(self, refs: Any) -> Any:
            for ref in refs:
                if "\0" in f"{ref.document_id}{ref.chunk_id}":
                    raise ValueError("A string literal cannot contain NUL (0x00) characters.")
                f"{ref.document_id}{ref.chunk_id}".encode()
            return super().fetch(refs)

    odd = replace(Chunk("x", "X", "Another text.", None if field == "prev_id" else 3), **{field: ODD[name]()})
    context = assemble([Hit(A[4]), Hit(odd)], store=Strict(A))
    assert standing(context) == ["A3", "A4", "A5", "x"]
    assert [note for note in context.trace.notes if note.startswith("store: not asked for ")]


# Stores


@pytest.mark.parametrize(
    "error", [UnprintableError(), ConnectionError("x" * 10_000), StopIteration(3), RecursionError()]
)
async def test_an_error_of_the_store_is_told_however_odd_it_is(error: Exception):
    for context in (assemble([Hit(A[4])], store=Failing(error)), await aassemble([Hit(A[4])], store=Failing(error))):
        assert standing(context) == ["A4"]
        (note,), warned = context.trace.notes, str(context.trace.missing)
        assert note.startswith("store: no neighbors (")
        assert warned.startswith("The store failed (")
        assert max(len(note), len(warned)) < 700
    raising = AssemblyConfig(on_store_error="raise")
    with pytest.raises(StoreError, match="neighbors could not be fetched: "):
        assemble([Hit(A[4])], raising, store=Failing(error))
    with pytest.raises(StoreError, match="neighbors could not be fetched: "):
        await aassemble([Hit(A[4])], raising, store=Failing(error))


@pytest.mark.parametrize("name", ANSWERS)
async def test_whatever_the_store_answers_the_hits_stand(name: str):
    for context in (
        assemble([Hit(A[4])], store=Answering(A, ANSWERS[name])),
        await aassemble([Hit(A[4])], store=Answering(A, ANSWERS[name])),
    ):
        assert "A4" in standing(context)
        assert len(context.trace.notes) <= 2
        assert context.trace.notes or name in ("nothing", "each twice")


# Arguments


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"query": 5}, InputError, "query must be a string or None, got 5"),
        (
            {"config": {"window": 1}},
            InputError,
            "config must be an AssemblyConfig, an object with flow(call), or None, got {'window': 1}",
        ),
        ({"config": 0}, InputError, "config must be an AssemblyConfig, an object with flow(call), or None, got 0"),
        ({"supplement": 5}, InputError, "supplement must be a string or a Supplement, got 5"),
        ({"supplement": Supplement(5)}, InputError, "supplement must be a string or a Supplement, got Supplement("),  # type: ignore[arg-type]
        ({"store": 5}, InputError, "int has no fetch"),
        ({"embeddings": 5}, InputError, "int is no function and has no embed_documents"),
        ({"llm": 5}, InputError, "llm must be a function"),
        ({"hits": 5}, InputError, "hits must be a sequence of Hit, got 5"),
    ],
    ids=safe_repr,
)
async def test_an_argument_of_another_type_is_an_error_that_shows_it(given: Any, error: type, message: str):
    arguments = {"hits": [Hit(A[4])], **given}
    with pytest.raises(error) as caught:
        assemble(**arguments)
    assert str(caught.value).startswith(message)
    with pytest.raises(error):
        await aassemble(**arguments)


def raised(function: Callable[[Any], Any], given: Any) -> Exception | None:
    try:
        function(given)
    except Exception as error:  # noqa: BLE001 - which it is is the question
        return error
    return None


def assemble_with(argument: str, given: Any) -> None:
    assemble([Hit(A[4])], **{argument: given})


@pytest.mark.parametrize("name", ODD)
def test_no_odd_query_or_setting_raises_anything_else(name: str):
    make = ODD[name]
    for argument in ("query", "config", "supplement"):
        error = raised(partial(assemble_with, argument), make())
        assert error is None or (isinstance(error, InputError) and argument in str(error) and len(str(error)) < 400)


@pytest.mark.parametrize("option", AssemblyConfig.__dataclass_fields__)
def test_no_odd_value_of_an_option_raises_anything_but_that_it_is_wrong(option: str):
    for name in ODD:
        error = raised(lambda given: AssemblyConfig(**{option: given}), ODD[name]())
        assert error is None or (isinstance(error, ConfigError) and option in str(error)), name
        assert len(str(error)) < 700
