"""A caller's filter holds for neighbors: every chain x every vector store x how it is filtered.

Two tenants have documents of the same ids and file names. Even chunks are open, odd ones secret: with a window of two
the neighbors of chunk 4 that may be read are 2 and 6, and they have to come in.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MergerRetriever,
    MultiQueryRetriever,
    ParentDocumentRetriever,
    SelfQueryRetriever,
)
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableConfig, RunnableLambda, RunnablePassthrough
from langchain_core.stores import InMemoryStore
from langchain_core.structured_query import StructuredQuery, Visitor
from langchain_core.vectorstores import InMemoryVectorStore, VectorStoreRetriever
from langchain_text_splitters import CharacterTextSplitter

from ctxassembly import AssemblyConfig, Context, FilterNotSeenWarning, MemoryStore
from ctxassembly.errors import ConfigError
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    PGVectorNeighbors,
    VectorStoreNeighbors,
)
from langchain_samples import WORDS, WordEmbeddings, chunks
from postgres_stores import PostgresStores
from vector_stores import chroma, faiss, matching, qdrant

TENANTS = ("ours", "theirs")
CONFIG = AssemblyConfig(window=2, candidate_window=2, varying_keys=("_collection_name",))
"""Qdrant's own chunks have that key, parents from another store don't."""


def chunk(tenant: str, document_id: str, index: int, acl: str) -> Document:
    name = f"{tenant}-{document_id}-{index}"
    return Document(
        id=name,
        page_content=f"{name} is {acl} and tells of {WORDS[index]}.",
        metadata={
            "document_id": document_id, "chunk_index": index, "source": f"{document_id}.pdf", "page": index,
            "tenant": tenant, "acl": acl, "chunk_id": name,
        },
    )  # fmt: skip


SHARED = [
    chunk(tenant, document_id, index, "secret" if index % 2 else "open")
    for tenant in TENANTS
    for document_id in ("A", "B")
    for index in range(9)
]
OWN = [chunk("ours", document_id, index, "open") for document_id in ("A", "B") for index in range(9)]
"""Of the one tenant there is."""


def query_for(tenant: str) -> str:
    return chunk(tenant, "A", 4, "open").page_content


def names(document_id: str, index: int) -> list[str]:
    """The ids that a place may have: which tenant's is whose, the filter says."""
    return [f"{tenant}-{document_id}-{index}" for tenant in TENANTS]


def uuids(document_id: str, index: int) -> list[str]:
    return [uuid_of(name) for name in names(document_id, index)]


def uuid_of(name: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, name))


# The vector stores


@dataclass
class Kind:
    """A vector store with everybody's chunks, one with those of one tenant, and its own form of a filter."""

    shared: Any
    own: Any
    condition: Callable[[str], Any]
    """The filter for a tenant's open chunks."""
    neighbors: Callable[[Any], Any] = lambda corpus: VectorStoreNeighbors(corpus, id_of=names)
    is_async: bool = True


def mapping(tenant: str) -> Any:
    return {"tenant": tenant, "acl": "open"}


def memory() -> Kind:
    def filled(corpus: list[Document]) -> InMemoryVectorStore:
        store = InMemoryVectorStore(WordEmbeddings())
        store.add_documents(corpus)
        return store

    def condition(tenant: str) -> Any:
        return lambda document: document.metadata["tenant"] == tenant and document.metadata["acl"] == "open"

    return Kind(filled(SHARED), filled(OWN), condition)


def of_faiss(condition: Callable[[str], Any]) -> Kind:
    return Kind(faiss(SHARED), faiss(OWN), condition)


def of_chroma() -> Kind:
    stores = (chroma(corpus, [each.id or "" for each in corpus]) for corpus in (SHARED, OWN))
    return Kind(*stores, lambda tenant: {"$and": [{"tenant": tenant}, {"acl": "open"}]})


