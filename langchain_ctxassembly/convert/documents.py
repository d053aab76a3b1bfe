"""LangChain documents -> hits and chunks, and a context -> documents."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, cast

from langchain_core.documents import Document

from ctxassembly.adapters.blocks import ReadResult, block_ids, unpack_blocks
from ctxassembly.adapters.metadata import block_metadata, check_context
from ctxassembly.context import Context
from ctxassembly.data.chunks import Chunk, ChunkOrigin, Hit, origin_of
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.sanitize import copy_metadata
from ctxassembly.safe_repr import to_id, to_text

CONTEXT_CALL = "ContextAssembler().as_context().invoke(documents)"
"""The call that gives a context, for the messages of errors."""


def chunk_from(document: Document, keys: MetadataKeys) -> Chunk:
    """Return the chunk for `document`. Odd values are passed on: the engine repairs and notes them.

    The offset of a chunk without an index counts from the start of the page or section in its metadata.
    """
    id_, text, metadata = document.id, document.page_content, document.metadata
    document_id, index = keys.read_document_id(metadata), keys.read(metadata, "index")
    has_id = id_ is not None and (type(id_) is not str or id_ != "")
    origin = None if has_id else ChunkOrigin(has_no_id=True)
    return Chunk(
        id=cast(str, id_) if has_id else _make_id(text, document_id, index),
        document_id=document_id,
        text=text,
        index=index,
        start=keys.read(metadata, "start"),
        metadata=metadata,
        origin=origin_of(metadata, keys) if index is None else origin,
    )


def document_of(hit: Hit) -> Document:
    """Return the document of a hit, with a copy of its metadata."""
    return Document(id=hit.chunk.id, page_content=hit.chunk.text, metadata=copy_metadata(hit.chunk.metadata))


def to_documents(context: Context) -> list[Document]:
    """Return the documents that `ContextAssembler` returns for `context`: one per label, in order.

    `documents_from` describes them. A context restored by `Context.from_dict`, or its dict, gives the same documents.
    Metadata values that JSON can't hold are their `str` then.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> context = assemble([Hit(Chunk("gastro#0", "gastro", "Drink water.", metadata={"source": "gastro.pdf"}))])
    >>> [document] = to_documents(context)
    >>> document.page_content.splitlines(), document.metadata["citation"]["label"]
    (['[1] Source: gastro.pdf', 'Drink water.'], '1')

    Raises:
        InputError: `context` is no Context.
    """
    return documents_from(check_context(context, CONTEXT_CALL))


class AssembledDocuments(list[Document]):
    """The documents of a context, whose `str()` is its text: in `retriever | assembler | str`, and in a prompt."""

    def __str__(self) -> str:
        return "\n\n".join(document.page_content for document in self)


def documents_from(context: Context) -> list[Document]:
    """Return one document per label of a context, in order. Joined by blank lines they are the context's text.

    A document has the id and the metadata of the best chunk of its label; an id that an earlier document has ends with
    the label. `block_metadata` adds `citation`, `chunk_ids`
    and `scores`, and `trace` to the first document. A supplement is a document of its own, before or after all others,
    with the id "supplement" and no citation.
    """
    return AssembledDocuments(
        Document(
            id=block_id,
            page_content=block.text,
            # Callers may change the metadata of a document: the citation's own metadata must stay as it is.
            metadata={**(copy_metadata(block.citation.metadata) if block.citation else {}), **added},
        )
        for block, block_id, added in zip(context.blocks, block_ids(context), block_metadata(context), strict=True)
    )


def _make_id(text: Any, document_id: Any, index: Any) -> str:
    """Return a stable id for a chunk that has none: its document and index, else a hash of its text."""
    document_name, index_name = to_id(document_id), to_id(index)
    if document_name is not None and index_name is not None:
        return f"{document_name}#{index_name}"
    return hashlib.sha256((to_text(text) or "").encode("utf-8", "surrogatepass")).hexdigest()[:32]


def read_documents(documents: Sequence[Document | Hit], keys: MetadataKeys) -> ReadResult:
    """Return the hits of `documents`, which may include hits, and the supplement of an earlier assembly among them."""
    pairs = (
        (one, None)
        if isinstance(one, Hit)
        else (Hit(chunk_from(one, keys), keys.read(one.metadata, "score")), one.metadata)
        for one in documents
    )
    return unpack_blocks(pairs, keys)
