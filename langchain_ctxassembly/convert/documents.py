"""LangChain documents -> hits and chunks, and a context -> documents."""

from __future__ import annotations

import hashlib
from typing import Any

from langchain_core.documents import Document

from ctxassembly.adapting.parts import part_in
from ctxassembly.adapting.told import Told, block_metadata
from ctxassembly.data.chunks import Chunk, Hit, Origin
from ctxassembly.data.keys import MetadataKeys
from ctxassembly.data.metadata import copied
from ctxassembly.shown import as_name, as_text


def hit_from(document: Document, keys: MetadataKeys) -> Hit:
    """The hit that `document` is; its score is what its metadata says."""
    return Hit(chunk_from(document, keys), keys.read(document.metadata, "score"))


def chunk_from(document: Document, keys: MetadataKeys) -> Chunk:
    """The chunk that `document` is. Odd values pass as they are: the engine mends them and notes it.

    Without an index its offset counts in the page or section that the metadata name.
    """
    metadata = document.metadata
    document_id, index = keys.document_of(metadata), keys.read(metadata, "index")
    return Chunk(
        id=_id(document, document_id, index),
        document_id=document_id,
        text=document.page_content,
        index=index,
        start=keys.read(metadata, "start"),
        metadata=metadata,
        origin=_origin(metadata, keys) if index is None else None,
    )


def _origin(metadata: dict[str, Any], keys: MetadataKeys) -> Origin | None:
    part, lookup_id = part_in(metadata, keys), keys.read(metadata, "lookup_id")
    return Origin(part, lookup_id=as_name(lookup_id)) if part or lookup_id is not None else None


def documents_from(told: Told) -> list[Document]:
    """One document per label of a context, in order; joined by a blank line their contents are its text.

    A supplement is a document of its own, before or after all others, with the id "supplement" and no citation.

    Each has the id and the metadata of the best chunk that its label covers. To the metadata come `citation`,
    `chunk_ids` and `scores`, to those of the first document `trace`, as `block_metadata` describes them.
    """
    return [
        Document(
            id=block.citation.best_chunk_id if block.citation else "supplement",
            page_content=block.text,
            # What is handed out may be changed by others, and a citation goes on being asked.
            metadata={**(copied(block.citation.metadata) if block.citation else {}), **added},
        )
        for block, added in zip(told.context.blocks, block_metadata(told), strict=True)
    ]


def _id(given: Document, document_id: Any, index: Any) -> Any:
    """The id of `given`; of one without, what is the same in every run: its place, else a hash of its text."""
    if given.id is not None and (type(given.id) is not str or given.id):
        return given.id
    document, place = as_name(document_id), as_name(index)
    if document is not None and place is not None:
        return f"{document}#{place}"
    return hashlib.sha256((as_text(given.page_content) or "").encode("utf-8", "surrogatepass")).hexdigest()[:32]
