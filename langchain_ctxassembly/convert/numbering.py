"""Documents as a splitter leaves them -> documents that find their neighbours."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.documents import Document

from ctxassembly.adapting.numbering import IdOf, document_and_index, placed
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.keys import MetadataKeys
from ctxassembly.errors import InputError
from ctxassembly.shown import shown


def number_chunks(
    documents: Sequence[Document],
    *,
    keys: MetadataKeys | None = None,
    document_id: str | None = None,
    id_of: IdOf = document_and_index,
) -> list[Document]:
    """`documents`, as any splitter leaves them, with document id, index and an id that follows from both.

        vectorstore.add_documents(number_chunks(splitter.split_documents(loader.load())))

    They are numbered per source in the order given, across the pages that a loader makes documents of. Both go into
    the metadata under the first of their `keys`, unless another has them. What is there and right stays, the ids but
    for random ones too; so it may be called again. Inputs are never changed.

    A PGVectorStore with ids of type uuid, as it makes its table by default, and Qdrant take UUIDs alone:
    `number_chunks(documents, id_of=uuid_of)`.

    Args:
        documents: all chunks of each document, in reading order.
        keys: under which the metadata have document id, index, source and page.
        document_id: the document of those that name neither a document nor a source.
        id_of: the id of the chunk at a place.

    Raises:
        InputError: a document names neither; indexes, ids or the order of pages contradict each other. The message says
            what to do.
    """
    keys = MetadataKeys() if keys is None else keys
    for each in documents:
        if not isinstance(each, Document):
            raise InputError(f"documents must be a list of Document, got {shown(each)}")
    chunks = [
        Chunk(
            each.id or "",
            keys.read(each.metadata, "document_id") or "",
            each.page_content,
            keys.read(each.metadata, "index"),
            metadata=each.metadata,
        )
        for each in documents
    ]
    return [
        each.model_copy(
            update={
                "id": place.id,
                "metadata": {
                    **each.metadata,
                    **({} if chunk.document_id else {keys.document_id[0]: place.document_id}),
                    **({} if chunk.index is not None else {keys.index[0]: place.index}),
                },
            }
        )
        for each, chunk, place in zip(documents, chunks, placed(chunks, keys, document_id, id_of), strict=True)
    ]
