"""Neighbours from a LlamaIndex docstore."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from llama_index.core.storage.docstore.types import BaseDocumentStore, RefDocInfo

from ctxassembly.keys import MetadataKeys
from ctxassembly.stores.answers import asked_for
from ctxassembly.types import Chunk, ChunkRef
from llamaindex_ctxassembly.nodes import to_chunk


@dataclass(frozen=True)
class DocstoreNeighbours:
    """A store of neighbours over a docstore: one `get_nodes` a fetch, for all documents together.

    A docstore keeps no places: for a chunk by its index, as for a whole document, it reads all nodes of the document.
    """

    docstore: BaseDocumentStore
    keys: MetadataKeys = field(default_factory=MetadataKeys)

    def fetch(self, refs: Sequence[ChunkRef]) -> tuple[Chunk, ...]:
        """The chunks that exist among `refs`."""
        ids = _node_ids(refs, [self.docstore.get_ref_doc_info(each) for each in documents_to_search(refs)])
        nodes = self.docstore.get_nodes(ids, raise_error=False) if ids else ()
        return asked_for((to_chunk(node, self.keys) for node in nodes), refs)

    async def afetch(self, refs: Sequence[ChunkRef]) -> tuple[Chunk, ...]:
        """The same, awaited."""
        asked = (self.docstore.aget_ref_doc_info(each) for each in documents_to_search(refs))
        ids = _node_ids(refs, await asyncio.gather(*asked))
        nodes = await self.docstore.aget_nodes(ids, raise_error=False) if ids else ()
        return asked_for((to_chunk(node, self.keys) for node in nodes), refs)


def documents_to_search(refs: Iterable[ChunkRef]) -> list[str]:
    """The documents of which all nodes must be read, each once: those of references that name no chunk."""
    return list(dict.fromkeys(ref.document_id for ref in refs if ref.chunk_id is None))


def _node_ids(refs: Iterable[ChunkRef], infos: Iterable[RefDocInfo | None]) -> list[str]:
    named = [ref.chunk_id for ref in refs if ref.chunk_id is not None]
    listed = [node_id for info in infos if info is not None for node_id in info.node_ids]
    return list(dict.fromkeys((*named, *listed)))
