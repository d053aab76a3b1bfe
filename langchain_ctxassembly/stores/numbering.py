"""Numbers for the chunks of LangChain's documents: fresh from a splitter, or where a vector store has them."""

# ruff: noqa: SLF001  Chroma has no public name for its collection

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from ctxassembly.adapters.numbering import IdOf, assign_numbers, default_chunk_id
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.stores.framework_rows import LANGCHAIN
from ctxassembly.stores.numbering import ChromaRecords, NumberingReport, QdrantRecords, number_collection
from langchain_ctxassembly.stores.filters import Chroma, Qdrant, is_postgres, kind_of


def number_chunks(
    documents: Iterable[Document],
    *,
    keys: MetadataKeys | None = None,
    document_id: str | None = None,
    id_of: IdOf = default_chunk_id,
) -> list[Document]:
    """Return copies of `documents`, fresh from any splitter, with a document id, an index, and an id made of both.

        vectorstore.add_documents(number_chunks(splitter.split_documents(loader.load())))

    The chunks of a source are numbered in the order given, across the pages that a loader makes documents of. Document
    id and index go into the metadata, under the first of their `keys`, and next to them what only the whole document
    shows: `overlap_chars`, `table_head`, `heading_path`, `chunk_count` and `document_version`. Existing values stay,
    and so do ids that aren't random, so calling it again changes nothing. Inputs are never changed.

    Number all files in one call: together they show how the splitter made their chunks. A changed file may have fewer
    chunks than before, so delete the old ones before you load it again.

    Give two documents with the same source, such as the files of two tenants, a document id each beforehand, in
    `metadata["document_id"]`. Otherwise they are numbered as one unless their offsets (`add_start_index=True`) begin
    again, or, in two calls, get the same ids, and the vector store replaces one with the other.

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
    documents = [*documents]
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
    numbered = []
    for document, number in zip(documents, assign_numbers(chunks, keys, document_id, id_of), strict=True):
        metadata = {**document.metadata, **number.added_to(document.metadata, keys)}
        numbered.append(document.model_copy(update={"id": number.id, "metadata": metadata}))
    return numbered


def number_stored_chunks(
    vectorstore: VectorStore,
    *,
    keys: MetadataKeys | None = None,
    trust_insertion_order: bool = False,
    dry_run: bool = False,
) -> NumberingReport:
    """Add document id and index to the chunks in a vector store, and return a report.

        print(number_stored_chunks(vectorstore))  # 1,204 chunks were numbered; 37 documents have neighbors now

    It takes a PGVectorStore or PGVector of langchain-postgres, a Chroma and a QdrantVectorStore. Only metadata is
    written: ids, texts and vectors stay. Chunks of one document, or of one source, are numbered by page, row, line and
    offset (`start_index`), as far as they have them. What only the whole document shows is recorded with them, as by
    `number_chunks`. Documents whose chunks have an index each stay as they are. A second run changes nothing.

    Postgres: document id and index are written under the first of their `keys` that is a column of the table, else
    under the first, into the JSON metadata. The title of each document is stored with its first chunk, as
    `ctxassembly_title`. The table gets the index on document id and index that `PGVectorNeighbors` looks them up by,
    and one of titles. All of it is one transaction.

    Chroma and Qdrant: the metadata of all chunks is read and kept in memory, and the texts of some 5,000 chunks at a
    time. Numbers are written in batches; call it again if it was interrupted. A Qdrant collection gets payload indexes
    of document id and index.

    Args:
        vectorstore: the vector store; of a `PGVector` the collection is numbered.
        keys: under which the metadata have document id, index, source, title, page and offset.
        trust_insertion_order: number chunks that don't show their order as they were stored. True only of a table or
            collection that was filled once, document by document, and not changed since. Qdrant keeps no such order.
        dry_run: write nothing; the report says what would be numbered.

    Raises:
        ConfigError: another vector store, or one without a place for the two.
        InputError: the vector store was set up for async use alone.
    """
    keys = MetadataKeys() if keys is None else keys
    options = {"trust_insertion_order": trust_insertion_order, "dry_run": dry_run}
    if is_postgres(vectorstore):
        from langchain_ctxassembly.stores.postgres import number_table

        return number_table(vectorstore, keys, **options)  # type: ignore[arg-type]
    store: Any = vectorstore
    kind = kind_of(vectorstore)
    if isinstance(kind, Chroma):
        return number_collection(ChromaRecords(store._collection), LANGCHAIN, keys, **options)
    if not isinstance(kind, Qdrant):
        allowed = "a PGVectorStore, AsyncPGVectorStore, PGVector, Chroma or QdrantVectorStore"
        raise ConfigError("vectorstore", allowed, vectorstore)
    content, metadata = store.content_payload_key, store.metadata_payload_key
    records = QdrantRecords(store.client, store.collection_name, content, metadata)
    report = number_collection(records, LANGCHAIN, keys, **options)
    if not dry_run:
        records.create_indexes(keys.document_id[0], keys.index[0])
    return report
