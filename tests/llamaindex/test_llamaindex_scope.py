"""Whatever chain stands before the postprocessor, no neighbor comes in that its filter excludes.

Two tenants have the same documents with the same file names, and every third chunk is secret. The hit of each question
has an open neighbor on one side and a secret one on the other, of the same tenant.
"""

from __future__ import annotations

import asyncio
import re
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import chromadb
import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import AutoMergingRetriever, BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters
from llama_index.vector_stores.chroma import ChromaVectorStore
from llama_index.vector_stores.postgres import PGVectorStore
from llama_index.vector_stores.qdrant import QdrantVectorStore
from pydantic import PrivateAttr
from qdrant_client import QdrantClient
from sqlalchemy import NullPool, make_url

from ctxassembly import AssemblyConfig, Chunk, FilterNotSeenWarning, MemoryStore
from llamaindex_ctxassembly import ContextAssemblyPostprocessor
from llamaindex_samples import RecordingLLM, WordEmbedding

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")

TOPICS = ("weavers", "looms", "wool", "dyers", "taxes", "smugglers", "markets", "bridges", "guilds")
TENANTS = ("ours", "theirs")
HIT = 4
QUESTION = f"Who knows of {TOPICS[HIT]}?"


def nodes_of(tenant: str, document_id: str, ids: str | None = None) -> list[TextNode]:
    """The nodes of one document of a tenant, linked; their texts say whose they are and whether they are open.

    Those with the same `ids` have the same ids.
    """
    nodes: list[TextNode] = []
    for place, topic in enumerate(TOPICS):
        acl = "secret" if place % 3 == 2 else "open"
        node = TextNode(
            id_=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{ids or tenant}/{document_id}/{place}")),
            text=f"{topic} {topic} {topic}: <{tenant} {document_id} {place} {acl}>",
            metadata={"tenant": tenant, "acl": acl, "file_name": f"{document_id}.md", "page_label": f"{place // 2}"},
            start_char_idx=100 * place,
        )
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document_id)
        if nodes:
            node.relationships[NodeRelationship.PREVIOUS] = RelatedNodeInfo(node_id=nodes[-1].node_id)
            nodes[-1].relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id=node.node_id)
        nodes.append(node)
    return nodes


FLAT = {"author": None, "pages": 12, "ratio": 1.5}
NESTED = {"languages": ["en", "nl"], "origin": {"path": "/in", "size": 512, "note": None}}
"""What all chunks have, in kinds that stores keep in ways of their own. Chroma takes no lists and mappings."""


def all_nodes(metadata: dict[str, Any]) -> list[TextNode]:
    nodes = [node for tenant in TENANTS for name in ("handbook", "minutes") for node in nodes_of(tenant, name)]
    for node in nodes:
        node.metadata |= metadata
    return nodes


def index_over(vector_store: Any = None, metadata: dict[str, Any] | None = None, **settings: Any) -> VectorStoreIndex:
    storage = None if vector_store is None else StorageContext.from_defaults(vector_store=vector_store)
    nodes = all_nodes(FLAT | NESTED if metadata is None else metadata)
    return VectorStoreIndex(nodes, storage_context=storage, embed_model=WordEmbedding(), **settings)


# Stores: an index, and where the postprocessor's neighbors come from


def _simple(_: str) -> tuple[VectorStoreIndex, dict[str, Any]]:
    index = index_over()
    return index, {"docstore": index.docstore}


def _own(_: str) -> tuple[VectorStoreIndex, dict[str, Any]]:
    chunks = [
        Chunk(
            node.node_id,
            node.ref_doc_id,
            node.text,
            start=node.start_char_idx,
            prev_id=node.prev_node.node_id if node.prev_node else None,
            next_id=node.next_node.node_id if node.next_node else None,
            metadata=node.metadata,
        )
        for node in all_nodes(FLAT | NESTED)
    ]
    return index_over(), {"store": MemoryStore(chunks)}


def pg_vector_store(url: str) -> PGVectorStore:
    at = make_url(url)
    return PGVectorStore(
        connection_string=at.set(drivername="postgresql+psycopg2"),
        async_connection_string=at.set(drivername="postgresql+asyncpg"),
        table_name="scoped",
        embed_dim=64,
        create_engine_kwargs={"poolclass": NullPool},
        initialization_fail_on_error=True,
    )


def _postgres(url: str) -> tuple[VectorStoreIndex, dict[str, Any]]:
    store = pg_vector_store(url)
    return index_over(store), {"vector_store": store}


def _chroma(_: str) -> tuple[VectorStoreIndex, dict[str, Any]]:
    store = ChromaVectorStore(chromadb.EphemeralClient().create_collection(f"scoped-{uuid.uuid4().hex}"))
    return index_over(store, FLAT), {"vector_store": store}


def _qdrant(_: str) -> tuple[VectorStoreIndex, dict[str, Any]]:
    store = QdrantVectorStore("scoped", client=QdrantClient(":memory:"))
    return index_over(store), {"vector_store": store}


