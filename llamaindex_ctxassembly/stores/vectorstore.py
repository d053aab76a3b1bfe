"""Neighbors from a LlamaIndex vector store that stores the text of its nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from llama_index.core import Settings
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryResult,
)

from ctxassembly.assembly.expansion.diagnostics import Problem
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly.convert.nodes import to_chunk
from llamaindex_ctxassembly.stores.docstore import (
    PageRequest,
    documents_to_search,
    named_ids,
    page_requests,
    select_chunks,
)

MAX_NODES = 1_000
"""Most nodes of a document that are searched for, where `get_nodes` fails."""
REMEDIES: Mapping[Problem, str] = {
    "place": "build the index from number_chunks(nodes)",
    "answer": "build the index from number_chunks(nodes), which gives each node its SOURCE",
    "method": "keep the nodes in a docstore, VectorStoreIndex(nodes, storage_context=storage_context, "
    "store_nodes_override=True), and say ContextAssemblyPostprocessor(docstore=index.docstore)",
}


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
    asks for both at once only if the hits differ in how they name their neighbors. If `keys.document_id` makes one
    document of the pages of a file, one more call for each file gets the pages before and after, where links end.
    LlamaIndex keeps no offset in the metadata, so `get_nodes` can't be asked for one: for a node without links, all
    nodes of its SOURCE are read. For PGVectorStore there is PGVectorNeighbors.
    """

    finds_offsets = True

    vector_store: BasePydanticVectorStore
    _: KW_ONLY
    keys: MetadataKeys = field(default_factory=MetadataKeys)

    def __post_init__(self) -> None:
        if not self.vector_store.stores_text:
            allowed = "a vector store that stores text (for another, pass the docstore of its index)"
            raise ConfigError("vector_store", allowed, type(self.vector_store).__name__)

    @property
    def remedies(self) -> Mapping[Problem, str]:
        """Lines to write if neighbors can't be found."""
        return REMEDIES

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Return the chunks that exist among `refs`."""
        try:
            nodes = [node for query in _node_queries(refs, self.keys) for node in self.vector_store.get_nodes(**query)]
            pages = [node for query in _page_queries(refs, self.keys) for node in self.vector_store.get_nodes(**query)]
        except OSError:  # it can't be reached
            raise
        except Exception as error:  # noqa: BLE001 - it is raised again where nothing else works
            return self._to_chunks(refs, self._search_documents(refs, error), ())
        return self._to_chunks(refs, nodes, pages)

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Async version of `fetch`."""
        nodes: list[BaseNode] = []
        pages: list[BaseNode] = []
        try:
            for query in _node_queries(refs, self.keys):
                nodes += await self.vector_store.aget_nodes(**query)
            for query in _page_queries(refs, self.keys):
                pages += await self.vector_store.aget_nodes(**query)
        except OSError:
            raise
        except Exception as error:  # noqa: BLE001 - it is raised again where nothing else works
            return self._to_chunks(refs, await self._asearch_documents(refs, error), ())
        return self._to_chunks(refs, nodes, pages)

    def _search_documents(self, refs: Sequence[ChunkRef], error: Exception) -> list[BaseNode]:
        """Return all nodes of the documents of `refs`, from a store whose `get_nodes` raised `error`.

        LanceDB's fails for ids. Many have none, and a search with a filter finds the nodes of a document all the same.
        """
        nodes: list[BaseNode] = []
        for document in dict.fromkeys(ref.document_id for ref in refs):
            for method, arguments in _fallback_calls(document, self.keys):
                with suppress(Exception):
                    nodes += _result_nodes(getattr(self.vector_store, method)(**arguments))
                if any(to_chunk(node, self.keys).lookup_id == document for node in nodes):
                    break
        if not nodes:
            raise error
        return nodes

    async def _asearch_documents(self, refs: Sequence[ChunkRef], error: Exception) -> list[BaseNode]:
        """Async version of `_search_documents`."""
        nodes: list[BaseNode] = []
        for document in dict.fromkeys(ref.document_id for ref in refs):
            for method, arguments in _fallback_calls(document, self.keys):
                with suppress(Exception):
                    nodes += _result_nodes(await getattr(self.vector_store, f"a{method}")(**arguments))
                if any(to_chunk(node, self.keys).lookup_id == document for node in nodes):
                    break
        if not nodes:
            raise error
        return nodes

    def _to_chunks(self, refs: Sequence[ChunkRef], nodes: Iterable[BaseNode], pages: Iterable[BaseNode]) -> list[Chunk]:
        return [*select_chunks(nodes, refs, self.keys), *(to_chunk(node, self.keys) for node in pages)]


def _fallback_calls(document: str, keys: MetadataKeys) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the calls that may give the nodes of a document, where the usual one fails."""
    model = getattr(Settings, "_embed_model", None)  # reading `Settings.embed_model` would create one
    for key in dict.fromkeys(((*keys.lookup_id, "ref_doc_id")[0], "doc_id")):
        filters = MetadataFilters(filters=[MetadataFilter(key=key, value=document)])
        yield "get_nodes", {"node_ids": None, "filters": filters}
        # The order of the nodes doesn't matter, so any vector will do that the store takes.
        for embedding in (None, *([model.get_query_embedding(document)] if model is not None else [])):
            query = VectorStoreQuery(query_embedding=embedding, similarity_top_k=MAX_NODES, filters=filters)
            yield "query", {"query": query}


def _result_nodes(result: Any) -> Sequence[BaseNode]:
    return result.nodes or () if isinstance(result, VectorStoreQueryResult) else result


def _node_queries(refs: Sequence[ChunkRef], keys: MetadataKeys) -> list[dict[str, Any]]:
    """Return arguments for `get_nodes`, never an empty list of ids, for which some stores return their whole table."""
    queries: list[dict[str, Any]] = []
    if ids := named_ids(refs):
        queries.append({"node_ids": ids})
    if documents := documents_to_search(refs):
        one_of: list[MetadataFilter | MetadataFilters] = [
            MetadataFilter(key=(*keys.lookup_id, "ref_doc_id")[0], value=document) for document in documents
        ]
        # Not every store knows OR.
        condition = FilterCondition.OR if len(one_of) > 1 else FilterCondition.AND
        queries.append({"node_ids": None, "filters": MetadataFilters(filters=one_of, condition=condition)})
    return queries


def _page_queries(refs: Sequence[ChunkRef], keys: MetadataKeys) -> list[dict[str, Any]]:
    """Return arguments for the pages next to those in `refs`: for each file a plain AND, which every store supports."""
    requests_by_page: dict[tuple[str, str], list[PageRequest]] = defaultdict(list)
    for request in page_requests(refs):
        requests_by_page[request.document_id, request.page].append(request)
    queries: list[dict[str, Any]] = []
    for (document_id, page), requests in requests_by_page.items():
        numbers: Any = [*dict.fromkeys(number for request in requests for number in request.adjacent_pages)]
        queries += [
            {
                "node_ids": None,
                "filters": MetadataFilters(
                    filters=[
                        MetadataFilter(key=name, value=document_id),
                        MetadataFilter(key=page, operator=FilterOperator.IN, value=numbers),
                    ]
                ),
            }
            for name in keys.document_id
        ]
    return queries
