"""The nodes that answer references, for stores that can be asked by id and for whole documents alone.

Such a store can't find a node by its index in a document: all nodes of the document are read, and those that were asked
for are picked out here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from llama_index.core.schema import BaseNode

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from llamaindex_ctxassembly.convert.nodes import to_chunk


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
