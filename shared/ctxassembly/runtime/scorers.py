"""Scorers: models or functions of the caller's that score how well sentences answer a query, and their caches.

Three kinds are distinguished by their methods, so that no framework is imported: models that embed (LangChain's,
LlamaIndex's, sentence-transformers'), cross-encoders, and functions. A score is the cosine of the query and the
sentence, the cross-encoder's number, or the function's.

A scorer is asked for what it hasn't said before: for vectors by sentence, which serve every query, or else for scores
by query and sentence. What it said is remembered as long as the scorer lives, in at most `MAX_BYTES`. A failure isn't.
"""

from __future__ import annotations

import inspect
import math
import weakref
from array import array
from collections.abc import Generator, Mapping, Sequence
from functools import partial
from operator import mul
from sys import getsizeof
from typing import Any, NamedTuple

from ctxassembly.assembly.dedup.semantic import unit_vector
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.requests import ScoreTexts, TextScores
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import RerankedPosition, Reranker
from ctxassembly.runtime.driver import Port, adrive, drive
from ctxassembly.safe_repr import safe_repr

MAX_BYTES = 16_000_000
"""Of what one scorer said: the vectors of some 8,000 sentences of 100 characters by a model of 384 dimensions."""
ALLOWED_SCORERS = (
    "a model with embed_query and embed_documents (LangChain's embeddings; LlamaIndex's and sentence-transformers' own "
    "methods do, too), a cross-encoder with predict(pairs) or score(pairs), or a function from a query and a list of "
    "sentences to a score for each"
)
_EMBED_METHODS = (
    ("embed_query", "embed_documents"),
    ("get_query_embedding", "get_text_embedding_batch"),
    ("encode_query", "encode_document"),
)
"""The methods that embed a query and texts, in LangChain, LlamaIndex and sentence-transformers."""
PAIR_METHODS = ("score", "predict")
"""The name in LangChain's cross-encoders, and in sentence-transformers'."""

ScoringFlow = Generator[Any, Any, TextScores]
MAX_TEXT_CHARS = 131_072
"""Characters of the longest text that is kept: a longer one would take the room of hundreds of chunks."""
ENTRY_BYTES = 400
"""Most bytes of an entry besides its text and its value: its place in a dict, and a tuple."""


class Memory:
    """Values by text, in at most about `max_bytes`; least recently used texts are evicted first.

    The entries live in two generations. A text that is new or asked for is put into the younger one. When that reaches
    half of the bytes, the older one is dropped and the younger one takes its place. So a look-up costs one look into a
    dict or two, and threads need no lock: at worst one of them computes a value that another is about to store.

    >>> lengths = Memory(1_000_000)
    >>> lengths.get("water") or lengths.put("water", 5)
    5
    """

    def __init__(self, max_bytes: int) -> None:
        self._generation_bytes = max_bytes // 2
        self._recent: dict[str, Any] = {}
        self._old: dict[str, Any] = {}
        self._bytes = 0

    def get(self, text: str) -> Any:
        """Return the value of `text`; None if it is unknown or forgotten."""
        known = self._recent.get(text)
        if known is None and (known := self._old.get(text)) is not None:
            self.put(text, known)
        return known

    def put(self, text: str, value: Any) -> Any:
        """Store `value` for `text`, and return it."""
        if len(text) <= MAX_TEXT_CHARS:
            size = getsizeof(text) + ENTRY_BYTES + getsizeof(value)
            self._bytes += size if text not in self._recent else getsizeof(value) - getsizeof(self._recent[text])
            if self._bytes > self._generation_bytes:
                self._old, self._recent, self._bytes = self._recent, {}, size
            self._recent[text] = value
        return value


class _EmbedQuery(NamedTuple):
    query: str


class _EmbedSentences(NamedTuple):
    texts: list[str]


class _ScoreSentences(NamedTuple):
    query: str
    texts: list[str]


def scorer_port(scorer: object) -> Port:
    """Return the port of `scorer`, which remembers earlier scores; an empty one for None.

    >>> by_length = scorer_port(lambda query, sentences: [float(len(each)) for each in sentences])
    >>> by_length.call(ScoreTexts("long?", ("Long.", "Longer.")))
    TextScores(values=(5.0, 7.0), scored_count=2)
    >>> by_length.call(ScoreTexts("long?", ("Longer.", "Longest.")))
    TextScores(values=(7.0, 8.0), scored_count=1)

    Raises:
        InputError: `scorer` is of no kind that scores. The message says what is.
    """
    if scorer is None:
        return Port()
    ports = _find_ports(scorer)
    if not ports:
        raise InputError(f"scorer must be {ALLOWED_SCORERS}, got {safe_repr(scorer)}")
    flow = partial(_score_by_vectors if _EmbedQuery in ports else _score_directly, memory=_memory_for(scorer))

    async def ascore(request: ScoreTexts) -> TextScores:
        return await adrive(flow(request), ports)

    is_sync = all(port.sync for port in ports.values())
    return Port((lambda request: drive(flow(request), ports)) if is_sync else None, ascore)


def check_scorer(scorer: object) -> None:
    """Check the `scorer` of an adapter.

    Raises:
        ConfigError: it is of no kind that scores.
    """
    try:
        scorer_port(scorer)
    except InputError:
        raise ConfigError("scorer", ALLOWED_SCORERS, scorer) from None


_memories: dict[tuple[int, object], Memory] = {}
"""What each scorer said, by its id, and by the function where it is a method. Gone when the scorer is."""


