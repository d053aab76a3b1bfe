"""Neighbors from a LlamaIndex docstore or vector store, with and without a filter.

A docstore can be queried only by id and for whole documents, not by the index of a node in its document. So all nodes
of the document are read, and the requested ones are selected here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

from llama_index.core.schema import BaseNode, NodeRelationship
from llama_index.core.storage.docstore.types import BaseDocumentStore, RefDocInfo
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    MetadataFilter,
    MetadataFilters,
)

from ctxassembly.assembly.expansion.diagnostics import Problem
from ctxassembly.config.hints import check_store
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.filters import is_filter
from ctxassembly.data.metadata_keys import MetadataKeys, with_keys
from ctxassembly.errors import ConfigError
from ctxassembly.stores.filtered import FilteredStore, chunk_predicate
from llamaindex_ctxassembly.filters import filter_chunks, normalize_filters
from llamaindex_ctxassembly.models import check_kind
from llamaindex_ctxassembly.nodes import to_chunk


@dataclass(frozen=True)
class DocstoreNeighbors:
    """A store of neighbors over a docstore: one `get_nodes` for each fetch, for all documents together.

    >>> from llama_index.core.schema import TextNode
    >>> from llama_index.core.storage.docstore import SimpleDocumentStore
    >>> docstore = SimpleDocumentStore()
    >>> docstore.add_documents([TextNode(id_="a-0", text="Rest."), TextNode(id_="a-1", text="Go home.")])
    >>> [chunk.text for chunk in DocstoreNeighbors(docstore).fetch([ChunkRef("a", chunk_id="a-1")])]
    ['Go home.']

    A docstore keeps no indexes. For a chunk by its index, as for a whole document, all nodes of the document are read.
    """

    remedies: ClassVar[Mapping[Problem, str]] = {
        "place": "VectorStoreIndex(number_chunks(nodes))",
        "part": "VectorStoreIndex(number_chunks(nodes))",
        "answer": "ContextAssemblyPostprocessor.from_index(index) or VectorStoreIndex(number_chunks(nodes))",
    }
    """Lines to write if neighbors can't be found."""

    docstore: BaseDocumentStore
    _: KW_ONLY
    keys: MetadataKeys = field(default_factory=MetadataKeys)

    def __post_init__(self) -> None:
        check_kind("docstore", self.docstore, BaseDocumentStore, "a docstore")

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Return the chunks that exist among `refs`."""
        infos = [self.docstore.get_ref_doc_info(document_id) for document_id in _documents_to_search(refs)]
        return _select_chunks(self.docstore.get_nodes(_node_ids(refs, infos), raise_error=False), refs, self.keys)

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Async version of `fetch`."""
        infos = await asyncio.gather(*(self.docstore.aget_ref_doc_info(name) for name in _documents_to_search(refs)))
        nodes = await self.docstore.aget_nodes(_node_ids(refs, infos), raise_error=False)
        return _select_chunks(nodes, refs, self.keys)


@dataclass(frozen=True)
class VectorStoreNeighbors:
    """A store of neighbors over any vector store that stores text and has `get_nodes`.

    >>> import chromadb
    >>> from llama_index.core.schema import TextNode
    >>> from llama_index.vector_stores.chroma import ChromaVectorStore
    >>> from llamaindex_ctxassembly import number_chunks
    >>> said = {"embedding": [1.0], "metadata": {"file_name": "gastro.pdf"}}
    >>> vector_store = ChromaVectorStore(chromadb.EphemeralClient().get_or_create_collection("leaflets"))
    >>> _ = vector_store.add(number_chunks([TextNode(text=text, **said) for text in ("Drink water.", "Then rest.")]))
    >>> [chunk.text for chunk in VectorStoreNeighbors(vector_store).fetch([ChunkRef("gastro.pdf", 1)])]
    ['Then rest.']

    A fetch takes one call for the chunks named by id, and one for the documents that have to be searched; the engine
    asks for both at once only if the hits differ in how they name their neighbors. For a node without links, all nodes
    of its SOURCE are read. For PGVectorStore there is PGVectorNeighbors.
    """

    vector_store: BasePydanticVectorStore
    _: KW_ONLY
    keys: MetadataKeys = field(default_factory=MetadataKeys)

    def __post_init__(self) -> None:
        check_kind("vector_store", self.vector_store, BasePydanticVectorStore, "a vector store")
        if not self.vector_store.stores_text:
            allowed = "a vector store that stores text (for another, pass the docstore of its index)"
            raise ConfigError("vector_store", allowed, type(self.vector_store).__name__)

    @property
    def remedies(self) -> Mapping[Problem, str]:
        """Lines to write if neighbors can't be found."""
        number = "VectorStoreIndex(number_chunks(nodes), storage_context=storage_context)"
        if is_chroma(self.vector_store) or is_qdrant(self.vector_store):
            number = "number_stored_chunks(vector_store)"
        return {
            **dict.fromkeys(("place", "part", "answer"), number),
            "method": "ContextAssemblyPostprocessor(docstore=VectorStoreIndex(nodes, storage_context=storage_context, "
            "store_nodes_override=True).docstore)",
        }

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Return the chunks that exist among `refs`."""
        nodes = [node for query in _node_queries(refs, self.keys) for node in self.vector_store.get_nodes(**query)]
        return _select_chunks(nodes, refs, self.keys)

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Async version of `fetch`."""
        store = self.vector_store
        nodes = [node for query in _node_queries(refs, self.keys) for node in await store.aget_nodes(**query)]
        return _select_chunks(nodes, refs, self.keys)


