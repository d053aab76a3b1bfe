"""Requests for I/O that a flow yields to its driver, and the replies that it expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.retrieval import Channel, QueryVocabulary
from ctxassembly.data.trace import StageBegan, StageEnded


@dataclass(frozen=True, slots=True)
class FetchChunks:
    """A request for chunks. The reply has the chunks of `refs` that exist, in any order."""

    refs: tuple[ChunkRef, ...]


@dataclass(frozen=True, slots=True)
class EmbedTexts:
    """A request for embeddings. The reply has one vector for each of `texts`, in their order, all of one length."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompressTexts:
    """A request to a language model. The reply has one answer to each of `prompts`, in their order.

    An answer that failed, or that took longer than `timeout_seconds` from now, is replaced by the exception.
    """

    prompts: tuple[str, ...]
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class ScoreTexts:
    """A request for how well each of `texts` answers `query`. The reply is `TextScores`."""

    query: str
    texts: tuple[str, ...]
    vectors: Mapping[str, Sequence[float]] = field(default_factory=dict, hash=False)
    """The embeddings of those texts that have one already. A scorer that doesn't embed has no use for them."""


@dataclass(frozen=True, slots=True)
class TextScores:
    """The scores of texts, in their order. Higher is better, and nothing else is known of their scale."""

    values: tuple[float, ...]
    """A score that isn't finite is none."""
    scored_count: int
    """The number of texts that the scorer was asked for; the others were known."""


Request = FetchChunks | EmbedTexts | CompressTexts | ScoreTexts | StageBegan | StageEnded
"""The requests of an assembly. They include the events of stages if they are observed, and these are answered with
None."""


@dataclass(frozen=True, slots=True)
class FindTerms:
    """Answered with a `QueryVocabulary`: the words of `text` as the index knows them.

    Of more than `max_terms` the rarest are kept. Those that no chunk has go last: nothing is found by them.

    >>> from ctxassembly import Chunk, MemoryIndex
    >>> index = MemoryIndex([Chunk("a", "d", "Iron, and ferritin."), Chunk("b", "d", "Iron.")])
    >>> words = index.find_terms(FindTerms("iron or ferritin", max_terms=2, max_variants=0))
    >>> [(term.text, term.chunk_count) for term in words.terms]
    [('iron', 2), ('ferritin', 1)]
    """

    text: str
    max_terms: int
    max_variants: int
    """Of a word that no chunk has: how many words that it is part of, or nearly equals, are wanted."""
    filter: Any = None
    """The filter of the search. The words nearly equal are of chunks that pass it; counts are of all chunks."""


@dataclass(frozen=True, slots=True)
class SearchChunks:
    """Answered with `ScoredChunk` chunks: the best `limit` of each channel, each with its scores in all that search.

    >>> from ctxassembly import Chunk, MemoryIndex
    >>> stored = [Chunk("a", "d", "Iron.", metadata={"ward": 1}), Chunk("b", "d", "Iron.", metadata={"ward": 2})]
    >>> index = MemoryIndex(stored)
    >>> words = index.find_terms(FindTerms("iron", max_terms=9, max_variants=0))
    >>> [one.chunk.id for one in index.search(SearchChunks(10, None, words, {"ward": 2}))]
    ['b']
    """

    limit: int
    vector: Sequence[float] | None
    """The embedding of the query; None searches no vectors."""
    vocabulary: QueryVocabulary | None
    """The words to search; None searches no words."""
    filter: Any
    """The filter, in the form of the index. No chunk that it excludes is in the answer."""


@dataclass(frozen=True, slots=True)
class SearchChannel:
    """Answered with `Hit`s, best first, by a retriever of another make that serves as `channel`."""

    channel: Channel
    query: str
    limit: int
    filter: Any


@dataclass(frozen=True, slots=True)
class RerankChunks:
    """Answered with a sequence of (place in `chunks`, score or None), best first. What is left out comes last."""

    reranker: int
    """The number of the reranker, from 0."""
    query: str
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Batch:
    """Answered with the replies to all `requests`, in their order, asked at the same time where that can be.

    A reply that failed is replaced by the exception.
    """

    requests: tuple[SearchRequest, ...]


SearchRequest = EmbedTexts | FindTerms | SearchChunks | SearchChannel | RerankChunks
RetrievalRequest = Batch | StageBegan | StageEnded
"""The requests of a retrieval, with its steps among them in the same way."""
