"""Neighbours from a LlamaIndex docstore."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple

from llama_index.core.schema import BaseNode
from llama_index.core.storage.docstore.types import BaseDocumentStore, RefDocInfo

from ctxassembly.assembly.expansion.diagnostics import Lack
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys, look_up
from ctxassembly.safe_repr import as_name
from llamaindex_ctxassembly.convert.nodes import to_chunk

# The nodes that answer references, for stores that can be asked by id and for whole documents alone.
#
# Such a store can't find a node by its index in a document: all nodes of the document are read, and those that were
# asked for are picked out here.


class Turn(NamedTuple):
    """A page that its store has as a document of its own, with a request for the pages of the file beside it."""

    ref: ChunkRef
    document_id: str
    """The id of the file."""
    page: str
    """The metadata key that has the number of the page."""
    number: int
    beside: tuple[str | int | float, ...]
    """The numbers of the pages before and after it, as metadata have them."""


def turns(refs: Iterable[ChunkRef]) -> list[Turn]:
    """The turns of a page that `refs` ask for."""
    found = []
    for ref in refs:
        if ref.beside is not None and ref.beside.page is not None and ref.beside.document_id is not None:
            given = dict(ref.beside.part)[ref.beside.page]
            number = int(float(given))
            beside = tuple(type(given)(page) for page in (number - 1, number + 1) if page >= 0)
            found.append(Turn(ref, ref.beside.document_id, ref.beside.page, number, beside))
    return found


def named_ids(refs: Iterable[ChunkRef]) -> list[str]:
    """Ids of the chunks that are asked for by id, each once."""
    return list(dict.fromkeys(ref.chunk_id for ref in refs if ref.chunk_id is not None))


def documents_to_search(refs: Iterable[ChunkRef]) -> list[str]:
    """Documents of which all nodes must be read, each once: a chunk can't be asked for by its index."""
    return list(dict.fromkeys(ref.document_id for ref in refs if ref.chunk_id is None))


def asked_for(nodes: Iterable[BaseNode], refs: Sequence[ChunkRef], keys: MetadataKeys) -> list[Chunk]:
    """The chunks of those `nodes` that `refs` ask for."""
    ids = set(named_ids(refs))
    whole = {ref.document_id for ref in refs if ref.chunk_id is None and ref.index is None}
    placed = [(ref.document_id, ref.index) for ref in refs if ref.index is not None]
    # Metadata may hold "7" or 7.0 for 7.
    places = {(document_id, form) for document_id, index in placed for form in (f"{index}", f"{index}.0")}
    chunks = (to_chunk(node, keys) for node in nodes)
    return [
        chunk
        for chunk in chunks
        if chunk.id in ids or chunk.lookup_id in whole or (chunk.lookup_id, str(chunk.index)) in places
    ]


REMEDIES: Mapping[Lack, str] = {
    "place": "build the index from number_chunks(nodes)",
    "answer": "where a vector store keeps the nodes the docstore has none: say "
    "ContextAssemblyPostprocessor(vector_store=index.vector_store); where it has them, build it from "
    "number_chunks(nodes), which gives each node its SOURCE",
}


@dataclass(frozen=True)
class DocstoreNeighbours:
    """A store of neighbours over a docstore: one `get_nodes` for each fetch, for all documents together.

    >>> from llama_index.core.schema import TextNode
    >>> from llama_index.core.storage.docstore import SimpleDocumentStore
    >>> docstore = SimpleDocumentStore()
    >>> docstore.add_documents([TextNode(id_="a-0", text="Rest."), TextNode(id_="a-1", text="Go home.")])
    >>> [chunk.text for chunk in DocstoreNeighbours(docstore).fetch([ChunkRef("a", chunk_id="a-1")])]
    ['Go home.']

    A docstore keeps no indexes. For a chunk by its index, as for a whole document, all nodes of the document are read.
    If `keys.document_id` makes one document of the pages of a file, which the docstore has as a document each, the
    metadata of all its documents are read to find the pages before and after.
    """

    finds_offsets = True

    docstore: BaseDocumentStore
    _: KW_ONLY
    keys: MetadataKeys = field(default_factory=MetadataKeys)

    @property
    def remedies(self) -> Mapping[Lack, str]:
        """Lines to write if neighbours can't be found."""
        return REMEDIES

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The chunks that exist among `refs`."""
        pages = pages_beside(refs, self.docstore.get_all_ref_doc_info() or {}, self.keys) if turns(refs) else []
        ids = _node_ids([*refs, *pages], [self.docstore.get_ref_doc_info(name) for name in documents_to_search(refs)])
        return asked_for(self.docstore.get_nodes(ids, raise_error=False), [*refs, *pages], self.keys)

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """The same, awaited."""
        listed = await self.docstore.aget_all_ref_doc_info() if turns(refs) else None
        pages = pages_beside(refs, listed or {}, self.keys)
        infos = await asyncio.gather(*(self.docstore.aget_ref_doc_info(name) for name in documents_to_search(refs)))
        nodes = await self.docstore.aget_nodes(_node_ids([*refs, *pages], infos), raise_error=False)
        return asked_for(nodes, [*refs, *pages], self.keys)


def pages_beside(refs: Iterable[ChunkRef], listed: Mapping[str, RefDocInfo], keys: MetadataKeys) -> list[ChunkRef]:
    """References to the last nodes of the page before each, and to the first ones of the page after it."""
    by_page: dict[tuple[str | None, str], list[str]] = defaultdict(list)
    for info in listed.values():
        document_id = as_name(keys.read(info.metadata, "document_id"))
        for name in keys.page:  # as text: a page may be 7 here and "7" there
            by_page[document_id, f"{name} {as_name(look_up(info.metadata, name))}"] += info.node_ids
    found: list[ChunkRef] = []
    for ref, document_id, page, at, _ in turns(refs):
        each_side = ref.beside.each_side if ref.beside else 0
        before, after = (by_page.get((document_id, f"{page} {number}"), []) for number in (at - 1, at + 1))
        found += [ChunkRef(ref.document_id, chunk_id=node) for node in (*before[-each_side:], *after[:each_side])]
    return found


def _node_ids(refs: Iterable[ChunkRef], infos: Iterable[RefDocInfo | None]) -> list[str]:
    listed = [node_id for info in infos if info is not None for node_id in info.node_ids]
    return list(dict.fromkeys((*named_ids(refs), *listed)))
