"""Which nodes answer a reference, for stores that can be asked for nodes by id and for whole documents alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from llama_index.core.schema import BaseNode

from ctxassembly.keys import MetadataKeys
from ctxassembly.types import Chunk, ChunkRef
from llamaindex_ctxassembly.nodes import to_chunk


def named_ids(refs: Iterable[ChunkRef]) -> list[str]:
    """The chunks that are named by id, each once."""
    return list(dict.fromkeys(ref.chunk_id for ref in refs if ref.chunk_id is not None))


def documents_to_search(refs: Iterable[ChunkRef]) -> list[str]:
    """The documents of which all nodes must be read, each once: a chunk named by its place can't be asked for."""
    return list(dict.fromkeys(ref.document_id for ref in refs if ref.chunk_id is None))


def asked_for(nodes: Iterable[BaseNode], refs: Sequence[ChunkRef], keys: MetadataKeys) -> list[Chunk]:
    """Those of `nodes` that `refs` mean, as chunks."""
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
