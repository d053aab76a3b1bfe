"""ContextRetriever wherever LlamaIndex takes a retriever: engines, fusion, routers, chats, tools; many at once."""

from __future__ import annotations

import asyncio
import copy
import pickle
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import RetrieverQueryEngine, RouterQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever, RouterRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
from llama_index.core.tools import QueryEngineTool, RetrieverTool

from ctxassembly import Chunk, MemoryIndex
from llamaindex_ctxassembly import ContextRetriever
from llamaindex_samples import WordEmbedding

SUBJECTS = {"north": "granite", "south": "falcon", "east": "copper", "west": "willow"}
QUERY = "Where are granite and falcon seen, on page 3?"
embed = WordEmbedding().get_query_embedding


def pages(tenant: str) -> list[Chunk]:
    """Chunks as most people have them: uuid ids, `file_name` and `page_label`, no index but an offset."""
    texts = [
        f"On page {page}, line {line}, the {SUBJECTS[tenant]} of {tenant} is seen."
        for page in range(1, 5)
        for line in range(6)
    ]
    return [
        Chunk(
            str(uuid.uuid5(uuid.NAMESPACE_DNS, text)),
            f"{tenant}.pdf",
            text,
            start=at * 100,
            metadata={"file_name": f"{tenant}.pdf", "page_label": str(1 + at // 6), "tenant": tenant},
        )
        for at, text in enumerate(texts)
    ]


CHUNKS = [chunk for tenant in SUBJECTS for chunk in pages(tenant)]
INDEX = MemoryIndex(CHUNKS, [embed(chunk.text) for chunk in CHUNKS])


@pytest.fixture
def retriever() -> ContextRetriever:
    return ContextRetriever(INDEX, embed, similarity_top_k=6)


def read(found: list[NodeWithScore]) -> list[tuple[str, str, Any]]:
    """All that a reader gets; the times in the trace differ from call to call."""
    return [(one.node_id, one.node.get_content(MetadataMode.LLM), one.node.metadata["citation"]) for one in found]


def tenants(found: list[NodeWithScore]) -> set[str]:
    return {one.node.metadata["tenant"] for one in found}


def test_labels_name_file_and_page_and_nodes_keep_the_ids(retriever: ContextRetriever) -> None:
    found = retriever.with_filter({"tenant": "north"}).retrieve("granite on page 2")
    assert found[0].text.startswith("[1] Source: north.pdf, page")
    assert {one.node_id for one in found} <= {chunk.id for chunk in CHUNKS}


@pytest.mark.parametrize("streaming", [False, True])
async def test_an_engine_of_a_user_reads_the_context(retriever: ContextRetriever, streaming: bool) -> None:
    held = retriever.with_filter({"tenant": "south"})
    engine = RetrieverQueryEngine.from_args(held, llm=MockLLM(), streaming=streaming)  # it says what it is asked
    for awaited in (False, True):
        response = await engine.aquery(QUERY) if awaited else engine.query(QUERY)
        said = str(response) if not streaming else await streamed(response)
        assert held.context(QUERY).text in said
        assert read(response.source_nodes) == read(held.retrieve(QUERY))


async def streamed(response: Any) -> str:
    if hasattr(response, "async_response_gen"):
        return "".join([token async for token in response.async_response_gen()])
    return "".join(response.response_gen)


def memory() -> ChatMemoryBuffer:
    """Without a database, which LlamaIndex leaves open."""
    return ChatMemoryBuffer.from_defaults(token_limit=9_999)


@pytest.mark.parametrize("kind", [ContextChatEngine, CondensePlusContextChatEngine])
async def test_a_chat_reads_the_context(retriever: ContextRetriever, kind: Any) -> None:
    held = retriever.with_filter({"tenant": "south"})
    text = held.context(QUERY).text
    for awaited in (False, True):
        chat = kind.from_defaults(retriever=held, llm=MockLLM(), memory=memory())
        response = await chat.achat(QUERY) if awaited else chat.chat(QUERY)
        assert text in str(response)
        assert tenants(response.source_nodes) == {"south"}
    streaming = kind.from_defaults(retriever=held, llm=MockLLM(), memory=memory()).stream_chat(QUERY)
    assert text in "".join(streaming.response_gen)


class _Second(BaseSelector):
    def _select(self, choices: Any, query: QueryBundle) -> SelectorResult:
        return SelectorResult(selections=[SingleSelection(index=1, reason="of the south")])

    async def _aselect(self, choices: Any, query: QueryBundle) -> SelectorResult:
        return self._select(choices, query)

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: Any) -> None: ...


async def test_a_router_chooses_among_engines_and_among_retrievers(retriever: ContextRetriever) -> None:
    held = [retriever.with_filter({"tenant": tenant}) for tenant in ("north", "south")]
    engines = [
        QueryEngineTool.from_defaults(
            RetrieverQueryEngine.from_args(one, llm=MockLLM()), name=f"n{at}", description="d"
        )
        for at, one in enumerate(held)
    ]
    router = RouterQueryEngine(selector=_Second(), query_engine_tools=engines, llm=MockLLM())
    for response in (router.query(QUERY), await router.aquery(QUERY)):
        assert held[1].context(QUERY).text in str(response)
        assert tenants(response.source_nodes) == {"south"}
    tools = [RetrieverTool.from_defaults(one, name=f"n{at}", description="d") for at, one in enumerate(held)]
    retrievers = RouterRetriever(selector=_Second(), retriever_tools=tools, llm=MockLLM())
    expected = read(held[1].retrieve(QUERY))
    assert sorted(read(retrievers.retrieve(QUERY)), key=str) == sorted(expected, key=str)
    assert sorted(read(await retrievers.aretrieve(QUERY)), key=str) == sorted(expected, key=str)


async def test_fusion_joins_it_with_others(retriever: ContextRetriever) -> None:
    held = [retriever.with_filter({"tenant": tenant}) for tenant in ("north", "south")]
    fusion = QueryFusionRetriever(
        [*held], llm=MockLLM(), num_queries=1, mode=FUSION_MODES.RECIPROCAL_RANK, similarity_top_k=9
    )
    for found in (fusion.retrieve(QUERY), await fusion.aretrieve(QUERY)):
        assert tenants(found) == {"north", "south"}
        assert {one.text for one in found} == {one.text for each in held for one in each.retrieve(QUERY)}


async def test_a_tool_gives_the_context(retriever: ContextRetriever) -> None:
    held = retriever.with_filter({"tenant": "south"})
    tool = RetrieverTool.from_defaults(held, name="search", description="Searches.")
    text = held.context(QUERY).text
    for output in (tool(QUERY), await tool.acall(QUERY)):
        assert "".join(output.content.split()) == "".join(text.split())  # and nothing of the metadata
        assert read(output.raw_output) == read(held.retrieve(QUERY))


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))],
    ids=["copy", "deep", "pickle"],
)
def test_a_copy_finds_the_same(copied: Callable[[ContextRetriever], ContextRetriever]) -> None:
    held = ContextRetriever(INDEX, WordEmbedding(), similarity_top_k=6).with_filter({"tenant": "south"})
    again = copied(held)
    assert read(again.retrieve(QUERY)) == read(held.retrieve(QUERY))
    assert tenants(again.with_filter({"page_label": "3"}).retrieve(QUERY)) == {"south"}


