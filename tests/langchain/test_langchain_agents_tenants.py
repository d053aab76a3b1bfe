"""An agent for many users: each one's filter holds for neighbors, too.

Two tenants have documents of the same ids and file names. Even chunks are open, odd ones secret: with a window of two
the neighbors of chunk 4 that may be read are 2 and 6, and they have to come in.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from agent_samples import Scripted, asked, calls, index, pages, search
from ctxassembly import AssemblyConfig, FilterNotSeenWarning, resolve
from langchain_ctxassembly import ContextAssembler, ContextMiddleware, VectorStoreNeighbors, contexts_in, number_chunks
from langchain_samples import WORDS

TENANTS = ("ours", "theirs")


@dataclass
class User:
    tenant: str


def chunk(tenant: str, index: int) -> Document:
    name, acl = f"{tenant}-A-{index}", "secret" if index % 2 else "open"
    return Document(
        id=name,
        page_content=f"{name} is {acl} and tells of {WORDS[index]}.",
        metadata={"document_id": "A", "chunk_index": index, "source": "A.pdf", "tenant": tenant, "acl": acl},
    )


def condition(tenant: str) -> Any:
    return lambda document: document.metadata["tenant"] == tenant and document.metadata["acl"] == "open"


@pytest.fixture
def vectorstore() -> Any:
    return index(*(chunk(tenant, number) for tenant in TENANTS for number in range(9)))


def assembler(vectorstore: Any) -> ContextAssembler:
    def names(document_id: str, index: int) -> list[str]:
        return [f"{tenant}-{document_id}-{index}" for tenant in TENANTS]

    return ContextAssembler(config=AssemblyConfig(window=2), store=VectorStoreNeighbors(vectorstore, id_of=names))


def tool_of(vectorstore: Any) -> Any:
    """A tool that filters by the user of the call, as nobody can see from outside."""

    @tool("search", response_format="content_and_artifact")
    def search_own(query: str, runtime: ToolRuntime[User]) -> Any:
        """Searches."""
        found = vectorstore.similarity_search(query, k=1, filter=condition(runtime.context.tenant))
        return "", found

    return search_own


def said(context: Any) -> set[str]:
    return set(context.citations[0].chunk_ids)


async def run(graph: Any, tenant: str, config: Any = None) -> Any:
    state = await graph.ainvoke(asked("What of it?"), config, context=User(tenant))
    return contexts_in(state["messages"])[0]


def model(*tenants: str) -> Scripted:
    """Asks for chunk 4, whoever its user is."""
    return Scripted(*[each for _ in tenants for each in (calls(f"tells of {WORDS[4]}"), AIMessage("Done [1]."))])


@pytest.mark.parametrize("awaited", [True, False])
async def test_neighbors_obey_the_filter_of_the_runtime(vectorstore: Any, awaited: bool) -> None:
    middleware = ContextMiddleware(
        assembler(vectorstore), filter=lambda runtime: condition(runtime.context.tenant), tools=["search"]
    )
    graph = create_agent(model(*TENANTS), [tool_of(vectorstore)], middleware=[middleware], context_schema=User)
    for tenant in TENANTS:
        if awaited:
            context = await run(graph, tenant)
        else:
            context = contexts_in(graph.invoke(asked("?"), context=User(tenant))["messages"])[0]
        assert said(context) == {f"{tenant}-A-{number}" for number in (2, 4, 6)}


async def test_two_users_at_the_same_time_have_each_their_own(vectorstore: Any) -> None:
    middleware = ContextMiddleware(
        assembler(vectorstore), filter=lambda runtime: condition(runtime.context.tenant), tools=["search"]
    )
    graphs = {
        tenant: create_agent(model(tenant), [tool_of(vectorstore)], middleware=[middleware], context_schema=User)
        for tenant in TENANTS
    }
    contexts = await asyncio.gather(*(run(graphs[tenant], tenant) for tenant in TENANTS))
    for tenant, context in zip(TENANTS, contexts, strict=True):
        assert all(each.startswith(tenant) for each in said(context))


async def test_without_a_filter_neighbors_agree_with_their_hit(vectorstore: Any) -> None:
    graph = create_agent(
        model(*TENANTS),
        [tool_of(vectorstore)],
        middleware=[ContextMiddleware(assembler(vectorstore), tools=["search"])],
        context_schema=User,
    )
    with pytest.warns(FilterNotSeenWarning):
        context = await run(graph, "ours")
    assert said(context) == {f"ours-A-{number}" for number in (2, 4, 6)}
    assert said(await run(graph, "theirs")) == {f"theirs-A-{number}" for number in (2, 4, 6)}  # it warns once


async def test_neighbors_come_only_from_a_store() -> None:
    documents = number_chunks(pages("leaflet.pdf", 6))
    store = index(*documents)
    tools = [search(store.as_retriever(search_kwargs={"k": 1}))]
    for given, most in ((None, 1), (VectorStoreNeighbors(store), 3)):
        middleware = ContextMiddleware(
            ContextAssembler(config=AssemblyConfig(window=1, neighbors="unfiltered"), store=given), tools=["search"]
        )
        graph = create_agent(Scripted(calls("topic2"), AIMessage("Done.")), tools, middleware=[middleware])
        (context,) = contexts_in((await graph.ainvoke(asked("?")))["messages"])
        assert len(said(context)) == most


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")
async def test_an_ensemble_in_a_retry_in_a_tool_is_a_retriever_like_any() -> None:
    """An ordinary index: random ids, `source` and `page`, and no index of chunks."""
    before, after = index(*pages("before.pdf")), index(*pages("after.pdf"))
    ensemble = EnsembleRetriever(
        retrievers=[store.as_retriever(search_kwargs={"k": 3}) for store in (before, after)], weights=[0.5, 0.5]
    ).with_retry()
    answers = [calls("topic1 before1", "topic1 after1"), AIMessage("Both [1] and [2].")]
    graph = create_agent(Scripted(*answers), [search(ensemble)], middleware=[ContextMiddleware(tools=["search"])])
    state = await graph.ainvoke(asked("What is topic1?"))
    (context,) = contexts_in(state["messages"])
    assert {each.source for each in context.citations} == {"before.pdf", "after.pdf"}
    assert context.text.count("Page 1 of before.pdf") == context.text.count("Page 1 of after.pdf") == 1
    resolved = resolve(state["messages"][-1].text, state["messages"])
    assert {each.source for each in resolved.citations} == {"before.pdf", "after.pdf"}
