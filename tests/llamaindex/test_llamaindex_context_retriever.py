"""ContextRetriever in query engines: an index in memory, retrievers of other makes, filters, rerankers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter, MetadataFilters

from ctxassembly import AssemblyConfig, Chunk, ConfigError, Hit, MemoryIndex, MemoryStore, RetrievalConfig
from ctxassembly.retrieval import Question
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
def test_filters_hold_in_every_channel_and_for_neighbors(strategy: Any) -> None:
    config = RetrievalConfig(strategy=strategy)
    found = ContextRetriever(INDEX, embed, config=config, filters={"tenant": "x"}).retrieve(QUERY)
    assert {node.metadata["tenant"] for node in found} == {"x"}
    assert ContextRetriever(INDEX, embed, config=config, filters={"tenant": "z"}).retrieve(QUERY) == []


def only(key: str, *values: str) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=key, value=[*values], operator=FilterOperator.IN)])


def of_x(chunk: Chunk) -> bool:
    return bool(chunk.metadata["tenant"] == "x")


# The filters of a call hold beside the retriever's own: that one may keep a tenant.


@pytest.mark.parametrize(
    ("own", "given", "expected"),
    [
        ({"tenant": "x"}, {"tenant": "y"}, set()),
        ({"tenant": "x"}, {"file_name": {"$in": ["valley.txt", "lake.txt"]}}, {"valley"}),
        (of_x, lambda chunk: chunk.document_id != "valley", set()),
        (of_x, lambda chunk: True, {"valley"}),
        ({"tenant": "x"}, None, {"valley"}),
        ({"tenant": "x"}, {}, {"valley"}),
        (None, {"tenant": "y"}, {"lake"}),
    ],
)
async def test_filters_of_a_call_hold_beside_the_own_ones(own: Any, given: Any, expected: set[str]) -> None:
    retriever = ContextRetriever(INDEX, embed, filters=own)
    for ours, question in ((retriever.with_filter(given), QUERY), (retriever, Question(QUERY, filter=given))):
        assert {one.chunk.document_id for one in ours.hits(question).chunks} == expected
        assert {one.chunk.document_id for one in (await ours.ahits(question)).chunks} == expected
        for context in (ours.context(question), await ours.acontext(question)):
            assert {decision.document_id for decision in context.trace.decisions} == expected
    held = retriever.with_filter(given)
    allowed = {{"valley": "x", "lake": "y"}[name] for name in expected}
    for found in (held.retrieve(QUERY), await held.aretrieve(QUERY)):
        assert {node.metadata["tenant"] for node in found} == allowed


def test_filters_of_another_form_are_refused() -> None:
    retriever = ContextRetriever(INDEX, embed, filters={"tenant": "x"})
    for ask in (retriever.hits, retriever.context):
        with pytest.raises(ConfigError, match="filters must be in the form of the retriever's own, which apply"):
            ask(Question(QUERY, filter=only("tenant", "x")))
    with pytest.raises(ConfigError, match="filters must be in the form of the retriever's own, which apply"):
        retriever.with_filter(only("tenant", "x"))


def test_metadata_filters_hold_both_in_a_channel_with_filters_of_its_own() -> None:
    channel = VECTORS.as_retriever(filters=only("tenant", "x", "y"))
    config = RetrievalConfig(strategy="vector")
    retriever = ContextRetriever(channels={"vector": channel}, config=config, filters=only("tenant", "x"))
    found = retriever.with_filter(only("file_name", "valley.txt", "lake.txt")).hits(QUERY).chunks
    assert {one.chunk.metadata["tenant"] for one in found} == {"x"}
    assert retriever.with_filter(only("tenant", "y")).hits(QUERY).chunks == ()
    with pytest.raises(ConfigError, match="without filters of its own, where a call has some of another form"):
        ContextRetriever(channels={"vector": channel}, config=config, filters={"tenant": "x"}).hits(QUERY)


async def test_metadata_filters_hold_the_neighbors_of_any_store() -> None:
    mixed = [replace(chunk, metadata={**chunk.metadata, "tenant": "xy"[chunk.index % 2]}) for chunk in CHUNKS]

    class Mixed:
        def fetch(self, refs: Any) -> list[Chunk]:
            return MemoryStore(mixed).fetch(refs)

    def search(query: str, limit: int, filters: MetadataFilters | None) -> list[Hit]:
        return [Hit(chunk) for chunk in mixed if filters is None or chunk.metadata["tenant"] == "x"][:limit]

    config = RetrievalConfig(strategy="vector", limit=2)
    own = ContextAssemblyPostprocessor(store=Mixed(), config=AssemblyConfig(cite="chunk", neighbors="unfiltered"))
    retriever = ContextRetriever(channels={"vector": search}, config=config, postprocessor=own)
    held = retriever.with_filter(only("tenant", "x"))
    for made in (held.context(QUERY), await held.acontext(QUERY)):
        assert {int(one.chunk_ids[0].split("-")[1]) % 2 for one in made.citations} == {0}


VECTORS = VectorStoreIndex(
    [TextNode(id_=chunk.id, text=chunk.text, metadata=dict(chunk.metadata)) for chunk in CHUNKS],
    embed_model=WordEmbedding(),
)


def test_a_vector_index_may_serve_the_vectors() -> None:
    retriever = ContextRetriever(INDEX, channels={"vector": VECTORS.as_retriever()}, similarity_top_k=3)
    best = retriever.hits(QUERY).chunks[0]
    assert "Smugglers" in best.chunk.text
    assert set(best.channels) == {"vector", "keyword"}


def test_a_channel_gets_the_number_of_chunks_and_the_filters_of_the_call() -> None:
    own, config = VECTORS.as_retriever(), RetrievalConfig(strategy="vector", limit=5)
    found = ContextRetriever(channels={"vector": own}, config=config, filters=only("tenant", "y")).hits(QUERY).chunks
    assert [one.chunk.metadata["tenant"] for one in found] == ["y"] * 5
    assert (own._similarity_top_k, own._filters) == (2, None)  # as it was
    with pytest.raises(ConfigError, match=r"channels\['vector'\] must be a LlamaIndex retriever or a function"):
        ContextRetriever(channels={"vector": 7})  # type: ignore[dict-item]


class _LastFirst(BaseNodePostprocessor):
    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return [NodeWithScore(node=node.node, score=1 / (1 + at)) for at, node in enumerate(reversed(nodes))]


def test_it_shows_how_its_hits_were_found() -> None:
    retriever = ContextRetriever(INDEX, embed, similarity_top_k=2)
    context = retriever.context(QUERY)
    assert context.retrieved == retriever.hits(QUERY) == asyncio.run(retriever.acontext(QUERY)).retrieved
    assert "The steps of retrieval" in context._repr_html_()


def test_a_postprocessor_reranks() -> None:
    plain = ContextRetriever(INDEX, embed).hits(QUERY)
    fused = next(step for step in plain.trace.steps if step.name == "fuse").ids
    found = ContextRetriever(INDEX, embed, rerankers=[_LastFirst()]).hits(QUERY).chunks
    assert [one.chunk.id for one in found] == list(reversed(fused))[: len(found)]
    assert found[0].rerank_score == 1.0
