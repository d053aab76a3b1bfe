"""Where the search of a call can be seen, and where it can't: without a search, by its configs and arguments alone."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_classic.retrievers import ContextualCompressionRetriever, MultiQueryRetriever
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableBinding, RunnableLambda, RunnablePassthrough
from langchain_core.runnables.retry import RunnableRetry
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore, VectorStoreRetriever

from ctxassembly import AssemblyConfig
from ctxassembly.errors import ConfigError, InputError
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, VectorStoreNeighbors
from langchain_ctxassembly.search import ScoredRetriever, VisibleSearch, ambient_config, current_search
from langchain_samples import Recorder, WordEmbeddings, document, memory_store, vector_store

STORE = vector_store([])
FILTER = {"tenant": "ours"}


def retriever(**options: Any) -> VectorStoreRetriever:
    return VectorStoreRetriever(vectorstore=STORE, search_kwargs=options)


class Unchanged(BaseDocumentCompressor):
    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        return documents


def compressing(inside: Any) -> Any:
    return ContextualCompressionRetriever(base_compressor=Unchanged(), base_retriever=inside)


PER_USER = retriever().configurable_fields(search_kwargs=ConfigurableField(id="search"))
CONFIG: Any = {"configurable": {"search": {"filter": FILTER}}}


@pytest.mark.parametrize(
    ("found", "config"),
    [
        (retriever(filter=FILTER), None),
        (ScoredRetriever(vectorstore=STORE, search_kwargs={"filter": FILTER}), None),
        (retriever().bind(filter=FILTER), None),
        (retriever(filter={"tenant": "theirs"}).bind(filter=FILTER), None),  # a call's argument counts
        (retriever(filter={"tenant": "theirs"}).bind(filter={}).bind(filter=FILTER), None),  # the last one bound
        (retriever(filter=FILTER).with_retry().with_config(tags=["x"]).with_types(), None),
        (PER_USER, CONFIG),
        (PER_USER.with_config(CONFIG), None),
        (PER_USER.with_config(configurable={"search": {}}).with_retry(), CONFIG),  # the call's config counts
        (RunnableBinding(bound=PER_USER, config_factories=[lambda _: CONFIG]), None),
        (RunnableRetry(bound=PER_USER, config=CONFIG), None),
        (
            retriever().configurable_alternatives(ConfigurableField("whose"), prefix_keys=True, ours=lambda: PER_USER),
            {"configurable": {"whose": "ours", "whose==ours/search": {"filter": FILTER}}},
        ),
        (compressing(retriever(filter=FILTER)), None),
        (compressing(retriever()).bind(filter=FILTER), None),
        (compressing(compressing(retriever(filter=FILTER).with_retry())), None),
        (MultiQueryRetriever(retriever=retriever(filter=FILTER), llm_chain=RunnablePassthrough()), None),
    ],
)
def test_the_filter_of_the_call_is_found(found: Any, config: Any) -> None:
    assert current_search(found, config) == VisibleSearch(STORE, FILTER, is_exhaustive=True)


def test_a_search_without_a_filter_is_seen_to_have_none() -> None:
    for none in (None, {}, [], ""):
        assert current_search(retriever(filter=none, k=3)) == VisibleSearch(STORE, None, is_exhaustive=True)
    assert current_search(retriever(filter=FILTER).bind(filter=None)) == VisibleSearch(STORE, None, is_exhaustive=True)
    assert current_search(PER_USER) == VisibleSearch(STORE, None, is_exhaustive=True)


class Derived(VectorStoreRetriever):
    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        raise NotImplementedError


class DerivedAsync(VectorStoreRetriever):
    async def _aget_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        raise NotImplementedError


class DerivedInvoke(VectorStoreRetriever):
    def invoke(self, *_: Any, **__: Any) -> list[Document]:
        raise NotImplementedError


class Named(VectorStoreRetriever):
    """One's own, that leaves the search as it is."""