def of_qdrant() -> Kind:
    stores = (qdrant(corpus, [uuid_of(each.id or "") for each in corpus]) for corpus in (SHARED, OWN))
    return Kind(
        *stores,
        lambda tenant: matching(tenant=tenant, acl="open"),
        lambda corpus: VectorStoreNeighbors(corpus, id_of=uuids),
    )


def postgres(stores: PostgresStores, kind: str) -> Kind:
    # The old tables keep one row an id, whatever the collection.
    made = (
        stores.make(kind, corpus, table=name, ids=[f"{name}-{each.id}" for each in corpus])
        for name, corpus in (("shared", SHARED), ("own", OWN))
    )
    return Kind(*made, mapping, PGVectorNeighbors, is_async=kind != "old")


@pytest.fixture(scope="module")
def stores(module_database_url: str) -> Iterator[PostgresStores]:
    with PostgresStores(module_database_url) as made:
        yield made


KINDS = [
    "memory", "faiss", "faiss-function", "chroma", "chroma-metadata", "qdrant", "qdrant-metadata", "columns", "old",
]  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    if request.param in ("columns", "old"):
        return postgres(request.getfixturevalue("stores"), request.param)
    by_name: dict[str, Callable[[], Kind]] = {
        "memory": memory,
        "faiss": lambda: of_faiss(mapping),
        "faiss-function": lambda: of_faiss(
            lambda tenant: lambda each: each["tenant"] == tenant and each["acl"] == "open"
        ),
        "chroma": of_chroma,
        "chroma-metadata": lambda: replace(of_chroma(), neighbors=VectorStoreNeighbors),
        "qdrant": of_qdrant,
        "qdrant-metadata": lambda: replace(of_qdrant(), neighbors=VectorStoreNeighbors),
    }
    return by_name[request.param]()


# How a search is filtered


