"""Neighbours from LlamaIndex's PGVectorStore, by one statement of our own with bound values."""
# PGVectorStore's table and sessions have no public names.
# ruff: noqa: SLF001

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from llama_index.core.schema import BaseNode, TextNode
from llama_index.core.vector_stores.utils import metadata_dict_to_node
from sqlalchemy import JSON, Engine, Row, Text, any_, case, func, literal, null, select
from sqlalchemy import cast as as_type

from ctxassembly.assembly.gathering.missing import Lack
from ctxassembly.calls import in_background
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.stores.postgres import ChunkTable, PostgresStore, json_text, remembered, storable, texts
from ctxassembly.stores.rows import Asked, arows, awaited, read
from llamaindex_ctxassembly.convert.nodes import to_chunk
from llamaindex_ctxassembly.stores.sqlfilters import where

if TYPE_CHECKING:
    from llama_index.core.vector_stores.types import MetadataFilters

NO_DOCUMENT = "None"
"""The `ref_doc_id` that LlamaIndex writes for a node without a SOURCE."""
REMEDIES: Mapping[Lack, str] = {
    "place": "call number_stored_chunks(vector_store) once, and store new nodes as number_chunks(nodes)",
    "answer": "call number_stored_chunks(vector_store) once, which gives each node its SOURCE",
}


@dataclass(frozen=True, kw_only=True)
class PGVectorNeighbours(PostgresStore):
    """A store of neighbours over LlamaIndex's PGVectorStore: one statement a fetch, sync or async.

        tenant = MetadataFilters(filters=[MetadataFilter(key="tenant", value="north")])
        assembler = ContextAssemblyPostprocessor(store=PGVectorNeighbours(vector_store, filter=tenant))
        engine = index.as_query_engine(filters=tenant, node_postprocessors=[assembler])

    Rows are found by the index on `ref_doc_id` that PGVectorStore makes itself: a chunk named by its id is looked for
    among those of its document, since `node_id` has no index. PGVectorStore's own `get_nodes` writes filter values
    into its SQL; here every value is bound, and a row that `filter` excludes is never read. What a
    `customize_query_fn` adds to similarity queries is not applied: say it in `filter`.

    With `keys.lookup_id` documents are found by that key of the metadata instead; an index on it is yours to make.

    Raises:
        ConfigError: `filter` has an operator, a condition or a value that is not translated.
    """

    vector_store: Any = field(kw_only=False)
    """A `llama_index.vector_stores.postgres.PGVectorStore`."""
    filter: MetadataFilters | None = None
    """The retriever's filter."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._table()  # a filter without a translation is an error now

    @property
    def remedies(self) -> Mapping[Lack, str]:
        """Lines to write if neighbours can't be found."""
        return REMEDIES

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The chunks that exist among `refs` and pass the filter.

        Raises:
            TimeoutError: the database didn't answer in time.
        """
        refs = storable(refs)
        return self._chunks(read(self._engine, self._asked(refs), self.timeout_seconds)) if refs else []

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The same, awaited."""
        refs = storable(refs)
        return self._chunks(await awaited(self._rows(refs), self.timeout_seconds)) if refs else []

    async def _rows(self, refs: Sequence[ChunkRef]) -> list[Row[Any]]:
        if not self.vector_store._is_initialized:
            await asyncio.wrap_future(in_background(self._engine))
        return await arows(self.vector_store._async_engine, self._asked(refs))

    def _engine(self) -> Engine:
        self.vector_store._initialize()
        return cast(Engine, self.vector_store._engine)

    def _asked(self, refs: Sequence[ChunkRef]) -> Asked:
        among = list(dict.fromkeys([*(ref.document_id for ref in refs), NO_DOCUMENT]))
        made_of = (self.vector_store._table_class, self.keys, repr(self.filter))
        asked, places = remembered(made_of, self._table).asked(refs)
        return asked, {**places, "among": among}

    def _table(self) -> ChunkTable:
        """The table of chunks, narrowed to the documents that are asked about."""
        table = self.vector_store._table_class
        metadata = table.metadata_
        source = json_text(metadata, (*self.keys.lookup_id, "ref_doc_id")[0])
        # PGVectorStore overwrites the document in a row's metadata by the SOURCE. The node inside it keeps its own.
        own = as_type(metadata.op("->>")(literal("_node_content", Text)), JSON).op("->")(literal("metadata", Text))
        named = func.coalesce(*(json_text(own, key) for key in self.keys.documents))
        rows = select(table.node_id.label("id"), table.text.label("text"), metadata.label("metadata"))
        indexes = [json_text(metadata, key) for key in self.keys.index]
        return ChunkTable(
            id=table.node_id,
            document_id=source,
            index=indexes[0],
            otherwise=(case((source == NO_DOCUMENT, named), else_=source), func.coalesce(*indexes, null())),
            rows=rows.where(source == any_(texts("among")), where(self.filter, metadata)),
        )

    def _chunks(self, rows: Iterable[Row[Any]]) -> list[Chunk]:
        return [to_chunk(_node(row), self.keys) for row in rows]


def _node(row: Row[Any]) -> BaseNode:
    """The node in a row; rows that LlamaIndex itself didn't write have no `_node_content`."""
    if "_node_content" in row.metadata:
        return metadata_dict_to_node(row.metadata, row.text)
    return TextNode(id_=row.id, text=row.text, metadata=row.metadata)
