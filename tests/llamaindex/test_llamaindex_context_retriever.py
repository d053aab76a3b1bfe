"""ContextRetriever in query engines: an index in memory, retrievers of other makes, filters, rerankers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from ctxassembly import (
    AssemblyConfig,
    Chunk,
    ConfigError,
    MemoryIndex,
    Node,
    Relation,
    RetrievalConfig,
    SearchError,
    Taxonomy,
)
from ctxassembly.assembly.choosing.supplement import Situation
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, ContextRetriever
from llamaindex_samples import TEXTS, WordEmbedding

CHUNKS = [
    Chunk(f"{name}-{at}", name, text, at, metadata={"file_name": f"{name}.txt", "tenant": tenant})
    for name, tenant in (("valley", "x"), ("lake", "y"))
    for at, text in enumerate(TEXTS)
]
QUERY = "Who carried the dye across the lake?"


embed = WordEmbedding().get_query_embedding
INDEX = MemoryIndex(CHUNKS, [embed(chunk.text) for chunk in CHUNKS])


def test_a_query_engine_reads_the_context() -> None:
    engine = RetrieverQueryEngine.from_args(ContextRetriever(INDEX, embed, similarity_top_k=2), llm=MockLLM())
    answer = engine.query(QUERY)
    first = answer.source_nodes[0]
    assert first.node.metadata["citation"]["label"] == "1"
    assert "Smugglers carried the dye across the lake by night." in first.text
    assert "[1] Source: " in str(answer)


def test_awaited_it_gives_the_same() -> None:
    retriever = ContextRetriever(INDEX, embed)
    texts = [node.text for node in retriever.retrieve(QUERY)]
    assert texts == [node.text for node in asyncio.run(retriever.aretrieve(QUERY))]
    assert retriever.context(QUERY).text == "\n\n".join(texts)
    assert asyncio.run(retriever.ahits(QUERY)).hits == retriever.hits(QUERY).hits


@pytest.mark.parametrize("strategy", ["hybrid", "vector", "keyword"])
def test_filters_hold_in_every_channel_and_for_neighbours(strategy: Any) -> None:
    config = RetrievalConfig(strategy=strategy)
    found = ContextRetriever(INDEX, embed, config=config, filters={"tenant": "x"}).retrieve(QUERY)
    assert {node.metadata["tenant"] for node in found} == {"x"}
    assert ContextRetriever(INDEX, embed, config=config, filters={"tenant": "z"}).retrieve(QUERY) == []


def test_filters_need_a_store_that_can_be_held_to_them() -> None:
    class Plain:
        def fetch(self, refs: Any) -> list[Chunk]:
            return []

    own = ContextAssemblyPostprocessor(store=Plain())
    with pytest.raises(ConfigError, match=r"postprocessor\.filter must be given"):
        ContextRetriever(INDEX, embed, postprocessor=own, filters={"tenant": "x"})


class TestChannels:
    nodes = [TextNode(id_=chunk.id, text=chunk.text, metadata=dict(chunk.metadata)) for chunk in CHUNKS]  # noqa: RUF012

    def retriever(self) -> Any:
        return VectorStoreIndex(self.nodes, embed_model=WordEmbedding()).as_retriever()

    def test_a_vector_index_may_serve_the_vectors(self) -> None:
        retriever = ContextRetriever(INDEX, channels={"vector": self.retriever()}, similarity_top_k=3)
        best = retriever.hits(QUERY).found[0]
        assert "Smugglers" in best.chunk.text
        assert set(best.channels) == {"vector", "keyword"}

    def test_it_gets_the_number_of_chunks_and_the_filters_of_the_call(self) -> None:
        own = self.retriever()
        filters = MetadataFilters(filters=[MetadataFilter(key="tenant", value="y")])
        config = RetrievalConfig(strategy="vector", limit=5)
        found = ContextRetriever(channels={"vector": own}, config=config, filters=filters).hits(QUERY).found
        assert [one.chunk.metadata["tenant"] for one in found] == ["y"] * 5
        assert own._similarity_top_k == 2  # as it was
        assert own._filters is None

    def test_others_are_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"channels\['vector'\] must be a LlamaIndex retriever or a function"):
            ContextRetriever(channels={"vector": 7})  # type: ignore[dict-item]

    def test_all_failing_is_one_error(self) -> None:
        def down(*_: Any) -> Any:
            raise ConnectionError("no route")

        with pytest.raises(SearchError, match="no channel answered"):
            ContextRetriever(channels={"vector": down, "keyword": down}).retrieve(QUERY)


class _LastFirst(BaseNodePostprocessor):
    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return [NodeWithScore(node=node.node, score=1 / (1 + at)) for at, node in enumerate(reversed(nodes))]


def test_a_postprocessor_reranks() -> None:
    plain = ContextRetriever(INDEX, embed).hits(QUERY)
    fused = next(step for step in plain.trace.steps if step.name == "fuse").ids
    found = ContextRetriever(INDEX, embed, rerankers=[_LastFirst()]).hits(QUERY).found
    assert [one.chunk.id for one in found] == list(reversed(fused))[: len(found)]
    assert found[0].rerank_score == 1.0


def test_a_conversation_that_changes_the_filter_makes_a_retriever_of_each_user() -> None:
    found = {user: ContextRetriever(INDEX, embed, filters={"tenant": user}).context(QUERY).text for user in "xy"}
    assert "valley.txt" in found["x"]
    assert "lake.txt" not in found["x"]
    assert "lake.txt" in found["y"]
    assert "valley.txt" not in found["y"]


FACT = "Weaver A works in Dyes."


@pytest.mark.parametrize(
    ("question", "is_open", "told"),
    [
        ("Where does weaver A keep the dye?", True, True),
        ("Where does weaver A keep the dye?", False, False),
        ("Where is the dye?", True, False),
        ("Which weaver works in Dyes?", True, False),  # found as an entity, it is a hit
    ],
)
def test_facts_of_the_taxonomy_are_the_supplement_behind_its_gate(question: str, is_open: bool, told: bool) -> None:
    situations: list[Situation] = []

    def gate(situation: Situation) -> bool:
        situations.append(situation)
        return is_open

    taxonomy = Taxonomy(
        [Node("a", "weaver", "Weaver A"), Node("d", "workshop", "Dyes")],
        [Relation("a", "WORKS_IN", "d")],
        type_words={"weaver": ("which weaver",)},
        facts={"weaver": "{name} works in {workshop}."},
    )
    retriever = ContextRetriever(
        INDEX,
        embed,
        taxonomy=taxonomy,
        postprocessor=ContextAssemblyPostprocessor(config=AssemblyConfig(supplement_gate=gate)),
    )
    texts = [node.text for node in retriever.retrieve(question)]
    assert sum(text.count(FACT) for text in texts) == (told or question.startswith("Which"))
    assert any("SUPPLEMENTARY" in text and FACT in text for text in texts) == told
    assert all(situation.similarity is not None for situation in situations)
