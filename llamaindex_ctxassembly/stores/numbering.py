"""Numbers for the nodes of a LlamaIndex vector store, written where they are stored."""

# ruff: noqa: SLF001  the stores have no public names for their collections

from __future__ import annotations

from typing import Any

from llama_index.core.vector_stores.types import BasePydanticVectorStore

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.parameter_names import guess_names
from ctxassembly.stores.collections import ChromaRecords, QdrantRecords
from ctxassembly.stores.framework_rows import LLAMAINDEX
from ctxassembly.stores.numbering import NumberingReport, number_collection
from llamaindex_ctxassembly.stores.neighbors import is_chroma, is_pg_vector_store, is_qdrant


@guess_names
def number_stored_chunks(
    vector_store: BasePydanticVectorStore,
    *,
    keys: MetadataKeys | None = None,
    trust_insertion_order: bool = False,
    dry_run: bool = False,
) -> NumberingReport:
    """Give the nodes of a vector store an index and a SOURCE where they are stored; return what became of them.

        print(number_stored_chunks(vector_store))  # 1,204 chunks were numbered; 37 documents have neighbors now

    It takes a PGVectorStore, a ChromaVectorStore and a QdrantVectorStore. Only metadata is written: ids, texts, vectors
    and links stay. Nodes of one document are numbered by page, row and offset, as far as they have them and as their
    links agree. The index is written under the first of its `keys`, into the metadata of the row and of the node, and
    kept from embeddings and prompts, as is an overlap of a few words that no offset shows (`overlap_chars`). The
    document is the one that the metadata name, else the SOURCE; but the pages that a reader makes documents of become
    one, the file, as do nodes without a SOURCE. To it SOURCE leads from then on: it is what `index.delete_ref_doc`
    deletes by. Documents whose nodes have an index each stay as they are. A second run changes nothing.

    Postgres: the title of each document is stored in the row of its first node, and not in the node. The table gets an
    index on document and place, and one of titles. All of it is one transaction.

    Chroma and Qdrant: the metadata of all nodes is read, and in memory at once without the texts. Numbers are written
    in batches; call it again if it was interrupted.

    Args:
        vector_store: the vector store with the nodes.
        keys: under which the metadata have document id, index, source, title, page and offset.
        trust_insertion_order: number nodes that don't show their order as they were stored. True only of a table or
            collection that was filled once, document by document. Qdrant keeps no such order.
        dry_run: write nothing; the report says what would be numbered.

    Raises:
        ConfigError: another vector store, or an index under a dotted key.
    """
    keys = MetadataKeys() if keys is None else keys
    options = {"trust_insertion_order": trust_insertion_order, "dry_run": dry_run}
    if is_pg_vector_store(vector_store):
        from llamaindex_ctxassembly.stores.postgres import number_table

        return number_table(vector_store, keys, **options)  # type: ignore[arg-type]
    return number_collection(_records(vector_store), LLAMAINDEX, keys, **options)


def _records(vector_store: Any) -> ChromaRecords | QdrantRecords:
    if is_chroma(vector_store):
        return ChromaRecords(vector_store._collection)
    if is_qdrant(vector_store) and vector_store._client is not None:
        return QdrantRecords(vector_store._client, vector_store.collection_name, vector_store.text_key or "text")
    allowed = "a PGVectorStore, a ChromaVectorStore, or a QdrantVectorStore with a sync client"
    raise ConfigError("vector_store", allowed, vector_store)