@dataclass
class Searching:
    """A vector store's retriever as one of the modes filters it, and how it is called for a tenant."""

    kind: Kind
    mode: str
    tenant: str = "ours"
    config: RunnableConfig = field(default_factory=RunnableConfig)

    @property
    def vectorstore(self) -> Any:
        return self.kind.own if self.mode == "unfiltered" else self.kind.shared

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of the search."""
        return {"k": 1} if self.mode == "unfiltered" else {"k": 1, "filter": self.kind.condition(self.tenant)}

    def fixed(self) -> VectorStoreRetriever:
        """The filter stands in the retriever."""
        retriever: VectorStoreRetriever = self.vectorstore.as_retriever(search_kwargs=self.options)
        return retriever

    def base(self) -> Any:
        """The filter stands in the retriever, or in the config of the call."""
        if self.mode != "per-user":
            return self.fixed()
        self.config = {"configurable": {"search": self.options}}
        return configurable(self.vectorstore)

    def assembler(self, **options: Any) -> ContextAssembler:
        return ContextAssembler(config=CONFIG, store=self.kind.neighbors(self.vectorstore), **options)


def configurable(vectorstore: Any) -> Any:
    """Filters nothing, unless the config of the call says so."""
    retriever = vectorstore.as_retriever(search_kwargs={"k": 1})
    return retriever.configurable_fields(search_kwargs=ConfigurableField(id="search"))


# The chains


class Unchanged(BaseDocumentCompressor):
    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        return documents


class OnesOwn(BaseRetriever):
    inside: Any

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        found: list[Document] = self.inside.invoke(query)
        return found

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        found: list[Document] = await self.inside.ainvoke(query)
        return found


class Derived(VectorStoreRetriever):
    """Filters by itself, past its `search_kwargs`."""

    condition: Any = None

    def _get_relevant_documents(self, query: str, *, run_manager: Any, **kwargs: Any) -> list[Document]:
        own = {"filter": self.condition} if self.condition else {}
        return super()._get_relevant_documents(query, run_manager=run_manager, **own)

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any, **kwargs: Any) -> list[Document]:
        own = {"filter": self.condition} if self.condition else {}
        return await super()._aget_relevant_documents(query, run_manager=run_manager, **own)


class Asked(Visitor):
    """Has a language model's filter be a vector store's own: it is handed over as it is."""

    condition: Any = None

    def visit_structured_query(self, structured_query: StructuredQuery) -> tuple[str, dict[str, Any]]:
        return structured_query.query, {"filter": self.condition} if self.condition else {}

    visit_comparison = visit_operation = None  # type: ignore[assignment]


Asked.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]


def around(searching: Searching, retriever: Any, **options: Any) -> Any:
    return ContextAssemblyRetriever(retriever=retriever, assembler=searching.assembler(), **options)


def from_vectorstore(searching: Searching) -> Any:
    return ContextAssemblyRetriever.from_vectorstore(
        searching.vectorstore, search_kwargs=searching.options, config=CONFIG,
        store=searching.kind.neighbors(searching.vectorstore),
    )  # fmt: skip


def given_to_the_call(searching: Searching) -> Any:
    made = ContextAssemblyRetriever.from_vectorstore(
        searching.vectorstore, hits=1, config=CONFIG, store=searching.kind.neighbors(searching.vectorstore)
    )
    return made.bind(**({"filter": searching.options["filter"]} if "filter" in searching.options else {}))


def bound(searching: Searching) -> Any:
    return around(searching, searching.vectorstore.as_retriever().bind(**searching.options))


def bound_scored(searching: Searching) -> Any:
    made = from_vectorstore(Searching(searching.kind, "unfiltered"))
    scored = made.retriever.model_copy(update={"vectorstore": searching.vectorstore})
    return around(searching, scored.bind(**searching.options))


def bound_config(searching: Searching) -> Any:
    with_config = configurable(searching.vectorstore).with_config(configurable={"search": searching.options})
    return around(searching, with_config.with_retry())


def alternatives(searching: Searching) -> Any:
    searching.config = {"configurable": {"whose": searching.tenant}}
    made = {tenant: Searching(searching.kind, searching.mode, tenant).fixed() for tenant in TENANTS}
    default = VectorStoreRetriever(vectorstore=searching.vectorstore, search_kwargs={"k": 1})
    return around(searching, default.configurable_alternatives(ConfigurableField(id="whose"), **made))


def compressed_inside(searching: Searching) -> Any:
    return around(
        searching, ContextualCompressionRetriever(base_compressor=Unchanged(), base_retriever=searching.base())
    )


def many_queries(searching: Searching) -> Any:
    model = RunnableLambda(lambda given: [given["question"]])
    return around(searching, MultiQueryRetriever(retriever=searching.fixed(), llm_chain=model))


def changed_later(searching: Searching) -> Any:
    made = around(searching, VectorStoreRetriever(vectorstore=searching.vectorstore))
    made.retriever.search_kwargs.update(searching.options)
    return made


def assigned_later(searching: Searching) -> Any:
    made = around(searching, VectorStoreRetriever(vectorstore=searching.vectorstore))
    made.retriever = searching.base()
    return made


def copied(searching: Searching) -> Any:
    made = around(searching, VectorStoreRetriever(vectorstore=searching.vectorstore))
    return made.model_copy(update={"retriever": searching.base()})


def assembler_filter(searching: Searching) -> Any:
    return searching.base() | searching.assembler(filter=searching.options.get("filter"))


def configured_assembler(searching: Searching) -> Any:
    base = searching.base()
    searching.config = {
        "configurable": {**searching.config.get("configurable", {}), "filter": searching.options.get("filter")}
    }
    return base | searching.assembler().configurable_fields(filter=ConfigurableField(id="filter"))


def in_the_store(searching: Searching) -> Any:
    store = searching.kind.neighbors(searching.vectorstore)
    store = replace(store, filter=searching.options.get("filter"))
    return searching.base() | ContextAssembler(config=CONFIG, store=store)


def self_query(searching: Searching) -> Any:
    asked = Asked()
    asked.condition = searching.options.get("filter")
    return SelfQueryRetriever(
        query_constructor=RunnableLambda(lambda given: StructuredQuery(query=given["query"], filter=None, limit=None)),
        vectorstore=searching.vectorstore, search_kwargs={"k": 1}, structured_query_translator=asked,
    )  # fmt: skip


def parents(searching: Searching) -> Any:
    docstore = InMemoryStore()
    corpus = OWN if searching.mode == "unfiltered" else SHARED
    docstore.mset([(each.metadata["chunk_id"], each) for each in corpus])
    return ParentDocumentRetriever(
        vectorstore=searching.vectorstore, docstore=docstore, id_key="chunk_id", search_kwargs=searching.options,
        child_splitter=CharacterTextSplitter(),
    )  # fmt: skip


DIRECT: dict[str, Callable[[Searching], Any]] = {
    "from_vectorstore": from_vectorstore,
    "a vector store's retriever": lambda searching: around(searching, searching.base()),
    "filter given to the call": given_to_the_call,
    "search_kwargs changed later": changed_later,
    "retriever assigned later": assigned_later,
    "model_copy": copied,
}
"""A vector store's retriever directly inside, unless the config of the call configures it."""
GIVEN: dict[str, Callable[[Searching], Any]] = {
    "filter of the assembler": assembler_filter,
    "configurable filter of the assembler": configured_assembler,
    "filter of the store": in_the_store,
    "filter of the call": lambda searching: (
        searching.base() | searching.assembler().bind(filter=searching.options.get("filter"))
    ),
    "as_context(filter=)": lambda searching: (
        searching.base() | searching.assembler().as_context(filter=searching.options.get("filter"))
    ),
}
UNTOLD: dict[str, Callable[[Searching], Any]] = {
    "with_retry": lambda searching: around(searching, searching.base().with_retry()),
    "bind": bound,
    "bind on a scored retriever": bound_scored,
    "with_config": bound_config,
    "configurable alternatives": alternatives,
    "contextual compression inside": compressed_inside,
    "multi-query": many_queries,
    "pipe": lambda searching: searching.base() | searching.assembler(),
    "pipe with the query": lambda searching: (
        {"documents": searching.base(), "query": RunnablePassthrough()} | RunnableLambda(dict) | searching.assembler()
    ),
    "pipe to as_context": lambda searching: searching.base() | searching.assembler().as_context(),
    "contextual compression around": lambda searching: ContextualCompressionRetriever(
        base_compressor=searching.assembler(), base_retriever=searching.base()
    ),
    "lambda": lambda searching: around(searching, searching.base() | RunnableLambda(lambda found: found)),
    "ensemble": lambda searching: around(searching, EnsembleRetriever(retrievers=[searching.base()] * 2)),
    "merger": lambda searching: around(searching, MergerRetriever(retrievers=[searching.fixed()] * 2)),
    "self-query": lambda searching: around(searching, self_query(searching)),
    "parents": lambda searching: around(searching, parents(searching)),
    "a retriever of one's own": lambda searching: around(searching, OnesOwn(inside=searching.base())),
    "a derived retriever": lambda searching: around(
        searching,
        Derived(vectorstore=searching.vectorstore, search_kwargs={"k": 1}, condition=searching.options.get("filter")),
    ),
    "fallbacks": lambda searching: around(searching, searching.base().with_fallbacks([searching.base()])),
}


