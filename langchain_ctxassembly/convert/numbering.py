"""Documents fresh from a splitter -> documents that know their place, so that neighbours can be found."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.documents import Document

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import InputError
from ctxassembly.integrations.numbering import IdOf, document_and_index, placed
from ctxassembly.safe_repr import shown


def number_chunks(
    documents: Sequence[Document],
    *,
    keys: MetadataKeys | None = None,
    document_id: str | None = None,
    id_of: IdOf = document_and_index,
) -> list[Document]:
    """Copies of `documents`, fresh from any splitter, with a document id, an index, and an id made of both.

        vectorstore.add_documents(number_chunks(splitter.split_documents(loader.load())))

    The chunks of a source are numbered in the order given, across the pages that a loader makes documents of. Document
    id and index go into the metadata, under the first of their `keys`. Those that are there already stay, and so do ids
    that aren't random: it may be called again. Inputs are never changed.

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
            raise InputError(f"documents must be a list of Document, got {shown(document)}")
    chunks = [
        Chunk(
            document.id or "",
            keys.read(document.metadata, "document_id") or "",
            document.page_content,
            keys.read(document.metadata, "index"),
            metadata=document.metadata,
        )
        for document in documents
    ]
    return [
        document.model_copy(
            update={
                "id": place.id,
                "metadata": {
                    **document.metadata,
                    **({} if chunk.document_id else {keys.document_id[0]: place.document_id}),
                    **({} if chunk.index is not None else {keys.index[0]: place.index}),
                },
            }
        )
        for document, chunk, place in zip(documents, chunks, placed(chunks, keys, document_id, id_of), strict=True)
    ]
