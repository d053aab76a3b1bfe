"""Scorers: what a caller hands in to say how well sentences answer a query, and what each has said already.

Three kinds are told apart by their methods, so that no framework is imported: models that embed (LangChain's,
LlamaIndex's, sentence-transformers'), cross-encoders, and functions. A score is the cosine of the query and the
sentence, the cross-encoder's number, or the function's.

A scorer is asked for what it hasn't said before: for vectors by sentence, which serve every query, or else for scores
by query and sentence. What it said is remembered as long as the scorer lives, in at most `MOST_BYTES`. A failure isn't.
"""

from __future__ import annotations

import inspect
import math
import weakref
from array import array
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import mul
from sys import getsizeof
from typing import Any, NamedTuple

from ctxassembly.assembly.dedup.semantic import unit
from ctxassembly.concurrency import in_thread, is_async
from ctxassembly.data.requests import ScoreTexts, TextScores
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.runtime.driver import arun, run
from ctxassembly.safe_repr import shown
from ctxassembly.tokens.cache import Remembered

MOST_BYTES = 16_000_000
"""Of what one scorer said: the vectors of some 8,000 sentences of 100 characters by a model of 384 dimensions."""
ALLOWED = (
    "a model with embed_query and embed_documents (LangChain's embeddings; LlamaIndex's and sentence-transformers' own "
    "methods do, too), a cross-encoder with predict(pairs) or score(pairs), or a function from a query and a list of "
    "sentences to a score for each"
)
_EMBEDS = (
    ("embed_query", "embed_documents"),
    ("get_query_embedding", "get_text_embedding_batch"),
    ("encode_query", "encode_document"),
)
"""The methods that embed a query and texts, in LangChain, LlamaIndex and sentence-transformers."""
_AWAITED = (("aembed_query", "aembed_documents"), ("aget_query_embedding", "aget_text_embedding_batch"))
PAIRS = ("score", "predict")
"""The name in LangChain's cross-encoders, and in sentence-transformers'."""

Call = Callable[..., Any]
Memory = Remembered[Any]
Scoring = Generator["_Asked", Any, TextScores]


class _Asked(NamedTuple):
    """One call of a scorer: the name of what is called, and its arguments."""

    what: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Scorer:
    """A caller's scorer, and its memory."""

    called: Mapping[str, Call]
    """What can be called: "query" and "texts" embed, or "pairs" or "scores" score."""
    awaited: Mapping[str, Call]
    """The same, awaited."""
    memory: Memory

    def score(self, request: ScoreTexts) -> TextScores:
        """The reply to a request.

        Raises:
            InputError: the scorer returned something else than a number, or a vector, for each text.
        """
        return run(self._scoring(request), lambda asked: _called(self.called[asked.what], asked.arguments))

    async def ascore(self, request: ScoreTexts) -> TextScores:
        """The same, awaited. What can only be called is called in a thread."""

        async def ask(asked: _Asked) -> Any:
            if awaited := self.awaited.get(asked.what):
                return await awaited(*asked.arguments)
            return await in_thread(partial(_called, self.called[asked.what]))(asked.arguments)

        return await arun(self._scoring(request), ask)

    def _scoring(self, request: ScoreTexts) -> Scoring:
        kinds = self.called or self.awaited
        if "query" in kinds:
            return _by_vectors(request, self.memory)
        return _by_scores(request, self.memory, in_pairs="pairs" in kinds)


def _called(function: Call, arguments: Sequence[Any]) -> Any:
    return function(*arguments)


def scorer_of(given: object) -> Scorer | None:
    """The scorer that `given` is, with all that it said before; None for None.

    >>> by_length = scorer_of(lambda query, sentences: [float(len(each)) for each in sentences])
    >>> by_length.score(ScoreTexts("long?", ("Long.", "Longer.")))
    TextScores(values=(5.0, 7.0), asked=2)
    >>> by_length.score(ScoreTexts("long?", ("Longer.", "Longest.")))
    TextScores(values=(7.0, 8.0), asked=1)

    Raises:
        InputError: `given` is of no kind that scores. The message says what is, and what to write instead.
    """
    if given is None:
        return None
    if not inspect.isclass(given):
        for called, awaited in ((_methods(given, _EMBEDS), _methods(given, _AWAITED)), _pairs(given), _scores(given)):
            if called or awaited:
                return Scorer(called, awaited, _memory_of(given))
    raise InputError(f"scorer must be {ALLOWED}, got {shown(given)}{_instead(given)}")


def check_scorer(given: object) -> None:
    """Check the `scorer` of an adapter.

    Raises:
        ConfigError: it is of no kind that scores.
    """
    try:
        scorer_of(given)
    except InputError:
        raise ConfigError("scorer", ALLOWED, given, _instead(given)) from None


_memories: dict[tuple[int, object], Memory] = {}
"""What each scorer said, by its id, and by the function where it is a method. Gone when the scorer is."""


def _memory_of(given: Any) -> Memory:
    # A bound method is another object each time that it is looked up.
    owner, function = (given.__self__, given.__func__) if inspect.ismethod(given) else (given, None)
    key = id(owner), function
    if (memory := _memories.get(key)) is None:
        memory = Memory(MOST_BYTES, getsizeof)
        try:
            weakref.finalize(owner, _memories.pop, key, None).atexit = False
        except TypeError:  # nothing would tell when it is gone, and another object may have its id then
            return memory
        memory = _memories.setdefault(key, memory)
    return memory