@pytest.mark.parametrize(
    "unseen",
    [
        RunnableLambda(lambda query: []),
        retriever(filter=FILTER) | RunnableLambda(lambda found: found),
        RunnablePassthrough() | retriever(filter=FILTER),
        retriever(filter=FILTER).with_fallbacks([retriever()]),
        *(kind(vectorstore=STORE, search_kwargs={"filter": FILTER}) for kind in (Derived, DerivedAsync, DerivedInvoke)),
        MultiQueryRetriever(retriever=retriever(), llm_chain=RunnablePassthrough()).bind(filter=FILTER),  # it drops it
    ],
)
def test_what_may_search_in_any_way_is_not_seen(unseen: Any) -> None:
    assert current_search(unseen) is None


def test_a_derived_retriever_that_leaves_the_search_alone_is_seen() -> None:
    assert current_search(Named(vectorstore=STORE, search_kwargs={"filter": FILTER})) == VisibleSearch(STORE, FILTER)


def test_a_retriever_inside_another_gets_no_config_but_the_ambient_one() -> None:
    assert current_search(compressing(PER_USER), CONFIG) is None
    with ambient_config(CONFIG):
        assert current_search(compressing(PER_USER), CONFIG) == VisibleSearch(STORE, FILTER)
        assert (
            current_search(compressing(PER_USER), {"configurable": {"search": {"filter": {"tenant": "theirs"}}}})
            is None
        )


@pytest.mark.parametrize("name", ["where_document", "namespace", "expr", "pre_filter", "where", "search_filter", "raw"])
def test_an_argument_that_is_not_known_may_filter_too(name: str) -> None:
    assert current_search(retriever(filter=FILTER, **{name: "x"})) == VisibleSearch(STORE, FILTER, is_exhaustive=False)
    assert current_search(retriever().bind(**{name: "x"})) == VisibleSearch(STORE, None, is_exhaustive=False)


class OwnStore(InMemoryVectorStore):
    """Keeps its callers apart by itself."""

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return super().similarity_search(query, k, filter=lambda each: each.metadata["tenant"] == "ours")


def test_so_may_a_vector_store_of_ones_own() -> None:
    own = OwnStore(WordEmbeddings())
    assert current_search(own.as_retriever()) == VisibleSearch(own, None, is_exhaustive=False)


def test_the_filter_is_that_of_the_call_whatever_is_changed_meanwhile() -> None:
    condition: dict[str, Any] = {"tenant": {"$in": ["ours"]}}
    found = retriever(filter=condition)
    search = current_search(found)
    condition["tenant"]["$in"][0] = "theirs"
    assert search
    assert search.filter == {"tenant": {"$in": ["ours"]}}


# Through the retriever


CORPUS = [document("A", at, tenant="theirs" if at % 2 else "ours") for at in range(9)]
QUERY = CORPUS[4].page_content


def ours(found: Document) -> bool:
    return bool(found.metadata["tenant"] == "ours")


def over(inside: Any, vectorstore: Any = None, **options: Any) -> ContextAssemblyRetriever:
    """Neighbors come from the vector store that is searched if it is given, else from documents handed over."""
    store = VectorStoreNeighbors(vectorstore) if vectorstore else memory_store(CORPUS)
    assembler = ContextAssembler(store=store, **options)
    return ContextAssemblyRetriever(retriever=inside, assembler=assembler)


def chunk_ids(found: list[Document]) -> list[str]:
    return [chunk_id for each in found for chunk_id in each.metadata["chunk_ids"]]