def _named_ids(refs: Iterable[ChunkRef]) -> list[str]:
    """Return the ids of the chunks that are requested by id, each once."""
    return list(dict.fromkeys(ref.chunk_id for ref in refs if ref.chunk_id is not None))


def _documents_to_search(refs: Iterable[ChunkRef]) -> list[str]:
    """Return the documents whose nodes must all be read, each once: a chunk can't be requested by its index."""
    return list(dict.fromkeys(ref.document_id for ref in refs if ref.chunk_id is None))


def _node_ids(refs: Iterable[ChunkRef], infos: Iterable[RefDocInfo | None]) -> list[str]:
    document_node_ids = [node_id for info in infos if info is not None for node_id in info.node_ids]
    return list(dict.fromkeys((*_named_ids(refs), *document_node_ids)))


def _node_queries(refs: Sequence[ChunkRef], keys: MetadataKeys) -> list[dict[str, Any]]:
    """Return arguments for `get_nodes`, never an empty list of ids, for which some stores return their whole table."""
    queries: list[dict[str, Any]] = []
    if ids := _named_ids(refs):
        queries.append({"node_ids": ids})
    if documents := _documents_to_search(refs):
        key = (*keys.lookup_id, "ref_doc_id")[0]
        one_of: list[MetadataFilter | MetadataFilters] = [MetadataFilter(key=key, value=one) for one in documents]
        # Not every store knows OR.
        condition = FilterCondition.OR if len(one_of) > 1 else FilterCondition.AND
        queries.append({"node_ids": None, "filters": MetadataFilters(filters=one_of, condition=condition)})
    return queries


def _select_chunks(nodes: Iterable[BaseNode], refs: Sequence[ChunkRef], keys: MetadataKeys) -> list[Chunk]:
    """Return the chunks of those `nodes` that `refs` ask for."""
    ids = set(_named_ids(refs))
    whole_documents = {ref.document_id for ref in refs if ref.chunk_id is None and ref.index is None}
    indexes = [(ref.document_id, ref.index) for ref in refs if ref.index is not None]
    # Metadata may hold "7" or 7.0 for 7.
    positions = {(document_id, form) for document_id, index in indexes for form in (f"{index}", f"{index}.0")}

    def is_requested(node: BaseNode, chunk: Chunk) -> bool:
        # A node with children has their text: next to them it is no neighbor.
        in_whole_document = chunk.lookup_id in whole_documents and NodeRelationship.CHILD not in node.relationships
        return chunk.id in ids or in_whole_document or (chunk.lookup_id, str(chunk.index)) in positions

    chunks = ((node, to_chunk(node, keys)) for node in nodes)
    return [chunk for node, chunk in chunks if is_requested(node, chunk)]


def make_neighbor_store(
    docstore: BaseDocumentStore | None, vector_store: BasePydanticVectorStore | None, store: Any, keys: MetadataKeys
) -> Any:
    """Return the store over whichever of the three is given, without a filter; None if none is.

    Raises:
        ConfigError: more than one of them is given, or one that can't be queried for neighbors.
    """
    sources = {"docstore": docstore, "vector_store": vector_store, "store": store}
    given_names = [name for name, one in sources.items() if one is not None]
    if len(given_names) > 1:
        raise ConfigError("store, docstore and vector_store", "one of the three at most", " and ".join(given_names))
    if docstore is not None:
        return DocstoreNeighbors(docstore, keys=keys)
    if vector_store is not None:
        if not is_pg_vector_store(vector_store):
            return VectorStoreNeighbors(vector_store, keys=keys)
        from llamaindex_ctxassembly.postgres import PGVectorNeighbors

        return PGVectorNeighbors(vector_store, keys=keys)
    check_store(store)
    return with_keys(store, keys)


def restrict_store(filters: Any, store: Any) -> Any:
    """Return `store` filtered by `filters`, in addition to its own filter; unchanged if they have no condition.

    PGVectorNeighbors and indexes apply filters in their form themselves. To the chunks of other stores they are applied
    after the fetch.

    Raises:
        ConfigError: the filters have no known form, or can't be translated.
    """
    if not isinstance(filters, MetadataFilters):
        if store is None or not is_filter(filters):
            return store
        if hasattr(store, "with_filter"):
            return store.with_filter(filters)
        passes = chunk_predicate(filters)
        return FilteredStore(store, filter_chunks=lambda chunks: [chunk for chunk in chunks if passes(chunk)])
    normalized = normalize_filters(filters)
    if normalized is None or store is None:
        return store
    if not _is_instance_of(store, "llamaindex_ctxassembly.postgres", "PGVectorNeighbors"):
        return FilteredStore(store, filter_chunks=partial(filter_chunks, normalized))
    both = normalized if store.filter is None else MetadataFilters(filters=[store.filter, normalized])
    return replace(store, filter=both)


def is_pg_vector_store(vector_store: object) -> bool:
    """Return True for a PGVectorStore."""
    return _is_instance_of(vector_store, "llama_index.vector_stores.postgres.base", "PGVectorStore")


def is_chroma(vector_store: object) -> bool:
    """Return True for a ChromaVectorStore."""
    return _is_instance_of(vector_store, "llama_index.vector_stores.chroma.base", "ChromaVectorStore")


def is_qdrant(vector_store: object) -> bool:
    """Return True for a QdrantVectorStore."""
    return _is_instance_of(vector_store, "llama_index.vector_stores.qdrant.base", "QdrantVectorStore")


def _is_instance_of(value: object, module: str, name: str) -> bool:
    """Return True if `value` is of the class with that name, whose package needn't be installed."""
    return (module, name) in {(kind.__module__, kind.__name__) for kind in type(value).__mro__}
