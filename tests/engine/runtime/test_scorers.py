"""Scorers: what is one, what it is asked, what is remembered, and what a wrong reply is."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest

from ctxassembly.data.requests import ScoreTexts, TextScores
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.runtime import scorers
from ctxassembly.runtime.scorers import check_scorer, to_scorer

TEXTS = ("Drink water.", "Eat nothing at all.", "Rest.")
REQUEST = ScoreTexts("How long?", TEXTS)
LENGTHS = (12.0, 19.0, 5.0)
VECTORS = {"How long?": [1.0, 0.0], "Drink water.": [3.0, 4.0], "Eat nothing at all.": [2.0, 0.0], "Rest.": [0.0, 1.0]}
COSINES = (0.6, 1.0, 0.0)


class Asked:
    """Keeps what each call asked for."""

    def __init__(self) -> None:
        self.calls: list[Any] = []


class Function(Asked):
    def __call__(self, query: str, sentences: list[str]) -> list[float]:
        self.calls.append((query, sentences))
        return [float(len(each)) for each in sentences]


class AsyncFunction(Asked):
    async def __call__(self, query: str, sentences: list[str]) -> list[float]:
        self.calls.append((query, sentences))
        return [float(len(each)) for each in sentences]


class LangChains(Asked):
    def embed_query(self, text: str) -> list[float]:
        self.calls.append(text)
        return VECTORS[text]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(texts)
        return [VECTORS[text] for text in texts]


class AsyncLangChains(LangChains):
    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_documents(texts)


class LlamaIndexs(Asked):
    def get_query_embedding(self, query: str) -> list[float]:
        self.calls.append(query)
        return VECTORS[query]

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(texts)
        return [VECTORS[text] for text in texts]


class SentenceTransformers(Asked):
    def __call__(self, sentences: Any) -> Any:
        raise AssertionError("a module is no function")

    def encode_query(self, query: str) -> list[float]:
        self.calls.append(query)
        return VECTORS[query]

    def encode_document(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(texts)
        return [VECTORS[text] for text in texts]


class CrossEncoders(Asked):
    def predict(self, pairs: list[tuple[str, str]]) -> list[float]:
        self.calls.append(pairs)
        return [float(len(text)) for _, text in pairs]


class LangChainsCrossEncoder(Asked):
    def score(self, pairs: list[tuple[str, str]]) -> list[float]:
        self.calls.append(pairs)
        return [float(len(text)) for _, text in pairs]


SCORERS: list[tuple[Callable[[], Any], Sequence[float], list[Any]]] = [
    (Function, LENGTHS, [("How long?", [*TEXTS])]),
    (LangChains, COSINES, ["How long?", [*TEXTS]]),
    (AsyncLangChains, COSINES, ["How long?", [*TEXTS]]),
    (LlamaIndexs, COSINES, ["How long?", [*TEXTS]]),
    (SentenceTransformers, COSINES, ["How long?", [*TEXTS]]),
    (CrossEncoders, LENGTHS, [[("How long?", text) for text in TEXTS]]),
    (LangChainsCrossEncoder, LENGTHS, [[("How long?", text) for text in TEXTS]]),
]


def score(given: Any, request: ScoreTexts = REQUEST) -> TextScores:
    scorer = to_scorer(given)
    assert scorer is not None
    return scorer.score(request)


async def ascore(given: Any, request: ScoreTexts = REQUEST) -> TextScores:
    scorer = to_scorer(given)
    assert scorer is not None
    return await scorer.ascore(request)


@pytest.mark.parametrize(("make", "values", "calls"), SCORERS)
async def test_each_kind_is_asked_once_sync_and_async(make: Callable[[], Any], values: Any, calls: list[Any]):
    called, awaited = make(), make()
    assert score(called) == TextScores(pytest.approx(values), 3)
    assert await ascore(awaited) == TextScores(pytest.approx(values), 3)
    assert called.calls == awaited.calls == calls


async def test_an_async_function_is_awaited_and_can_not_be_called():
    function = AsyncFunction()
    assert await ascore(function) == TextScores(LENGTHS, 3)
    scorer = to_scorer(function)
    assert scorer is not None
    assert not scorer.is_sync


@pytest.mark.parametrize("make", [Function, LangChains, CrossEncoders])
async def test_what_was_said_is_not_asked_again(make: Callable[[], Any]):
    given = make()
    first = score(given)
    before = len(given.calls)
    assert score(given) == TextScores(first.values, 0)
    assert await ascore(given) == TextScores(first.values, 0)
    assert len(given.calls) == before
    assert score(given, ScoreTexts("How long?", TEXTS[:1])).scored_count == 0


def test_vectors_of_sentences_serve_another_query_and_scores_do_not():
    model, function = LangChains(), Function()
    again = ScoreTexts("Rest.", ("Drink water.", "How long?"))
    for given, asked in ((model, 1), (function, 2)):
        score(given)
        assert score(given, again).scored_count == asked
    assert model.calls[2:] == ["Rest.", ["How long?"]]  # a query is not its sentence: many models tell the two apart


def test_a_query_and_a_sentence_are_never_taken_for_others():
    function = Function()
    assert score(function, ScoreTexts("ab", ("c",))).scored_count == 1
    assert score(function, ScoreTexts("a", ("bc",))).scored_count == 1
    assert score(function, ScoreTexts("1:a", ("bc",))).scored_count == 1


def test_methods_of_one_object_are_remembered_apart_and_each_time_they_are_looked_up():
    class Two:
        def up(self, query: str, sentences: list[str]) -> list[float]:
            return [1.0 for _ in sentences]

        def down(self, query: str, sentences: list[str]) -> list[float]:
            return [-1.0 for _ in sentences]

    two = Two()
    assert score(two.up).scored_count == 3
    assert score(two.up).scored_count == 0
    assert score(two.down) == TextScores((-1.0, -1.0, -1.0), 3)


def test_the_memory_goes_with_the_scorer():
    before = len(scorers._memories)
    function, model = Function(), LangChains()
    score(function)
    score(model)
    assert len(scorers._memories) == before + 2
    del function, model
    gc.collect()
    assert len(scorers._memories) == before


def test_what_nothing_tells_the_end_of_is_not_remembered():
    class Bare:
        __slots__ = ()

        def predict(self, pairs: list[tuple[str, str]]) -> list[float]:
            return [0.5 for _ in pairs]

    bare, before = Bare(), len(scorers._memories)
    assert score(bare).scored_count == score(bare).scored_count == 3
    assert len(scorers._memories) == before


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scorers, "MAX_BYTES", 100_000)

    class Wide:
        def embed_query(self, text: str) -> list[float]:
            return [1.0] * 500

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[1.0] * 500 for _ in texts]

    wide = Wide()
    for at in range(40):
        score(wide, ScoreTexts("q", tuple(f"Sentence {at} {number}." for number in range(10))))
    kept = scorers._memories[id(wide), None]
    # 2,000 bytes of vector each: of 400 sentences no more than 50 fit.
    assert 10 <= len(kept.recent) + len(kept._old) <= 50


def test_a_chunk_that_has_a_vector_is_not_embedded():
    model = LangChains()
    known = {"Rest.": [5.0, 0.0], "Drink water.": [1.0, 0.0, 0.0]}  # the second is another model's: three dimensions
    assert score(model, ScoreTexts("How long?", TEXTS, known)) == TextScores(pytest.approx((0.6, 1.0, 1.0)), 2)
    assert model.calls[1] == ["Drink water.", "Eat nothing at all."]
    # What came with one chunk is not remembered for all: the next assembly asks the model.
    assert score(model).scored_count == 1


class Answers:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __call__(self, query: str, sentences: list[str]) -> Any:
        return self.answer


class Vectors:
    def __init__(self, answer: Any, query: Any = (1.0, 0.0)) -> None:
        self.answer, self.query = answer, query

    def embed_query(self, text: str) -> Any:
        return self.query

    def embed_documents(self, texts: list[str]) -> Any:
        return self.answer


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Answers([1.0, 2.0]), r"one score for each of 3 texts, got \[1.0, 2.0\]"),
        (Answers(None), "one score for each of 3 texts, got None"),
        (Answers("abc"), "one score for each of 3 texts, got 'abc'"),
        (Answers({"a": 1, "b": 2, "c": 3}), "one score for each of 3 texts"),
        (Answers(iter([1.0, 2.0, 3.0])), "one score for each of 3 texts"),
        (Answers(["1.0", 2.0, 3.0]), "must return numbers, got '1.0'"),
        (Answers([[1.0, 2.0]] * 3), r"must return numbers, got \[1.0, 2.0\]"),
        (Answers([None] * 3), "must return numbers, got None"),
        (Vectors([[1.0, 0.0]]), "one vector for each of 3 texts"),
        (Vectors([[1.0, 0.0, 0.0]] * 3), "the scorer's vectors have 2 and 3 dimensions"),
        (Vectors([], query=[0.0, 0.0]), "vector of the query must be"),
        (Vectors([], query="abc"), "vector of the query must be"),
        (Vectors([], query=None), "vector of the query must be"),
    ],
)
async def test_a_wrong_reply_says_what_is_wrong_and_is_forgotten(given: Any, message: str):
    for _ in range(2):
        with pytest.raises(InputError, match=message):
            score(given)
        with pytest.raises(InputError, match=message):
            await ascore(given)


def test_what_is_not_finite_is_none_and_asked_again():
    given = Answers([1.0, math.nan, math.inf])
    first, *rest = score(given).values
    assert first == 1.0
    assert not any(map(math.isfinite, rest))
    given.answer = [2.0, 3.0]
    assert score(given) == TextScores((1.0, 2.0, 3.0), 2)


def test_a_sentence_without_a_vector_has_no_score():
    values = score(Vectors([[1.0, 0.0], [0.0, 0.0], [math.nan, 1.0]])).values
    assert values[0] == pytest.approx(1.0)
    assert all(map(math.isnan, values[1:]))


def test_an_error_of_the_scorer_is_its_own():
    def fails(query: str, sentences: list[str]) -> list[float]:
        raise ConnectionError("no route")

    with pytest.raises(ConnectionError, match="no route"):
        score(fails)


class QueriesAlone:
    def embed_query(self, text: str) -> list[float]:
        return [1.0]


class Reranker:
    def compress_documents(self, documents: Any, query: str) -> Any:
        return documents


@pytest.mark.parametrize(
    ("given", "ending"),
    [
        ("all-MiniLM-L6-v2", r"write SentenceTransformer\('all-MiniLM-L6-v2'\)"),
        (Function, r"give an object of it, Function\(\.\.\.\)"),
        (QueriesAlone(), "it embeds only queries or only texts, and both are needed"),
        (Reranker(), "a reranker scores chunks; give the model in it"),
        (lambda texts: [[1.0] for _ in texts], r"write def scorer\(query, sentences\): return"),
        (7, "got 7"),
    ],
)
def test_what_is_no_scorer_is_told_what_is(given: Any, ending: str):
    with pytest.raises(InputError, match=rf"^scorer must be a model with embed_query and embed_documents.*{ending}"):
        to_scorer(given)
    with pytest.raises(ConfigError, match=rf"^scorer must be .* a function from a query .*{ending}"):
        check_scorer(given)


def test_none_is_none_and_functions_of_any_make_are_taken():
    assert to_scorer(None) is None
    assert score(partial(lambda extra, query, sentences: [extra] * len(sentences), 2.0)).values == (2.0, 2.0, 2.0)
    assert score(lambda *given: [1.0] * len(given[1])).values == (1.0, 1.0, 1.0)
