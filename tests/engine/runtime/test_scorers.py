"""Scorers: what each kind is asked, what is remembered, and what a wrong reply is."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Sequence
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, StoreError, aassemble, assemble

TEXTS = ("Drink some water.", "Eat nothing at all.", "Rest for a while.")
HITS = [Hit(Chunk(f"a#{at}", f"a{at}", text)) for at, text in enumerate(TEXTS)]
CONFIG = AssemblyConfig(max_tokens=8, format="minimal", on_store_error="raise", min_relevance=0)
VECTORS = {"How long?": [1.0, 0.0], TEXTS[0]: [0.0, 2.0], TEXTS[1]: [2.0, 0.0], TEXTS[2]: [0.0, 1.0]}


class Asked:
    """Keeps what each call asked for."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def scores(self, texts: Sequence[str]) -> list[float]:
        return [float("Eat" in text) for text in texts]


class Function(Asked):
    def __call__(self, query: str, sentences: list[str]) -> list[float]:
        self.calls.append((query, sorted(sentences)))
        return self.scores(sentences)


class Embedder(Asked):
    def query(self, text: str) -> list[float]:
        self.calls.append(text)
        return VECTORS[text]

    def texts(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(sorted(texts))
        return [VECTORS[text] for text in texts]


class LangChains(Embedder):
    embed_query, embed_documents = Embedder.query, Embedder.texts


class AsyncLangChains(LangChains):
    async def aembed_query(self, text: str) -> list[float]:
        return self.query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.texts(texts)


class LlamaIndexs(Embedder):
    get_query_embedding, get_text_embedding_batch = Embedder.query, Embedder.texts


class SentenceTransformers(Embedder):
    encode_query, encode_document = Embedder.query, Embedder.texts

    def __call__(self, sentences: Any) -> Any:
        raise AssertionError("a module is no function")


class CrossEncoders(Asked):
    def predict(self, pairs: list[tuple[str, str]]) -> list[float]:
        self.calls.append(sorted(pairs))
        return self.scores([text for _, text in pairs])


class LangChainsCrossEncoder(CrossEncoders):
    score, predict = CrossEncoders.predict, None  # type: ignore[assignment]


EMBEDDED = ["How long?", sorted(TEXTS)]
PAIRS = [[("How long?", text) for text in sorted(TEXTS)]]


@pytest.mark.parametrize(
    ("make", "calls"),
    [
        (Function, [("How long?", sorted(TEXTS))]),
        *((kind, EMBEDDED) for kind in (LangChains, AsyncLangChains, LlamaIndexs, SentenceTransformers)),
        *((kind, PAIRS) for kind in (CrossEncoders, LangChainsCrossEncoder)),
    ],
)
async def test_each_kind_is_asked_once_and_never_again_for_what_it_said(make: type[Asked], calls: list[Any]):
    called, awaited = make(), make()
    for _ in range(2):
        assert assemble(HITS, CONFIG, query="How long?", scorer=called).text == TEXTS[1]  # type: ignore[arg-type]
        context = await aassemble(HITS, CONFIG, query="How long?", scorer=awaited)  # type: ignore[arg-type]
        assert context.text == TEXTS[1]
    assert called.calls == awaited.calls == calls


def test_vectors_of_sentences_serve_another_query_and_scores_do_not():
    model, function = LangChains(), Function()
    VECTORS["What now?"] = [0.0, 1.0]
    for query in ("How long?", "What now?"):
        for scorer in (model, function):
            assemble(HITS, CONFIG, query=query, scorer=scorer)
    assert model.calls == ["How long?", sorted(TEXTS), "What now?"]
    assert len(function.calls) == 2


def test_what_one_said_goes_with_it():
    function = Function()
    end = weakref.ref(function)
    assemble(HITS, CONFIG, query="How long?", scorer=function)
    del function
    gc.collect()
    assert end() is None


class Answers:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __call__(self, query: str, sentences: list[str]) -> Any:
        return self.answer


class Vectors(Answers):
    query: Any = (1.0, 0.0)
    __call__ = None  # type: ignore[assignment]

    def embed_query(self, text: str) -> Any:
        return self.query

    def embed_documents(self, texts: list[str]) -> Any:
        return self.answer


class Zero(Vectors):
    query = (0.0, 0.0)


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        (Answers([1.0, 2.0]), r"one score for each of 3 texts, got \[1.0, 2.0\]"),
        (Answers(None), "one score for each of 3 texts, got None"),
        (Answers("abc"), "one score for each of 3 texts, got 'abc'"),
        (Answers({"a": 1, "b": 2, "c": 3}), "one score for each of 3 texts"),
        (Answers(["1.0", 2.0, 3.0]), "must return numbers, got '1.0'"),
        (Answers([[1.0, 2.0]] * 3), r"must return numbers, got \[1.0, 2.0\]"),
        (Vectors([[1.0, 0.0]]), "one vector for each of 3 texts"),
        (Vectors([[1.0, 0.0, 0.0]] * 3), "the scorer's vectors have 2 and 3 dimensions"),
        (Zero([]), "vector of the query must be"),
    ],
)
async def test_a_wrong_reply_says_what_is_wrong_and_is_forgotten(scorer: Any, message: str):
    for _ in range(2):
        with pytest.raises(StoreError, match=message):
            assemble(HITS, CONFIG, query="How long?", scorer=scorer)
        with pytest.raises(StoreError, match=message):
            await aassemble(HITS, CONFIG, query="How long?", scorer=scorer)


@pytest.mark.parametrize("scorer", [Answers([0.0, 1.0, math.nan]), Vectors([[0.1, 1.0], [1.0, 0.0], [math.nan, 1.0]])])
def test_a_score_that_is_not_finite_is_none(scorer: Any):
    assert assemble(HITS, CONFIG, query="How long?", scorer=scorer).text == TEXTS[1]
