"""Neighbors from a LlamaIndex docstore."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple

from llama_index.core.schema import BaseNode
from llama_index.core.storage.docstore.types import BaseDocumentStore, RefDocInfo

from ctxassembly.assembly.expansion.diagnostics import Problem
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys, get_path
from ctxassembly.safe_repr import to_id
from llamaindex_ctxassembly.convert.nodes import to_chunk

# A docstore can be queried only by id and for whole documents, not by the index of a node in its document. So all nodes
# of the document are read, and the requested ones are selected here.


class PageRequest(NamedTuple):
    """A page that its store has as a document of its own, with a request for the pages of the file next to it."""

    ref: ChunkRef
    document_id: str
    """The id of the file."""
    page: str
    """The metadata key that has the number of the page."""
    number: int
    adjacent_pages: tuple[str | int | float, ...]
    """The numbers of the pages before and after it, as metadata have them."""


def page_requests(refs: Iterable[ChunkRef]) -> list[PageRequest]:
    """Return the turns of a page that `refs` ask for."""
    requests = []
    for ref in refs:
        if (
            ref.around_offset is not None
            and ref.around_offset.page_key is not None
            and ref.around_offset.document_id is not None
        ):
            stored_value = dict(ref.around_offset.section)[ref.around_offset.page_key]
            number = int(float(stored_value))
            adjacent = tuple(type(stored_value)(page) for page in (number - 1, number + 1) if page >= 0)
            requests.append(
                PageRequest(ref, ref.around_offset.document_id, ref.around_offset.page_key, number, adjacent)
            )
    return requests


def named_ids(refs: Iterable[ChunkRef]) -> list[str]:
    """Return the ids of the chunks that are requested by id, each once."""
    return list(dict.fromkeys(ref.chunk_id for ref in refs if ref.chunk_id is not None))


def documents_to_search(refs: Iterable[ChunkRef]) -> list[str]:
    """Return the documents whose nodes must all be read, each once: a chunk can't be requested by its index."""
    return list(dict.fromkeys(ref.document_id for ref in refs if ref.chunk_id is None))


def select_chunks(nodes: Iterable[BaseNode], refs: Sequence[ChunkRef], keys: MetadataKeys) -> list[Chunk]:
    """Return the chunks of those `nodes` that `refs` ask for."""
    ids = set(named_ids(refs))
    whole_documents = {ref.document_id for ref in refs if ref.chunk_id is None and ref.index is None}
    indexes = [(ref.document_id, ref.index) for ref in refs if ref.index is not None]
    # Metadata may hold "7" or 7.0 for 7.
    positions = {(document_id, form) for document_id, index in indexes for form in (f"{index}", f"{index}.0")}
    chunks = (to_chunk(node, keys) for node in nodes)
    return [
        chunk
        for chunk in chunks
        if chunk.id in ids or chunk.lookup_id in whole_documents or (chunk.lookup_id, str(chunk.index)) in positions
    ]


REMEDIES: Mapping[Problem, str] = {
    "place": "build the index from number_chunks(nodes)",
    "answer": "where a vector store keeps the nodes the docstore has none: say "
    "ContextAssemblyPostprocessor(vector_store=index.vector_store); where it has them, build it from "
    "number_chunks(nodes), which gives each node its SOURCE",
}


@dataclass(frozen=True)
class DocstoreNeighbors:
    """A store of neighbors over a docstore: one `get_nodes` for each fetch, for all documents together.

    >>> from llama_index.core.schema import TextNode
    >>> from llama_index.core.storage.docstore import SimpleDocumentStore
    >>> docstore = SimpleDocumentStore()
    >>> docstore.add_documents([TextNode(id_="a-0", text="Rest."), TextNode(id_="a-1", text="Go home.")])
    >>> [chunk.text for chunk in DocstoreNeighbors(docstore).fetch([ChunkRef("a", chunk_id="a-1")])]
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
    def remedies(self) -> Mapping[Problem, str]:
        """Lines to write if neighbors can't be found."""
        return REMEDIES

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Return the chunks that exist among `refs`."""
        pages = (
            adjacent_pages(refs, self.docstore.get_all_ref_doc_info() or {}, self.keys) if page_requests(refs) else []
        )
        ids = _node_ids([*refs, *pages], [self.docstore.get_ref_doc_info(name) for name in documents_to_search(refs)])
        return select_chunks(self.docstore.get_nodes(ids, raise_error=False), [*refs, *pages], self.keys)

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Async version of `fetch`."""
        documents = await self.docstore.aget_all_ref_doc_info() if page_requests(refs) else None
        pages = adjacent_pages(refs, documents or {}, self.keys)
        infos = await asyncio.gather(*(self.docstore.aget_ref_doc_info(name) for name in documents_to_search(refs)))
        nodes = await self.docstore.aget_nodes(_node_ids([*refs, *pages], infos), raise_error=False)
        return select_chunks(nodes, [*refs, *pages], self.keys)


def adjacent_pages(refs: Iterable[ChunkRef], documents: Mapping[str, RefDocInfo], keys: MetadataKeys) -> list[ChunkRef]:
    """Return references to the last nodes of the page before each, and to the first nodes of the page after it."""
    by_page: dict[tuple[str | None, str], list[str]] = defaultdict(list)
    for info in documents.values():
        document_id = to_id(keys.read(info.metadata, "document_id"))
        for name in keys.page:  # as text: a page may be 7 here and "7" there
            by_page[document_id, f"{name} {to_id(get_path(info.metadata, name))}"] += info.node_ids
    page_refs: list[ChunkRef] = []
    for ref, document_id, page, page_number, _ in page_requests(refs):
        per_side = ref.around_offset.per_side if ref.around_offset else 0
        before, after = (
            by_page.get((document_id, f"{page} {number}"), []) for number in (page_number - 1, page_number + 1)
        )
        page_refs += [ChunkRef(ref.document_id, chunk_id=node) for node in (*before[-per_side:], *after[:per_side])]
    return page_refs


def _node_ids(refs: Iterable[ChunkRef], infos: Iterable[RefDocInfo | None]) -> list[str]:
    document_node_ids = [node_id for info in infos if info is not None for node_id in info.node_ids]
    return list(dict.fromkeys((*named_ids(refs), *document_node_ids)))
