"""Neighbors pass the filter that is told: by the call, the assembler, or a vector store's retriever directly inside."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableBinding, RunnableLambda
from langchain_core.vectorstores import VectorStoreRetriever

from ctxassembly import AssemblyConfig
from ctxassembly.errors import ConfigError, FilterNotSeenWarning
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, VectorStoreNeighbors, answer_chain
from langchain_samples import Recorder, document, memory_store, vector_store

UNTOLD = pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")


CORPUS = [document("A", at, tenant="theirs" if at % 2 else "ours") for at in range(9)]
QUERY = CORPUS[4].page_content
CONFIG = AssemblyConfig(window=2, candidate_window=2, cite="document")


def ours(found: Document) -> bool:
    return bool(found.metadata["tenant"] == "ours")


def over(inside: Any, vectorstore: Any = None, **options: Any) -> ContextAssemblyRetriever:
    """Neighbors come from the vector store that is searched if it is given, else from documents handed over."""
    store = VectorStoreNeighbors(vectorstore) if vectorstore else memory_store(CORPUS)
    assembler = ContextAssembler(store=store, **options)
    return ContextAssemblyRetriever(retriever=inside, assembler=assembler)


def chunk_ids(found: list[Document]) -> list[str]:
    return [chunk_id for each in found for chunk_id in each.metadata["chunk_ids"]]


def a_plain_search(**options: Any) -> VectorStoreRetriever:
    return vector_store(CORPUS).as_retriever(search_kwargs={"k": 1, **options})


WRAPPED: dict[str, Callable[..., Any]] = {
    "a binding": lambda **options: a_plain_search().bind(**options),
    "configurable fields": lambda **options: a_plain_search(**options).configurable_fields(
        search_kwargs=ConfigurableField(id="search")
    ),
    "an ensemble in a retry": lambda **options: EnsembleRetriever(
        retrievers=[a_plain_search(**options)] * 2
    ).with_retry(),
    "a pipe": lambda **options: a_plain_search(**options) | RunnableLambda(lambda found: found),
}
"""What test_langchain_scope.py has in all forms."""


@UNTOLD
@pytest.mark.parametrize("wrapped", WRAPPED)
def test_there_it_is_told_to_the_assembler(wrapped: str) -> None:
    inside = WRAPPED[wrapped](filter=ours)
    assert chunk_ids(over(inside, filter=ours, config=CONFIG).invoke(QUERY)) == ["A#2", "A#4", "A#6"]
    assembler = ContextAssembler(store=memory_store(CORPUS), config=CONFIG)
    assert chunk_ids((inside | assembler.bind(filter=ours)).invoke(QUERY)) == ["A#2", "A#4", "A#6"]
    assert chunk_ids(assembler.invoke(inside.invoke(QUERY), filter=ours)) == ["A#2", "A#4", "A#6"]
    context = (inside | assembler.as_context(filter=ours)).invoke(QUERY)
    assert context.citations[0].chunk_ids == ("A#2", "A#4", "A#6")


class Derived(VectorStoreRetriever):
    """It may filter by itself."""


def test_the_filter_of_a_derived_retriever_is_not_read() -> None:
    inside = Derived(vectorstore=vector_store(CORPUS), search_kwargs={"k": 1, "filter": ours})
    with pytest.warns(FilterNotSeenWarning):
        found = over(inside, config=CONFIG).invoke(QUERY)
    assert chunk_ids(found) == ["A#2", "A#4", "A#6"]  # by their metadata


@pytest.mark.parametrize("wrapped", WRAPPED)
def test_a_filter_of_a_call_that_the_search_would_ignore_is_an_error(wrapped: str) -> None:
    inside = WRAPPED[wrapped]()
    with pytest.raises(
        ConfigError, match=r"directly inside, not \w+: give .* to the assembler, ContextAssembler\(filter="
    ):
        over(inside).invoke(QUERY, filter=ours)
    with pytest.raises(ConfigError, match="directly inside"):
        answer_chain(RunnableLambda(lambda _: "Yes [1]."), inside).invoke({"input": QUERY, "filter": ours})


def test_the_filter_of_the_call_and_of_the_assembler_both_hold() -> None:
    def is_early(found: Document) -> bool:
        return bool(found.metadata["chunk_index"] < 5)

    assembler = ContextAssembler(store=memory_store(CORPUS), filter=ours, config=CONFIG)
    assert chunk_ids(assembler.invoke([CORPUS[4]], filter=is_early)) == ["A#2", "A#4"]
    made = over(a_plain_search(filter=is_early), filter=ours, config=CONFIG)
    assert chunk_ids(made.invoke(QUERY)) == ["A#2", "A#4"]
    beside = over(a_plain_search(k=9, filter=ours), config=CONFIG)
    assert set(chunk_ids(beside.invoke(QUERY, filter=is_early))) == {"A#0", "A#2", "A#4"}


@UNTOLD
def test_a_config_that_only_a_call_can_make_is_not_asked_for_at_construction() -> None:
    vectorstore = vector_store(CORPUS)
    by_user: Any = {"us": {"k": 1, "filter": ours}}
    inside = RunnableBinding(
        bound=vectorstore.as_retriever().configurable_fields(search_kwargs=ConfigurableField(id="search")),
        config_factories=[lambda config: {"configurable": {"search": by_user[config["configurable"]["user"]]}}],
    )
    found = over(inside, config=CONFIG).invoke(QUERY, {"configurable": {"user": "us"}})
    assert chunk_ids(found) == ["A#2", "A#4", "A#6"]
    with pytest.raises(KeyError):
        over(inside).invoke(QUERY)


@UNTOLD
async def test_users_who_ask_at_the_same_time_get_their_own() -> None:
    vectorstore = vector_store(CORPUS)
    slow = RunnableLambda(lambda query: query, afunc=later)
    inside = vectorstore.as_retriever().configurable_fields(search_kwargs=ConfigurableField(id="search"))
    made = slow | over(inside, config=CONFIG)
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