class TestAtOnce:
    """One retriever serves many users at the same time: a call changes nothing for another."""

    CALLS = tuple((tenant, k) for k in (1, 3, 6, 9, 20) for tenant in SUBJECTS) * 10

    def expected(self, retriever: ContextRetriever) -> dict[tuple[str, int], str]:
        found = {
            (tenant, k): retriever.context(QUERY, filters={"tenant": tenant}, similarity_top_k=k)
            for tenant, k in set(self.CALLS)
        }
        for (tenant, k), context in found.items():
            assert context.trace.hits == k
            assert not any(name in context.text for name in SUBJECTS.keys() - {tenant})
        return {call: context.text for call, context in found.items()}

    def test_threads(self, retriever: ContextRetriever) -> None:
        expected, before = self.expected(retriever), retriever.context(QUERY).text

        def call(given: tuple[str, int]) -> bool:
            tenant, k = given
            context = retriever.context(QUERY, filters={"tenant": tenant}, similarity_top_k=k)
            assert tenants(retriever.with_filter({"tenant": tenant}).retrieve(QUERY)) == {tenant}
            return context.text == expected[given]

        with ThreadPoolExecutor(32) as threads:
            assert all(threads.map(call, self.CALLS))
        assert retriever.context(QUERY).text == before

    async def test_tasks(self, retriever: ContextRetriever) -> None:
        expected, before = self.expected(retriever), retriever.context(QUERY).text
        assert len(self.CALLS) == 200
        found = await asyncio.gather(
            *(retriever.acontext(QUERY, filters={"tenant": tenant}, similarity_top_k=k) for tenant, k in self.CALLS)
        )
        assert [context.text for context in found] == [expected[call] for call in self.CALLS]
        assert retriever.context(QUERY).text == before