FOR_ALL_USERS = {
    "a vector store's retriever", "with_retry", "configurable alternatives", "contextual compression inside",
    "retriever assigned later", "model_copy", "configurable filter of the assembler", "pipe",
    "pipe with the query", "pipe to as_context", "contextual compression around", "lambda", "ensemble",
    "a retriever of one's own", "fallbacks",
}  # fmt: skip
"""Chains of which one object serves them all: who asks stands in the config of the call."""


def text_of(result: Any) -> str:
    return "\n\n".join(each.page_content for each in result) if isinstance(result, list) else str(result)


MODES = ["filtered", "per-user", "unfiltered"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("chain", [*DIRECT, *GIVEN, *UNTOLD])
def test_no_neighbor_comes_in_past_the_filter_and_all_others_do(kind: Kind, chain: str, mode: str) -> None:
    build = (DIRECT | GIVEN | UNTOLD)[chain]
    configurable = chain in ("a vector store's retriever", "retriever assigned later", "model_copy")
    is_told = chain in GIVEN or (chain in DIRECT and not (configurable and mode == "per-user"))
    silent = is_told or mode == "unfiltered"  # where all chunks are open, none is left out
    made = None
    for tenant in TENANTS if mode == "per-user" else TENANTS[:1]:
        searching = Searching(kind, mode, tenant)
        built = build(searching)
        if made is None or chain not in FOR_ALL_USERS:
            made = built
            if chain == "contextual compression around":
                # It hands no config on; in a chain the search gets it all the same.
                made = RunnablePassthrough() | made
            first = True
        for is_async in (False, True) if kind.is_async else (False,):
            with nullcontext() if silent or not first else pytest.warns(FilterNotSeenWarning, match="ContextAssembler"):
                query = query_for(tenant)
                result = (
                    asyncio.run(made.ainvoke(query, searching.config))
                    if is_async
                    else made.invoke(query, searching.config)
                )
            first = False
            text = text_of(result)
            expected = {2, 3, 4, 5, 6} if mode == "unfiltered" else {2, 4, 6}
            assert {index for index in range(9) if f"{tenant}-A-{index} " in text} == expected
            assert not [word for word in (*TENANTS, "-B-") if word != tenant and word in text]
            assert "secret" not in text


# A search without a filter, and a store over the same chunks or others


def over_both(kind: Kind, store: Any, **options: Any) -> ContextAssemblyRetriever:
    """The search is in a collection of our own, and has no filter."""
    options = {"config": CONFIG, **options}
    made = kind.own.as_retriever(search_kwargs={"k": 1})
    return ContextAssemblyRetriever(retriever=made, assembler=ContextAssembler(store=store, **options))


async def outcomes(kind: Kind, made: ContextAssemblyRetriever) -> list[str]:
    query = query_for("ours")
    return [text_of(made.invoke(query)), *([text_of(await made.ainvoke(query))] if kind.is_async else [])]


def by_index(text: str) -> set[int]:
    return {index for index in range(9) if f"ours-A-{index} " in text}


async def test_a_search_without_a_filter_vouches_for_no_store(kind: Kind) -> None:
    for store in (kind.neighbors(kind.shared), MemoryStore(chunks(SHARED))):
        with pytest.warns(FilterNotSeenWarning, match="'acl'.*filter=") as caught:
            found = await outcomes(kind, over_both(kind, store))
        assert len(caught) == 1
        for text in found:
            assert by_index(text) == {2, 4, 6}
            assert "theirs" not in text
            assert "secret" not in text


# One warning an object, and the lines that make it unneeded


def by_name(document_id: str, index: int) -> str:
    return f"ours-{document_id}-{index}"


@pytest.mark.parametrize("config", [None, {"configurable": {"filter": "other"}}])
def test_as_context_of_a_configurable_assembler_is_refused_since_it_would_not_follow_the_config(config: Any) -> None:
    made, which = ContextAssembler(), ConfigurableField("filter")
    many: list[Any] = [made.configurable_fields(filter=which), made.configurable_alternatives(which, other=made)]
    for each in [*many, many[0].configurable_alternatives(ConfigurableField("which"), other=made)]:
        with pytest.raises(ConfigError, match=r"give the filter of a call by as_context\(\)\.invoke"):
            each.with_config(config).as_context()
    assert isinstance(made.as_context().invoke([]), Context)  # only the copy is marked