def _methods(given: Any, names: Sequence[tuple[str, str]]) -> dict[str, Call]:
    """The methods of `given` under the first pair of `names` that it has."""
    for query, texts in names:
        if callable(getattr(given, query, None)) and callable(getattr(given, texts, None)):
            return {"query": getattr(given, query), "texts": getattr(given, texts)}
    return {}


def _pairs(given: Any) -> tuple[dict[str, Call], dict[str, Call]]:
    score = next((getattr(given, name) for name in PAIRS if callable(getattr(given, name, None))), None)
    return _one("pairs", score)


def _scores(given: Any) -> tuple[dict[str, Call], dict[str, Call]]:
    return _one("scores", given if callable(given) and _takes_two(given) else None)


def _one(what: str, call: Call | None) -> tuple[dict[str, Call], dict[str, Call]]:
    """`call` among what can be called, or among what has to be awaited."""
    found = {} if call is None else {what: call}
    return ({}, found) if is_async(call) else (found, {})


def _takes_two(function: Call) -> bool:
    try:
        inspect.signature(function).bind("", [])
    except TypeError:
        return False
    except ValueError:  # a function of another language tells nothing
        return True
    return True


def _instead(given: Any) -> str:
    """The line to write in place of a scorer that is none; empty if nothing better is known."""
    if inspect.isclass(given):
        return f": give an object of it, {given.__name__}(...)"
    if isinstance(given, str):
        return f": write SentenceTransformer({shown(given, 80)}) or CrossEncoder(...), of sentence_transformers"
    if hasattr(given, "embed_documents") or hasattr(given, "embed_query"):
        return ": it embeds only queries or only texts, and both are needed"
    if hasattr(given, "compress_documents") or hasattr(given, "postprocess_nodes"):
        return ": a reranker scores chunks; give the model in it, or rerank before the assembly"
    if callable(given):
        return ": write def scorer(query, sentences): return [score(query, each) for each in sentences]"
    return ""


def _by_vectors(request: ScoreTexts, memory: Memory) -> Scoring:
    """The cosine of each text with the query, whose vectors are remembered apart: many models tell the two apart."""
    query = memory.get("query:" + request.query)
    if query is None:
        query = _vector((yield _Asked("query", (request.query,))))
        if query is None:
            raise InputError("the scorer's vector of the query must be a list of finite numbers, not all of them 0")
        memory.put("query:" + request.query, query)
    vectors: dict[str, array[float] | None] = {text: memory.get("text:" + text) for text in request.texts}
    for text, given in request.vectors.items():
        # One of another length is another model's.
        if vectors[text] is None and (own := _vector(given)) is not None and len(own) == len(query):
            vectors[text] = own
    new = [text for text, vector in vectors.items() if vector is None]
    if new:
        reply = _one_each((yield _Asked("texts", (new,))), len(new), "vector")
        for text, vector in zip(new, map(_vector, reply), strict=True):
            if vector is None:
                continue
            if len(vector) != len(query):
                raise InputError(f"the scorer's vectors have {len(query)} and {len(vector)} dimensions")
            vectors[text] = memory.put("text:" + text, vector)
    return TextScores(tuple(_cosine(query, vectors[text]) for text in request.texts), len(new))


def _by_scores(request: ScoreTexts, memory: Memory, *, in_pairs: bool) -> Scoring:
    """The score of each text by a cross-encoder or a function."""
    query = request.query
    keys = {text: f"{len(query)}:{query}{text}" for text in request.texts}
    scores: dict[str, float | None] = {text: memory.get(key) for text, key in keys.items()}
    new = [text for text, score in scores.items() if score is None]
    if new:
        arguments = ([(query, text) for text in new],) if in_pairs else (query, new)
        reply = _one_each((yield _Asked("pairs" if in_pairs else "scores", arguments)), len(new), "score")
        for text, score in zip(new, list(map(_number, reply)), strict=True):
            scores[text] = memory.put(keys[text], score) if math.isfinite(score) else score
    return TextScores(tuple(scores[text] for text in request.texts), len(new))  # type: ignore[misc]


def _one_each(reply: Any, texts: int, what: str) -> list[Any]:
    if isinstance(reply, (str, bytes, Mapping)) or not hasattr(reply, "__len__") or len(reply) != texts:
        raise InputError(f"the scorer must return one {what} for each of {texts} texts, got {shown(reply)}")
    return list(reply)


def _number(score: Any) -> float:
    if isinstance(score, (str, bytes)):
        raise InputError(f"the scorer must return numbers, got {shown(score)}")
    try:
        return float(score)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"the scorer must return numbers, got {shown(score)}") from error


def _vector(value: Any) -> array[float] | None:
    """`value` with the length 1, in half of the bytes; None if it is no vector."""
    vector = unit(value)
    return None if vector is None else array("f", vector)


def _cosine(query: array[float], vector: array[float] | None) -> float:
    return math.nan if vector is None else sum(map(mul, query, vector))