def _memory_for(given: Any) -> Memory:
    # A bound method is another object each time that it is looked up.
    owner, function = (given.__self__, given.__func__) if inspect.ismethod(given) else (given, None)
    key = id(owner), function
    if (memory := _memories.get(key)) is None:
        memory = Memory(MAX_BYTES)
        try:
            weakref.finalize(owner, _memories.pop, key, None).atexit = False
        except TypeError:  # its end can't be observed, and another object may get its id then
            return memory
        memory = _memories.setdefault(key, memory)
    return memory


def _find_ports(scorer: Any) -> dict[type, Port]:
    """Return the ports of what `scorer` can do; none if it can't score."""
    if inspect.isclass(scorer):
        return {}
    find = partial(Port.of, scorer, accepts_function=False)
    for query, texts in _EMBED_METHODS:
        if find(query) and find(texts):
            return {_EmbedQuery: find(query).taking(tuple), _EmbedSentences: find(texts).taking(tuple)}
    for name in PAIR_METHODS:
        if pairs := find(name):
            return {_ScoreSentences: pairs.taking(lambda asked: ([(asked.query, text) for text in asked.texts],))}
    can_score = callable(scorer) and _takes_two_arguments(scorer)
    return {_ScoreSentences: Port.of(scorer).taking(tuple)} if can_score else {}


def _takes_two_arguments(function: Any) -> bool:
    try:
        inspect.signature(function).bind("", [])
    except TypeError:
        return False
    except ValueError:  # a function written in C may have no signature
        return True
    return True


def _score_by_vectors(request: ScoreTexts, memory: Memory) -> ScoringFlow:
    """Return the cosine of each text with the query.

    Vectors of queries and of texts are cached under separate keys, since many models embed the two differently.
    """
    query = memory.get("query:" + request.query)
    if query is None:
        query = _to_unit_vector((yield _EmbedQuery(request.query)))
        if query is None:
            raise InputError("the scorer's vector of the query must be a list of finite numbers, not all of them 0")
        memory.put("query:" + request.query, query)
    vectors: dict[str, array[float] | None] = {text: memory.get("text:" + text) for text in request.texts}
    for text, given in request.vectors.items():
        own = _to_unit_vector(given) if vectors[text] is None else None
        if own is not None and len(own) == len(query):  # one of another length is another model's
            vectors[text] = own
    new = [text for text, vector in vectors.items() if vector is None]
    if new:
        reply = _check_one_per_text((yield _EmbedSentences(new)), len(new), "vector")
        for text, vector in zip(new, map(_to_unit_vector, reply), strict=True):
            if vector is None:
                continue
            if len(vector) != len(query):
                raise InputError(f"the scorer's vectors have {len(query)} and {len(vector)} dimensions")
            vectors[text] = memory.put("text:" + text, vector)
    return TextScores(tuple(_cosine(query, vectors[text]) for text in request.texts), len(new))


def _score_directly(request: ScoreTexts, memory: Memory) -> ScoringFlow:
    """Return the score of each text by a cross-encoder, which takes pairs, or by a function."""
    query = request.query
    keys = {text: f"{len(query)}:{query}{text}" for text in request.texts}
    scores: dict[str, float | None] = {text: memory.get(key) for text, key in keys.items()}
    new = [text for text, score in scores.items() if score is None]
    if new:
        reply = _check_one_per_text((yield _ScoreSentences(query, new)), len(new), "score")
        for text, score in zip(new, list(map(_to_score, reply)), strict=True):
            scores[text] = memory.put(keys[text], score) if math.isfinite(score) else score
    return TextScores(tuple(scores[text] for text in request.texts), len(new))  # type: ignore[misc]


def _check_one_per_text(reply: Any, texts: int, what: str) -> list[Any]:
    if isinstance(reply, (str, bytes, Mapping)) or not hasattr(reply, "__len__") or len(reply) != texts:
        raise InputError(f"the scorer must return one {what} for each of {texts} texts, got {safe_repr(reply)}")
    return list(reply)


def _to_score(score: Any) -> float:
    if isinstance(score, (str, bytes)):
        raise InputError(f"the scorer must return numbers, got {safe_repr(score)}")
    try:
        return float(score)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"the scorer must return numbers, got {safe_repr(score)}") from error


def _to_unit_vector(value: Any) -> array[float] | None:
    """Return `value` scaled to length 1, as 4-byte floats; None if it is no vector."""
    vector = unit_vector(value)
    return None if vector is None else array("f", vector)


def _cosine(query: array[float], vector: array[float] | None) -> float:
    return math.nan if vector is None else sum(map(mul, query, vector))


def to_reranker(model: Any, allowed: str) -> Reranker:
    """Return a reranker that calls `score` or `predict` of `model`; a function is returned unchanged.

    >>> from ctxassembly import Chunk
    >>> class Shorter:
    ...     def predict(self, pairs):
    ...         return [-len(text) for _, text in pairs]
    >>> rerank = to_reranker(Shorter(), "a cross-encoder")
    >>> rerank("short?", [Chunk("a", "a", "A long text."), Chunk("b", "b", "Short.")])
    [(1, -6.0), (0, -12.0)]

    Raises:
        ConfigError: `model` is neither; the message says what is `allowed`.
    """
    predict: Any = next((getattr(model, name) for name in PAIR_METHODS if callable(getattr(model, name, None))), None)
    if predict is None and not callable(model):
        raise ConfigError("rerankers", allowed, model)

    def rerank(query: str, chunks: Sequence[Chunk]) -> list[RerankedPosition]:
        scores = [float(score) for score in predict([(query, chunk.text) for chunk in chunks])]
        return [(place, scores[place]) for place in sorted(range(len(scores)), key=lambda place: -scores[place])]

    return model if predict is None else rerank
