"""Numbers for LlamaIndex's nodes: fresh from a parser, across the pages of a document, or where they are stored."""

# ruff: noqa: SLF001  the stores have no public names for their collections

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from llama_index.core.schema import BaseNode, NodeRelationship, ObjectType, RelatedNodeInfo
from llama_index.core.vector_stores.types import BasePydanticVectorStore

from ctxassembly.adapters.numbering import RANDOM_UUID, ChunkNumber, IdOf, assign_numbers, default_chunk_id
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr, to_id
from ctxassembly.stores.framework_rows import LLAMAINDEX
from ctxassembly.stores.numbering import ChromaRecords, NumberingReport, QdrantRecords, number_collection
from llamaindex_ctxassembly.neighbors import is_chroma, is_pg_vector_store, is_qdrant
from llamaindex_ctxassembly.nodes import offsets_of, related_id, text_of


def number_chunks(
    nodes: Iterable[BaseNode],
    *,
    keys: MetadataKeys | None = None,
    document_id: str | None = None,
    id_of: IdOf = default_chunk_id,
) -> list[BaseNode]:
    """Return `nodes`, as any parser leaves them, with document id, index, an id that follows from both, and links.

        index = VectorStoreIndex(number_chunks(parser.get_nodes_from_documents(reader.load_data())))

    >>> from llama_index.core.schema import TextNode
    >>> parsed = [TextNode(text=text, metadata={"file_name": "gastro.pdf"}) for text in ("Drink water.", "Then rest.")]
    >>> [node.node_id for node in number_chunks(parsed)]
    ['gastro.pdf#0', 'gastro.pdf#1']

    They are numbered per document in the order given: per SOURCE, or, across the pages that a reader makes documents
    of, and where SOURCE is another one in every run, per file; to it SOURCE leads from then on. In an IngestionPipeline
    with UPSERTS give each file one Document with an `id_` of its own: by that it deletes. Document id and index go into
    the metadata under the first of their `keys`, unless another has them, and next to them what only the whole document
    shows: `overlap_chars`, `table_head`, `heading_path`, `chunk_count` and `document_version`. All of them are kept
    from embeddings and prompts. PREVIOUS and NEXT follow the numbers. What is there and right stays, the ids but for
    random ones too; so it may be called again. Inputs are never changed.

    Number all files in one call: together they show how the parser made their nodes.

    Two documents with the same file name, such as the documents of two tenants, each need a document id beforehand, in
    `metadata["document_id"]`. Otherwise they are numbered as one, or, in two calls, get the same ids, and the index
    replaces one with the other.

    Args:
        nodes: all nodes of each document, in reading order; of a HierarchicalNodeParser its leaves.
        keys: under which the metadata have document id, index, source and page.
        document_id: the document of those that name neither a document nor a source.
        id_of: the id of the node at a place.

    Raises:
        InputError: a node names neither; indexes, ids or the order of pages contradict each other; nodes are given
            together with their children. The message says what to do.
    """
    keys = MetadataKeys() if keys is None else keys
    nodes = [*nodes]
    for node in nodes:
        if not isinstance(node, BaseNode):
            raise InputError(f"nodes must be a list of nodes, got {safe_repr(node)}")
    node_ids = {node.node_id for node in nodes}
    if any(related_id(node, NodeRelationship.PARENT) in node_ids for node in nodes):
        raise InputError("nodes are given together with their children: number get_leaf_nodes(nodes) alone")
    sources = _sources_of_files(nodes, keys)
    chunks = [_chunk_to_number(node, keys, sources) for node in nodes]
    numbers = assign_numbers(chunks, keys, document_id, id_of)
    ids = {(number.document_id, number.index): number.id for number in numbers}
    return [
        node.model_copy(update=_node_update(node, number, keys, ids))
        for node, number in zip(nodes, numbers, strict=True)
    ]


def _sources_of_files(nodes: Iterable[BaseNode], keys: MetadataKeys) -> Mapping[str | None, set[str | None]]:
    """Return the SOURCEs of the nodes of each file; None for none, and for a file without a name."""
    sources: dict[str | None, set[str | None]] = defaultdict(set)
    for node in nodes:
        sources[to_id(keys.read(node.metadata, "source"))].add(related_id(node, NodeRelationship.SOURCE))
    return sources


