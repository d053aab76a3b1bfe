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
from ctxassembly.data.retrieval import ScoredChunk
from ctxassembly.stores.postgres import search, vocabulary
from ctxassembly.stores.postgres.chunk_lookup import ChunkTable, keep_storable
from ctxassembly.stores.postgres.deadline import BoundStatement
from ctxassembly.stores.postgres.filters import build_condition
from ctxassembly.stores.postgres.rows import ToChunk, chunk_from_row, columns_for, neighbor_table, neighbors_statement
from ctxassembly.stores.postgres.search import SearchShape
from ctxassembly.stores.postgres.table import IndexedTable


@dataclass(frozen=True)
class IndexStatements:
    """The statements about one table under one filter.

    Raises:
        ConfigError: the filter can't be read.
    """

    table: IndexedTable
    filters: tuple[Any, ...]
    keys: MetadataKeys
    chunk_of: ToChunk | None
    field_weights: tuple[float, float]
    length_weight: float
    _statements: dict[SearchShape, Select[Any]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The statements without a filter, which take longer to build than to send."""

    def __post_init__(self) -> None:
        build_condition(self.table, *self.filters)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments alone: another process rebuilds the statements, some of which can't be pickled."""
        return IndexStatements, (
            *(self.table, self.filters, self.keys, self.chunk_of),
            *(self.field_weights, self.length_weight),
        )

    def terms_statement(self, request: FindTerms, language: str) -> BoundStatement:
        """Return the statement for the words of a query; `vocabulary.read_vocabulary` reads its rows."""
        return vocabulary.terms_statement(self.table, request, language), {}

    def search_statement(self, request: SearchChunks) -> BoundStatement | None:
        """Return the statement for a search; None if there is nothing to search by.

        Raises:
            ConfigError: the filter can't be read, or the vector has another length than the embeddings.
        """
        if request.vector is not None:
            search.check_vector(request.vector, self.table)
        condition = build_condition(self.table, *self.filters, request.filter)
        shape, bound = search.bind_search(request, is_filtered=condition is not None, field_weights=self.field_weights)
        statement = self._statements.get(shape) if condition is None else None
        if statement is None:
            statement = search.search_statement(
                self.table, shape, condition, columns_for(self.table), self.length_weight
            )
        if statement is not None and condition is None:
            self._statements[shape] = statement
        return None if statement is None else (statement, bound)

    def read_scored(self, rows: Iterable[Row[Any]]) -> list[ScoredChunk]:
        """Read the rows of `search_statement`."""
        return [
            ScoredChunk(self._read_chunk(row), _as_similarity(similarity), keyword_score, tuple(matched or ()))
            for *row, similarity, keyword_score, matched in rows
        ]

    def chunks_statement(self, refs: Sequence[ChunkRef]) -> BoundStatement | None:
        """Return the statement for `refs`; None if PostgreSQL can't store any of them."""
        refs = keep_storable(refs)
        return neighbors_statement(self._neighbor_table, refs, self.table) if refs else None

    def read_chunks(self, rows: Iterable[Row[Any]]) -> list[Chunk]:
        """Read the rows of `chunks_statement`."""
        return [self._read_chunk(row) for row in rows]

    @cached_property
    def _neighbor_table(self) -> ChunkTable:
        return neighbor_table(self.table, self.keys, build_condition(self.table, *self.filters))

    def _read_chunk(self, row: Sequence[Any]) -> Chunk:
        return chunk_from_row(row, self.table, self.keys, self.chunk_of)


def _as_similarity(similarity: Any) -> float | None:
    """Return a cosine similarity; 0 for a vector of length 0, whose cosine is undefined."""
    return None if similarity is None else 0.0 if math.isnan(similarity) else float(similarity)
