"""Our own nodes, wherever LlamaIndex hands them on: tests/adapters has what holds of any."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine, RouterQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever, RouterRetriever
from llama_index.core.schema import NodeWithScore
from llama_index.core.tools import QueryEngineTool, RetrieverTool

from ctxassembly import AssemblyConfig, Chunk, MemoryIndex, RetrievalConfig, Supplement
from llamaindex_ctxassembly import AnswerQueryEngine, ContextAssemblyPostprocessor, ContextRetriever
from llamaindex_samples import QUESTION, splitted

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")
OPEN = AssemblyConfig(neighbors="unfiltered")
TEXTS = [f"Rule {n} on ferritin tells of the morning, and of number {n}." for n in range(9)]


def indexed() -> ContextRetriever:
    chunks = [
        Chunk(f"{name}#{at}", name, f"{text} So says {name}.", at, metadata={"file_name": f"{name}.pdf"})
        for name in ("lab", "gastro")
        for at, text in enumerate(TEXTS)
    ]
    return ContextRetriever(MemoryIndex(chunks), config=RetrievalConfig(strategy="keyword", limit=2))


class First(BaseSelector):
    """Chooses the first of all."""

    def _select(self, choices: Any, query: Any) -> SelectorResult:
        return SelectorResult(selections=[SingleSelection(index=0, reason="It is the first.")])

    async def _aselect(self, choices: Any, query: Any) -> SelectorResult:
        return self._select(choices, query)

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: Any) -> None:
        """It has none."""


def check(found: list[NodeWithScore], expected: list[NodeWithScore]) -> None:
    assert [one.text for one in found] == [one.text for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.node.node_id == other.node.node_id
        assert one.metadata["chunk_ids"] == other.metadata["chunk_ids"]
        for name in ("source", "document_id", "pages", "reference"):
            assert one.metadata["citation"][name] == other.metadata["citation"][name]


@pytest.mark.parametrize("awaited", [False, True])
async def test_a_postprocessor_of_ours_twice_is_as_one(awaited: bool) -> None:
    """Nodes of LlamaIndex's own splitter, whose document is their SOURCE."""
    index = splitted()
    ours = ContextAssemblyPostprocessor.from_index(index, config=OPEN)
    retriever = index.as_retriever(similarity_top_k=4)
    twice = RetrieverQueryEngine.from_args(retriever, llm=MockLLM(), node_postprocessors=[ours, ours])
    once = RetrieverQueryEngine.from_args(retriever, llm=MockLLM(), node_postprocessors=[ours])
    expected = once.query(QUESTION).source_nodes
    assert max(len(one.metadata["chunk_ids"]) for one in expected) > 1
    check((await twice.aquery(QUESTION) if awaited else twice.query(QUESTION)).source_nodes, expected)


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("mode", ["reciprocal_rerank", "simple", "relative_score"])
async def test_a_fusion_over_ours_is_answered_from_the_chunks(mode: Any, awaited: bool) -> None:
    ours = indexed()
    fused = QueryFusionRetriever([ours, ours], llm=MockLLM(), num_queries=1, mode=mode, similarity_top_k=5)
    fused_engine = AnswerQueryEngine(MockLLM(), fused)
    response: Any = await fused_engine.aquery("ferritin 4") if awaited else fused_engine.query("ferritin 4")
    expected = ours.retrieve("ferritin 4")
    assert sorted(one.text.partition("\n")[2] for one in response.source_nodes) == sorted(
        one.text.partition("\n")[2] for one in expected
    )
    for one in response.source_nodes:
        assert one.text.count("Source: ") == 1
    found = {name for one in response.source_nodes for name in one.metadata["chunk_ids"]}
    assert found == {name for one in expected for name in one.metadata["chunk_ids"]}


def test_a_router_that_chooses_an_engine_of_ours_hands_on_its_nodes() -> None:
    ours = indexed()
    tool = QueryEngineTool.from_defaults(RetrieverQueryEngine.from_args(ours, llm=MockLLM()), description="All rules.")
    again = ContextAssemblyPostprocessor(config=OPEN)
    router = RouterQueryEngine(selector=First(), query_engine_tools=[tool], llm=MockLLM())
    expected = ours.retrieve("ferritin 4")
    check(again.postprocess_nodes(router.query("ferritin 4").source_nodes, query_str="ferritin 4"), expected)
    routed = RouterRetriever(
        selector=First(), llm=MockLLM(), retriever_tools=[RetrieverTool.from_defaults(ours, description="Rules.")]
    )
    check(AnswerQueryEngine(MockLLM(), routed).query("ferritin 4").source_nodes, expected)


def test_a_supplement_comes_in_again_as_one() -> None:
    index = splitted()
    nodes = index.as_retriever(similarity_top_k=4).retrieve(QUESTION)
    first = ContextAssemblyPostprocessor(config=OPEN, supplement=Supplement("The tax is due.")).postprocess_nodes(nodes)
    again = ContextAssemblyPostprocessor(config=OPEN).postprocess_nodes(first)
    assert [one.text for one in again] == [one.text for one in first]
    assert again[-1].node.node_id == "supplement"
