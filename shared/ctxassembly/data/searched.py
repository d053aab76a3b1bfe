"""An index as retrieval sees it: the words that it knows, and the chunks that it finds, with their scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from ctxassembly.data.chunks import Chunk

Channel = Literal["vector", "keyword", "entities", "list", "rescue"]
"""The ways in which chunks are found."""


class Term(NamedTuple):
    """A word of a query, in the form in which an index keeps it.

    >>> from ctxassembly import Chunk, MemoryIndex
    >>> from ctxassembly.data.requests import FindTerms
    >>> index = MemoryIndex([Chunk("a", "d", "Ferritin.")])
    >>> index.find_terms(FindTerms("feritin", most=32, near=4)).terms
    (Term(text='feritin', chunks=0, near=('ferritin',)),)
    """

    text: str
    chunks: int
    """The number of chunks that have it. Of a common word an estimate will do; 0 is exact."""
    near: tuple[str, ...] = ()
    """For a word that no chunk has: words of the index that it is part of, or nearly equals, best first."""


@dataclass(frozen=True)
class Vocabulary:
    """The words of a query as an index knows them.

    >>> words = Vocabulary(100, (Term("the", 90), Term("ferritin", 2)))
    >>> max(words.weights, key=words.weights.get)
    'ferritin'
    """

    chunks: int
    """The number of chunks in the index."""
    terms: tuple[Term, ...]
    """Each once, in the order of the query."""
    factors: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Factors for the weights of some words; the others keep theirs."""

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """The weight of each word: the rarer, the higher (the idf of BM25, which never is below 0), times its factor.

        >>> weights = Vocabulary(100, (Term("the", 90), Term("ferritin", 2))).weights
        >>> {word: round(weight, 2) for word, weight in weights.items()}
        {'the': 0.11, 'ferritin': 3.7}
        """
        return {
            term.text: _idf(min(term.chunks, self.chunks), self.chunks) * self.factors.get(term.text, 1.0)
            for term in self.terms
        }


ONCE = 0.1 / 1.64493406685
"""The count of a word that occurs once, .0608, as `ts_rank` has it for a text of the lowest weight. The j-th time adds
1 / j^2 of it, so that however often it occurs the count is below .1."""


def _idf(having: int, chunks: int) -> float:
    return math.log(1 + (chunks - having + 0.5) / (having + 0.5))


class Scored(NamedTuple):
    """A chunk that a search found, with its score in each channel that searched, whichever of them found it.

    >>> from ctxassembly import Chunk, MemoryIndex
    >>> from ctxassembly.data.requests import FindTerms, SearchChunks
    >>> index = MemoryIndex([Chunk("a", "d", "Ferritin."), Chunk("b", "d", "Iron.")], [[1.0, 0.0], [0.8, 0.6]])
    >>> words = index.find_terms(FindTerms("ferritin", most=32, near=4))
    >>> found = index.search(SearchChunks(10, vector=(1.0, 0.0), vocabulary=words, filter=None))
    >>> [(one.chunk.id, round(one.similarity, 2), round(one.keyword_score, 3), one.terms) for one in found]
    [('a', 1.0, 0.042, ('ferritin',)), ('b', 0.8, 0.0, ())]
    """

    chunk: Chunk
    similarity: float | None = None
    """Cosine of the chunk's embedding and the query's, -1 to 1; None if there was no vector search."""
    keyword_score: float | None = None
    """Sum over the query's words of weight x saturated count (`ONCE`), from 0; None if there was no keyword search."""
    terms: tuple[str, ...] = ()
    """The query's words that the chunk has, as the index finds them."""