def _chunk_to_number(node: BaseNode, keys: MetadataKeys, sources: Mapping[str | None, set[str | None]]) -> Chunk:
    """Return the chunk to number, whose document the metadata name.

    Otherwise it is its SOURCE, by which a pipeline deletes. Not so a random one, and one page of several: readers make
    a document of each, so the SOURCE would part the pages of a file.
    """
    metadata = node.metadata
    document_id, file = keys.read(metadata, "document_id"), to_id(keys.read(metadata, "source"))
    if document_id is None:
        source = related_id(node, NodeRelationship.SOURCE)
        is_page = len(sources[file]) > 1 and keys.read(metadata, "page") is not None
        if file is None or not (source is None or RANDOM_UUID.fullmatch(source) or is_page):
            document_id = source
    text = text_of(node)
    start, _ = offsets_of(node, text, keys)
    return Chunk(node.node_id, document_id or "", text, keys.read(metadata, "index"), start, metadata=metadata)


def _node_update(
    node: BaseNode, number: ChunkNumber, keys: MetadataKeys, ids: Mapping[tuple[str, int], str]
) -> dict[str, Any]:
    added = number.added_to(node.metadata, keys)
    relationships = dict(node.relationships)
    for kind, index in ((NodeRelationship.PREVIOUS, number.index - 1), (NodeRelationship.NEXT, number.index + 1)):
        linked_id = ids.get((number.document_id, index))
        if linked_id is not None and related_id(node, kind) != linked_id:
            relationships[kind] = RelatedNodeInfo(node_id=linked_id, node_type=ObjectType.TEXT)
    if related_id(node, NodeRelationship.SOURCE) != number.document_id:
        source = RelatedNodeInfo(node_id=number.document_id, node_type=ObjectType.DOCUMENT)
        relationships[NodeRelationship.SOURCE] = source
    return {
        "id_": number.id,
        "metadata": {**node.metadata, **added},
        "excluded_embed_metadata_keys": [*dict.fromkeys((*node.excluded_embed_metadata_keys, *added))],
        "excluded_llm_metadata_keys": [*dict.fromkeys((*node.excluded_llm_metadata_keys, *added))],
        "relationships": relationships,
    }


def number_stored_chunks(
    vector_store: BasePydanticVectorStore,
    *,
    keys: MetadataKeys | None = None,
    trust_insertion_order: bool = False,
    dry_run: bool = False,
) -> NumberingReport:
    """Add an index and a SOURCE to the nodes in a vector store, and return a report.

        print(number_stored_chunks(vector_store))  # 1,204 chunks were numbered; 37 documents have neighbors now

    It takes a PGVectorStore, a ChromaVectorStore and a QdrantVectorStore. Only metadata is written: ids, texts, vectors
    and links stay. Nodes of one document are numbered by page, row and offset, as far as they have them and as their
    links agree. The index is written under the first of its `keys`, into the metadata of the row and of the node, with
    what only the whole document shows, as by `number_chunks`; all of it is kept from embeddings and prompts. The
    document is the one that the metadata name, else the SOURCE; but the pages that a reader makes documents of become
    one, the file, as do nodes without a SOURCE. To it SOURCE leads from then on: it is what `index.delete_ref_doc`
    deletes by. Documents whose nodes have an index each stay as they are. A second run changes nothing.

    Postgres: the title of each document is stored in the row of its first node, and not in the node. The table gets an
    index on document and place, and one of titles. All of it is one transaction.

    Chroma and Qdrant: the metadata of all nodes is read and kept in memory, and the texts of some 5,000 at a time.
    Numbers are written in batches; call it again if it was interrupted.

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
        from llamaindex_ctxassembly.postgres import number_table

        return number_table(vector_store, keys, **options)  # type: ignore[arg-type]
    return number_collection(_records(vector_store), LLAMAINDEX, keys, **options)


def _records(vector_store: Any) -> ChromaRecords | QdrantRecords:
    if is_chroma(vector_store):
        return ChromaRecords(vector_store._collection)
    if is_qdrant(vector_store) and vector_store._client is not None:
        return QdrantRecords(vector_store._client, vector_store.collection_name, vector_store.text_key or "text")
    allowed = "a PGVectorStore, a ChromaVectorStore, or a QdrantVectorStore with a sync client"
    raise ConfigError("vector_store", allowed, vector_store)