@pytest.mark.parametrize(
    "wrapped", [lambda inside: inside, compressing, lambda inside: compressing(compressing(inside))]
)
async def test_the_config_of_the_call_reaches_the_search_and_its_neighbors(wrapped: Callable[[Any], Any]) -> None:
    vectorstore = vector_store(CORPUS)
    inside = VectorStoreRetriever(vectorstore=vectorstore, search_kwargs={"k": 1}).configurable_fields(
        search_kwargs=ConfigurableField(id="search")
    )
    made = over(wrapped(inside), vectorstore)
    config: Any = {"configurable": {"search": {"k": 1, "filter": ours}}, "run_name": "outer"}
    foreign = CORPUS[5].page_content
    for found in (made.invoke(foreign, config), await made.ainvoke(foreign, config), made.batch([foreign], config)[0]):
        assert all(ours(CORPUS[int(each[-1])]) for each in chunk_ids(found))
    assert chunk_ids(made.invoke(foreign)) == ["A#4", "A#5", "A#6"]


async def test_a_filter_given_to_a_call_holds_for_that_call() -> None:
    vectorstore = vector_store(CORPUS)
    made = over(vectorstore.as_retriever(search_kwargs={"k": 1}), vectorstore)
    for _ in range(2):
        assert chunk_ids(made.invoke(QUERY, filter=ours)) == ["A#4"]
        assert chunk_ids(await made.ainvoke(QUERY, filter=ours)) == ["A#4"]
        assert chunk_ids(made.invoke(QUERY)) == ["A#3", "A#4", "A#5"]


def test_a_filter_given_to_a_call_that_would_ignore_it_is_an_error() -> None:
    vectorstore = vector_store(CORPUS)
    dropping = MultiQueryRetriever(retriever=vectorstore.as_retriever(), llm_chain=RunnablePassthrough())
    for inside in (vectorstore.as_retriever() | RunnableLambda(lambda found: found), dropping):
        with pytest.raises(InputError, match=r"where the search can be seen .*: give it to the assembler"):
            over(inside).invoke(QUERY, filter=ours)


def test_a_config_that_only_a_call_can_make_is_not_asked_for_at_construction() -> None:
    vectorstore = vector_store(CORPUS)
    by_user: Any = {"us": {"k": 1, "filter": ours}}
    inside = RunnableBinding(
        bound=vectorstore.as_retriever().configurable_fields(search_kwargs=ConfigurableField(id="search")),
        config_factories=[lambda config: {"configurable": {"search": by_user[config["configurable"]["user"]]}}],
    )
    assert chunk_ids(over(inside).invoke(QUERY, {"configurable": {"user": "us"}})) == ["A#4"]
    with pytest.raises(KeyError):
        over(inside).invoke(QUERY)


async def test_users_who_ask_at_the_same_time_get_their_own() -> None:
    vectorstore = vector_store(CORPUS)
    slow = RunnableLambda(lambda query: query, afunc=later)
    made = slow | over(vectorstore.as_retriever().configurable_fields(search_kwargs=ConfigurableField(id="search")))
    users = ["ours", "theirs"] * 10

    def options(user: str) -> Any:
        return {"k": 1, "filter": lambda each: each.metadata["tenant"] == user}

    configs: list[Any] = [{"configurable": {"search": options(user)}} for user in users]
    found = await asyncio.gather(*(made.ainvoke(QUERY, config) for config in configs))
    assert {len(each) for each in found} == {1}
    assert [each[0].metadata["tenant"] for each in found] == users
    assert all(
        int(chunk_id[-1]) % 2 == (user == "theirs")
        for user, each in zip(users, found, strict=True)
        for chunk_id in chunk_ids(each)
    )


async def later(query: str) -> str:
    await asyncio.sleep(0)
    return query


# Whatever is built: what was predicted is what the vector store was asked


