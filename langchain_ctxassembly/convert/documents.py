"""LangChain documents -> hits and chunks, and a context -> documents."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from ctxassembly.context import Context
from ctxassembly.data.chunks import Chunk, ChunkOrigin, Hit, origin_of
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.sanitize import copy_metadata
from ctxassembly.errors import InputError
from ctxassembly.integrations.blocks import IncomingDocument, ReadResult, block_ids, unpack_blocks
from ctxassembly.integrations.messages import check_context
from ctxassembly.integrations.metadata import ContextPayload, block_metadata
from ctxassembly.integrations.numbering import IdOf, assign_numbers, default_chunk_id
from ctxassembly.parameter_names import guess_names
from ctxassembly.safe_repr import safe_repr, to_id, to_text

CONTEXT_CALL = "ContextAssembler().as_context().invoke(documents)"
"""The call that gives a context, for the messages of errors."""


def hit_from(document: Document, keys: MetadataKeys) -> Hit:
    """Return the hit for `document`, with the score in its metadata."""
    return Hit(chunk_from(document, keys), keys.read(document.metadata, "score"))


def chunk_from(document: Document, keys: MetadataKeys) -> Chunk:
    """Return the chunk for `document`. Odd values are passed on: the engine repairs them and notes it in the trace.

    The offset of a chunk without an index counts from the start of the page or section in its metadata.
    """
    metadata = document.metadata
    document_id, index = keys.read_document_id(metadata), keys.read(metadata, "index")
    return Chunk(
        id=_chunk_id(document, document_id, index),
        document_id=document_id,
        text=document.page_content,
        index=index,
        start=keys.read(metadata, "start"),
        metadata=metadata,
        origin=_chunk_origin(document, index, keys),
    )


def document_of(hit: Hit) -> Document:
    """Return the document of a hit, with a copy of its metadata."""
    return Document(id=hit.chunk.id, page_content=hit.chunk.text, metadata=copy_metadata(hit.chunk.metadata))


def to_documents(context: Context) -> list[Document]:
    """Return the documents that `ContextAssembler` returns for `context`: one per label, in order.

    `documents_from` describes them. A context restored by `Context.from_dict` gives the same ones, and so does its
    dict. Metadata values that no JSON can hold are their `str` there.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> context = assemble([Hit(Chunk("gastro#0", "gastro", "Drink water.", metadata={"source": "gastro.pdf"}))])
    >>> [document] = to_documents(context)
    >>> document.page_content.splitlines(), document.metadata["citation"]["label"]
    (['[1] Source: gastro.pdf', 'Drink water.'], '1')

    Raises:
        InputError: `context` is no Context.
    """
    return documents_from(ContextPayload(check_context(context, CONTEXT_CALL)))


def documents_from(payload: ContextPayload) -> list[Document]:
    """Return one document per label of a context, in order. Joined by blank lines they are the context's text.

    A document has the id and the metadata of the best chunk of its label; an id that an earlier document has ends with
    the label. `block_metadata` adds `citation`, `chunk_ids`
    and `scores`, and `trace` to the first document. A supplement is a document of its own, before or after all others,
    with the id "supplement" and no citation.
    """
    return [
        Document(
            id=block_id,
            page_content=block.text,
            # Callers may change the metadata of a document: the citation's own metadata must stay as it is.
            metadata={**(copy_metadata(block.citation.metadata) if block.citation else {}), **added},
        )
        for block, block_id, added in zip(
            payload.context.blocks, block_ids(payload.context), block_metadata(payload), strict=True
        )
    ]


def _chunk_origin(document: Document, index: Any, keys: MetadataKeys) -> ChunkOrigin | None:
    if index is None:
        return origin_of(document.metadata, keys)
    return None if _has_id(document) else ChunkOrigin(has_no_id=True)


def _has_id(document: Document) -> bool:
    return document.id is not None and (type(document.id) is not str or bool(document.id))


def _chunk_id(source_document: Document, document_id: Any, index: Any) -> Any:
    """Return the id of a document. Without one, make a stable id: its document and index, else a hash of its text."""
    if _has_id(source_document):
        return source_document.id
    document_name, index_name = to_id(document_id), to_id(index)
    if document_name is not None and index_name is not None:
        return f"{document_name}#{index_name}"
    return hashlib.sha256((to_text(source_document.page_content) or "").encode("utf-8", "surrogatepass")).hexdigest()[
        :32
    ]


def read_documents(documents: Sequence[Document | Hit], keys: MetadataKeys) -> ReadResult:
    """Return the hits of `documents`, which may include hits, and the supplement of an earlier assembly among them."""
    return unpack_blocks(
        [
            IncomingDocument(one, {}) if isinstance(one, Hit) else IncomingDocument(hit_from(one, keys), one.metadata)
            for one in documents
        ],
        keys,
    )


@guess_names
def number_chunks(
    documents: Sequence[Document],
    *,
    keys: MetadataKeys | None = None,
    document_id: str | None = None,
    id_of: IdOf = default_chunk_id,
) -> list[Document]:
    """Return copies of `documents`, fresh from any splitter, with a document id, an index, and an id made of both.

        vectorstore.add_documents(number_chunks(splitter.split_documents(loader.load())))

    The chunks of a source are numbered in the order given, across the pages that a loader makes documents of. Document
    id and index go into the metadata, under the first of their `keys`. Those that are there already stay, and so do ids
    that aren't random: it may be called again. Inputs are never changed. Without `add_start_index=True` in the splitter
    an overlap of a few words is recorded, too, as `overlap_chars`.

    Two documents under one source, such as a file that two tenants have, need a document id each beforehand, in
    `metadata["document_id"]`. Else they are numbered as one, or, in two calls, get the same ids, and the vector store
    replaces the one by the other.

    >>> split = [Document(text, metadata={"source": "gastro.pdf"}) for text in ("Drink water.", "Then rest.")]
    >>> [document.id for document in number_chunks(split)]
    ['gastro.pdf#0', 'gastro.pdf#1']

    Qdrant, and PGVectorStore by default, take only UUIDs as ids: `number_chunks(documents, id_of=uuid_of)`.

    Args:
        documents: all chunks of each document, in reading order.
        keys: the metadata keys of document id, index, source and page.
        document_id: the document of chunks that name neither a document nor a source.
        id_of: a function from document id and index to the id of the chunk.

    Raises:
        InputError: a chunk names neither and `document_id` is None; indexes, ids or the order of pages contradict each
            other. The message says what to do.
    """
    keys = MetadataKeys() if keys is None else keys
    if isinstance(documents, Document):  # its fields, otherwise, one by one
        raise InputError("documents must be a list of Document, got one: write number_chunks([document])")
    for document in documents:
        if not isinstance(document, Document):
            raise InputError(f"documents must be a list of Document, got {safe_repr(document)}")
    chunks = [
        Chunk(
            document.id or "",
            keys.read(document.metadata, "document_id") or "",
            document.page_content,
            keys.read(document.metadata, "index"),
            keys.read(document.metadata, "start"),
            metadata=document.metadata,
        )
        for document in documents
    ]
    return [
        document.model_copy(
            update={
                "id": number.id,
                "metadata": {
                    **document.metadata,
                    **({} if chunk.document_id else {keys.document_id[0]: number.document_id}),
                    **({} if chunk.index is not None else {keys.index[0]: number.index}),
                    **number.metadata,
                },
            }
        )
        for document, chunk, number in zip(
            documents, chunks, assign_numbers(chunks, keys, document_id, id_of), strict=True
        )
    ]