def _beside(_: str) -> tuple[VectorStoreIndex, dict[str, Any]]:
    index = index_over(QdrantVectorStore("scoped", client=QdrantClient(":memory:")), store_nodes_override=True)
    return index, {"docstore": index.docstore}


STORES: dict[str, Callable[[str], tuple[VectorStoreIndex, dict[str, Any]]]] = {
    "docstore": _simple,
    "a store of one's own": _own,
    "PGVectorStore": _postgres,
    "Chroma": _chroma,
    "Qdrant": _qdrant,
    "a docstore beside Qdrant": _beside,
}


@pytest.fixture(scope="module", params=STORES)
def stored(request: pytest.FixtureRequest) -> tuple[VectorStoreIndex, dict[str, Any]]:
    url = request.getfixturevalue("module_database_url") if request.param == "PGVectorStore" else ""
    return STORES[request.param](url)


# Chains: from an index, the filter of this call's retriever and our postprocessor to what asks


class Own(BaseRetriever):
    """Somebody's own retriever, with whatever it does inside."""

    def __init__(self, retrieve: Callable[[str], list[NodeWithScore]]) -> None:
        super().__init__()
        self._own = retrieve

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._own(query_bundle.query_str)


class Permissions(BaseNodePostprocessor):
    """Drops what the caller's filter excludes, after a search without one."""

    _filters: MetadataFilters | None = PrivateAttr()

    def __init__(self, filters: MetadataFilters | None) -> None:
        super().__init__()
        self._filters = filters

    def _postprocess_nodes(self, nodes: list[NodeWithScore], query_bundle: Any = None) -> list[NodeWithScore]:
        wanted: Any = self._filters.filters if self._filters else []
        return [each for each in nodes if all(each.metadata[one.key] == one.value for one in wanted)][:1]


Ask = Callable[[str], Any]
Filters = MetadataFilters | None


def _engine(retriever: BaseRetriever, llm: RecordingLLM, *postprocessors: Any) -> Ask:
    return RetrieverQueryEngine.from_args(retriever, llm=llm, node_postprocessors=list(postprocessors)).query


def _query_engine(index: VectorStoreIndex, filters: Filters, ours: Any, llm: RecordingLLM) -> Ask:
    return index.as_query_engine(filters=filters, similarity_top_k=1, node_postprocessors=[ours], llm=llm).query


def _fusion(index: VectorStoreIndex, filters: Filters, ours: Any, llm: RecordingLLM) -> Ask:
    both = [index.as_retriever(filters=filters, similarity_top_k=1) for _ in range(2)]
    return _engine(QueryFusionRetriever(both, llm, num_queries=1, similarity_top_k=1, use_async=False), llm, ours)


def _auto_merging(index: VectorStoreIndex, filters: Filters, ours: Any, llm: RecordingLLM) -> Ask:
    retriever: Any = index.as_retriever(filters=filters, similarity_top_k=1)
    return _engine(AutoMergingRetriever(retriever, index.storage_context), llm, ours)


def _own_retriever(index: VectorStoreIndex, filters: Filters, ours: Any, llm: RecordingLLM) -> Ask:
    return _engine(
        Own(lambda query: index.as_retriever(filters=filters, similarity_top_k=1).retrieve(query)), llm, ours
    )


def _permissions(index: VectorStoreIndex, filters: Filters, ours: Any, llm: RecordingLLM) -> Ask:
    return _engine(index.as_retriever(similarity_top_k=8), llm, Permissions(filters), ours)


def _chat(index: VectorStoreIndex, filters: Filters, ours: Any, llm: RecordingLLM) -> Ask:
    retriever = index.as_retriever(filters=filters, similarity_top_k=1)
    return CondensePlusContextChatEngine.from_defaults(
        retriever, llm=llm, node_postprocessors=[ours], memory=ChatMemoryBuffer.from_defaults()
    ).chat


CHAINS: dict[str, Callable[[VectorStoreIndex, Filters, Any, RecordingLLM], Ask]] = {
    "as_query_engine": _query_engine,
    "QueryFusionRetriever": _fusion,
    "AutoMergingRetriever": _auto_merging,
    "a retriever of one's own": _own_retriever,
    "a postprocessor that drops": _permissions,
    "CondensePlusContextChatEngine": _chat,
}