class Asked(VectorStore):
    """Finds one document, and notes the filter of each search."""

    def __init__(self) -> None:
        self.filters: list[Any] = []

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        self.filters.append(kwargs.get("filter"))
        return [CORPUS[4]]

    @classmethod
    def from_texts(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


Asked.__module__ = "langchain_core.vectorstores"  # one of one's own might filter by itself


@dataclass(frozen=True)
class Noting:
    """A store that applies a filter itself, and notes with which it was asked."""

    vectorstore: Any
    asked: list[Any]
    filter: Any = None

    def fetch(self, refs: Any) -> list[Any]:
        self.asked.append(self.filter)
        return []


FILTERS = [None, {"tenant": "a"}, {"tenant": "b"}, {"tenant": "c"}]
IDS = ["one", "two"]
filters = st.sampled_from(FILTERS)
configs = st.dictionaries(st.sampled_from(IDS), filters.map(lambda each: {"filter": each}), max_size=2).map(
    lambda each: {"configurable": each}
)


plain_wrappers = st.sampled_from(
    [
        lambda made: made.with_retry(),
        lambda made: made.with_types(),
        compressing,
        lambda made: (
            MultiQueryRetriever(retriever=made, llm_chain=RunnableLambda(lambda given: [given["question"]]))
            if isinstance(made, BaseRetriever)
            else made
        ),
    ]
)
wrappers = st.lists(
    st.one_of(
        plain_wrappers,
        filters.map(lambda each: lambda made: made.bind(filter=each)),
        configs.map(lambda each: lambda made: made.with_config(each)),
        configs.map(lambda each: lambda made: RunnableBinding(bound=made, config_factories=[lambda _: each])),
    ),
    max_size=6,
)
leaves = st.builds(
    lambda condition, name: (
        lambda corpus: (
            VectorStoreRetriever(vectorstore=corpus, search_kwargs={"filter": condition}).configurable_fields(
                search_kwargs=ConfigurableField(id=name)
            )
            if name
            else VectorStoreRetriever(vectorstore=corpus, search_kwargs={"filter": condition})
        )
    ),
    filters,
    st.sampled_from([None, *IDS]),
)


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")  # the store is empty
def test_neighbors_are_asked_for_under_the_filter_that_the_search_had() -> None:
    seen = []

    @given(leaf=leaves, wraps=wrappers, config=configs, outer=configs)
    @settings(max_examples=100, deadline=None)
    def check(leaf: Any, wraps: Any, config: Any, outer: Any) -> None:
        corpus = Asked()
        store = Noting(corpus, [])
        made: Any = ContextAssemblyRetriever(
            retriever=reduce(lambda inner, wrap: wrap(inner), wraps, leaf(corpus)),
            assembler=ContextAssembler(store=store, config=AssemblyConfig(neighbors="filtered")),
        )
        chain = RunnablePassthrough() | made.with_config(outer)
        for run in (lambda: chain.invoke(QUERY, config), lambda: asyncio.run(chain.ainvoke(QUERY, config))):
            corpus.filters.clear()
            store.asked.clear()
            with suppress(ConfigError):  # where the search can't be seen or has no filter
                run()
            (had,) = corpus.filters
            assert store.asked in ([had], [])
            if had:
                seen.append(bool(store.asked))

    check()
    assert sum(seen) > len(seen) / 2


class OnesOwn(BaseRetriever):
    """Calls another without a word about the config, as many do."""

    inside: Any

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        found: list[Document] = self.inside.invoke(query)
        return found

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        found: list[Document] = await self.inside.ainvoke(query)
        return found


async def test_the_name_and_id_of_a_run_are_its_own() -> None:
    made = over(OnesOwn(inside=vector_store(CORPUS).as_retriever(search_kwargs={"k": 1})), neighbors="unfiltered")
    for is_async in (False, True):
        recorder, run_id = Recorder(), uuid.uuid4()
        config: Any = {"callbacks": [recorder], "run_name": "outer", "run_id": run_id}
        if is_async:
            await made.ainvoke(QUERY, config)
        else:
            made.invoke(QUERY, config)
        assert run_id not in {each for each, (name, _) in recorder.runs.items() if name != "outer"}
        assert recorder.parents() == {
            "outer": None, "OnesOwn": "outer", "VectorStoreRetriever": "outer", "ContextAssembler": "outer"
        }  # fmt: skip
