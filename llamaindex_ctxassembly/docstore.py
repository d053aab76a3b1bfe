"""Neighbours from a LlamaIndex docstore."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field

from llama_index.core.storage.docstore.types import BaseDocumentStore, RefDocInfo

from ctxassembly.keys import MetadataKeys
from ctxassembly.missing import Lack
from ctxassembly.types import Chunk, ChunkRef
from llamaindex_ctxassembly.refs import asked_for, documents_to_search, named_ids

REMEDIES: Mapping[Lack, str] = {
    "place": "build the index from number_chunks(nodes)",
    "answer": "where a vector store keeps the nodes the docstore has none: say "
    "ContextAssemblyPostprocessor(vector_store=index.vector_store); where it has them, build it from "
    "number_chunks(nodes), which gives each node its SOURCE",
}


@dataclass(frozen=True)
class DocstoreNeighbours:
    """A store of neighbours over a docstore: one `get_nodes` a fetch, for all documents together.

    A docstore keeps no places: for a chunk by its index, as for a whole document, it is asked which nodes the document
    has, and all of them are read.
    """

    docstore: BaseDocumentStore
    _: KW_ONLY
    keys: MetadataKeys = field(default_factory=MetadataKeys)

    @property
    def remedies(self) -> Mapping[Lack, str]:
        """What to write where neighbours can't be found."""
        return REMEDIES

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The chunks that exist among `refs`."""
        ids = _node_ids(refs, [self.docstore.get_ref_doc_info(each) for each in documents_to_search(refs)])
        return asked_for(self.docstore.get_nodes(ids, raise_error=False), refs, self.keys)

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The same, awaited."""
        infos = await asyncio.gather(*(self.docstore.aget_ref_doc_info(each) for each in documents_to_search(refs)))
        return asked_for(await self.docstore.aget_nodes(_node_ids(refs, infos), raise_error=False), refs, self.keys)


def _node_ids(refs: Iterable[ChunkRef], infos: Iterable[RefDocInfo | None]) -> list[str]:
    listed = [node_id for info in infos if info is not None for node_id in info.node_ids]
    return list(dict.fromkeys((*named_ids(refs), *listed)))