@pytest.fixture
def event_loop_of_chats() -> Iterator[None]:
    """LlamaIndex's chat engines make one to count tokens if there is none, and never close it."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(params=CHAINS)
def chain(
    request: pytest.FixtureRequest, event_loop_of_chats: None
) -> Callable[[VectorStoreIndex, Filters, Any, RecordingLLM], Ask]:
    return CHAINS[request.param]


def filters_of(tenant: str) -> MetadataFilters:
    return MetadataFilters(
        filters=[MetadataFilter(key="tenant", value=tenant), MetadataFilter(key="acl", value="open")]
    )


Read = set[tuple[str, int, str]]
"""Whose chunks were read, their place, and whether they are open or secret."""


def read_by(llm: RecordingLLM) -> Read:
    found = re.findall(r"<(\w+) \w+ (\d) (\w+)>", llm.prompts[-1])
    return {(tenant, int(place), acl) for tenant, place, acl in found}


def allowed_of(tenant: str) -> Read:
    return {(tenant, HIT - 1, "open"), (tenant, HIT, "open")}


def ask(chain: Any, index: VectorStoreIndex, filters: Filters, ours: ContextAssemblyPostprocessor) -> Read:
    llm = RecordingLLM()
    chain(index, filters, ours, llm)(QUESTION)
    return read_by(llm)


def test_a_filter_given_to_the_postprocessor_holds(chain: Any, stored: Any) -> None:
    index, store = stored
    for tenant in TENANTS:
        ours = ContextAssemblyPostprocessor(filter=filters_of(tenant), neighbors="filtered", **store)
        assert ask(chain, index, filters_of(tenant), ours) == allowed_of(tenant)


user: ContextVar[str] = ContextVar("user")


def test_one_postprocessor_holds_the_filter_of_whoever_asks(chain: Any, stored: Any) -> None:
    index, store = stored
    ours = ContextAssemblyPostprocessor(
        filter=lambda query: filters_of(user.get()) if query == QUESTION else None, neighbors="filtered", **store
    )
    for tenant in (*TENANTS, *TENANTS):
        user.set(tenant)
        assert ask(chain, index, filters_of(tenant), ours) == allowed_of(tenant)


def test_where_the_filter_is_not_seen_a_neighbor_agrees_with_its_hit_and_one_warning_says_so(
    chain: Any, stored: Any
) -> None:
    index, store = stored
    ours = ContextAssemblyPostprocessor(**store)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", FilterNotSeenWarning)
        read = [ask(chain, index, filters_of(tenant), ours) for tenant in (*TENANTS, *TENANTS)]
    (warning,) = (str(each.message) for each in seen if each.category is FilterNotSeenWarning)
    assert read == [allowed_of(tenant) for tenant in (*TENANTS, *TENANTS)]
    assert "'acl'" in warning
    assert "ContextAssemblyPostprocessor(filter=filters)" in warning
    assert "neighbors='unfiltered'" in warning


async def test_users_who_ask_at_the_same_time_get_what_is_theirs(database_url: str) -> None:
    for make in (_simple, _postgres):
        index, store = make(database_url)
        ours = ContextAssemblyPostprocessor(filter=lambda query: filters_of(user.get()), neighbors="filtered", **store)

        async def asked(tenant: str, index: VectorStoreIndex, ours: ContextAssemblyPostprocessor) -> Read:
            user.set(tenant)
            llm = RecordingLLM()
            retriever = index.as_retriever(filters=filters_of(tenant), similarity_top_k=1)
            await RetrieverQueryEngine.from_args(retriever, llm=llm, node_postprocessors=[ours]).aquery(QUESTION)
            return read_by(llm)

        read = await asyncio.gather(*(asked(tenant, index, ours) for tenant in TENANTS * 4))
        assert read == [allowed_of(tenant) for tenant in TENANTS * 4]


@pytest.mark.parametrize(
    "cut", [(), (NodeRelationship.NEXT,), (NodeRelationship.NEXT, NodeRelationship.PREVIOUS)], ids=len
)
@pytest.mark.parametrize("window", [1, 2, 3])
def test_nothing_comes_in_however_a_document_is_linked_and_however_far_it_is_read(
    cut: tuple[NodeRelationship, ...], window: int
) -> None:
    nodes = all_nodes({})
    for node in nodes:
        for link in cut:
            node.relationships.pop(link, None)
    index = VectorStoreIndex(nodes, embed_model=WordEmbedding())
    config = AssemblyConfig(window=window)
    for settings in ({"filter": filters_of("ours")}, {}):
        ours = ContextAssemblyPostprocessor(config=config, docstore=index.docstore, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FilterNotSeenWarning)
            read = ask(_query_engine, index, filters_of("ours"), ours)
        assert allowed_of("ours") <= read
        assert {(tenant, acl) for tenant, _, acl in read} == {("ours", "open")}


@pytest.mark.parametrize("first", TENANTS)
def test_two_tenants_whose_nodes_have_the_same_ids_are_kept_apart(database_url: str, first: str) -> None:
    store = pg_vector_store(database_url)
    index = index_over(store)
    for tenant in sorted(TENANTS, key=lambda each: each != first):
        index.insert_nodes(nodes_of(tenant, "rules", ids="the same"))
    filters = filters_of("ours")
    filters.filters.append(MetadataFilter(key="file_name", value="rules.md"))

    ours = ContextAssemblyPostprocessor(vector_store=store, filter=filters)
    assert ask(_query_engine, index, filters, ours) == allowed_of("ours")
    with pytest.warns(FilterNotSeenWarning):
        read = ask(_query_engine, index, filters, ContextAssemblyPostprocessor(vector_store=store))
    assert read == allowed_of("ours")
