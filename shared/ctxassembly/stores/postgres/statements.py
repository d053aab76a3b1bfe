"""The statements of an index, and its answers read from their rows, without I/O."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sqlalchemy import Row, Select

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import Scored
from ctxassembly.stores.postgres import search, vocabulary
from ctxassembly.stores.postgres.chunk_lookup import ChunkTable, storable
from ctxassembly.stores.postgres.deadline import Asked
from ctxassembly.stores.postgres.filters import condition_of
from ctxassembly.stores.postgres.rows import ToChunk, asked_of, chunk_in, columns_of, neighbours_in
from ctxassembly.stores.postgres.search import Shape
from ctxassembly.stores.postgres.table import IndexedTable


@dataclass(frozen=True)
class Asking:
    """The statements about one table under one filter.

    Raises:
        ConfigError: the filter can't be read.
    """

    home: IndexedTable
    filters: tuple[Any, ...]
    keys: MetadataKeys
    chunk_of: ToChunk | None
    field_weights: tuple[float, float]
    length_weight: float
    _searches: dict[Shape, Select[Any]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The statements without a filter, which take longer to build than to send."""

    def __post_init__(self) -> None:
        condition_of(self.home, *self.filters)

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process makes the statements anew: some hold functions, which can't be sent to it."""
        return Asking, (
            *(self.home, self.filters, self.keys, self.chunk_of),
            *(self.field_weights, self.length_weight),
        )

    def for_terms(self, request: FindTerms, language: str) -> Asked:
        """The statement for the words of a query; `terms.vocabulary` reads its rows."""
        return vocabulary.statement(self.home, request, language), {}

    def for_search(self, request: SearchChunks) -> Asked | None:
        """The statement for a search; None if there is nothing to search by.

        Raises:
            ConfigError: the filter can't be read, or the vector has another length than the embeddings.
        """
        if request.vector is not None:
            search.check_vector(request.vector, self.home)
        condition = condition_of(self.home, *self.filters, request.filter)
        shape, bound = search.asked(request, filtered=condition is not None, field_weights=self.field_weights)
        made = self._searches.get(shape) if condition is None else None
        if made is None:
            made = search.statement(self.home, shape, condition, columns_of(self.home), self.length_weight)
        if made is not None and condition is None:
            self._searches[shape] = made
        return None if made is None else (made, bound)

    def scored(self, found: Iterable[Row[Any]]) -> list[Scored]:
        """The rows of a search."""
        return [
            Scored(self._chunk(row), _number(similarity), keyword_score, tuple(matched or ()))
            for *row, similarity, keyword_score, matched in found
        ]

    def for_chunks(self, refs: Sequence[ChunkRef]) -> Asked | None:
        """The statement for chunks of known places; None if PostgreSQL can have none of them."""
        refs = storable(refs)
        return asked_of(self._neighbours, refs, self.home) if refs else None

    def chunks(self, found: Iterable[Row[Any]]) -> list[Chunk]:
        """The rows of such a statement."""
        return [self._chunk(row) for row in found]

    @cached_property
    def _neighbours(self) -> ChunkTable:
        return neighbours_in(self.home, self.keys, condition_of(self.home, *self.filters))

    def _chunk(self, row: Sequence[Any]) -> Chunk:
        return chunk_in(row, self.home, self.keys, self.chunk_of)


def _number(similarity: Any) -> float | None:
    """A cosine; that of a vector without a length, which is none, as 0."""
    return None if similarity is None else 0.0 if math.isnan(similarity) else float(similarity)
