"""ContextRetriever in query engines: an index in memory, retrievers of other makes, filters, rerankers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from chinese import HANDBOOK, QUESTIONS
from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import Document, NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import FilterOperator, MetadataFilter, MetadataFilters

from ctxassembly import AssemblyConfig, Chunk, ConfigError, Hit, MemoryIndex, MemoryStore, RetrievalConfig, StoreError
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.retrieval import Node, Question, Relation, Taxonomy
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, ContextRetriever, number_chunks
from llamaindex_ctxassembly.convert.nodes import to_chunk
from llamaindex_ctxassembly.stores.filters import filter_chunks
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


def test_chinese_questions_are_answered_from_their_context() -> None:
    documents = [Document(text=text, id_=title, metadata={"file_name": title}) for title, text in HANDBOOK.items()]
    split = number_chunks(SentenceSplitter(chunk_size=80, chunk_overlap=0).get_nodes_from_documents(documents))
    index = MemoryIndex([to_chunk(node, MetadataKeys()) for node in split])
    config = RetrievalConfig(strategy="keyword", limit=2)
    retriever = ContextRetriever(index, config=config)
    for question, sentence in QUESTIONS.items():
        assert sentence.removesuffix("。") in retriever.retrieve(question)[0].text


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


class _Plain:
    def fetch(self, refs: Any) -> list[Chunk]:
        return MemoryStore(CHUNKS).fetch(refs)


def only(key: str, *values: str) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=key, value=[*values], operator=FilterOperator.IN)])


def of_x(chunk: Chunk) -> bool:
    return bool(chunk.metadata["tenant"] == "x")


class TestFilters:
    """A call's filters hold beside the retriever's own: that one may keep a tenant."""

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
    def test_of_the_call_stand_beside_the_own_ones(self, own: Any, given: Any, expected: set[str]) -> None:
        retriever = ContextRetriever(INDEX, embed, filters=own)
        assert {one.chunk.document_id for one in retriever.hits(QUERY, filters=given).chunks} == expected
        assert {one.chunk.document_id for one in retriever.hits(Question(QUERY, filter=given)).chunks} == expected
        seen = {decision.document_id for decision in retriever.context(QUERY, filters=given).trace.decisions}
        assert seen == expected
        assert {node.metadata["tenant"] for node in retriever.with_filter(given).retrieve(QUERY)} == {
            {"valley": "x", "lake": "y"}[name] for name in expected
        }

    async def test_awaited_too(self) -> None:
        retriever = ContextRetriever(INDEX, embed, filters={"tenant": "x"})
        assert (await retriever.ahits(QUERY, filters={"tenant": "y"})).chunks == ()
        assert (await retriever.acontext(QUERY, filters={"tenant": "y"})).text == ""
        held = ContextRetriever(INDEX, embed).with_filter({"tenant": "x"})
        assert {node.metadata["tenant"] for node in await held.aretrieve(QUERY)} == {"x"}
        assert (await held.acontext(QUERY, similarity_top_k=2)).trace.hits == 2

    def test_of_another_form_are_refused(self) -> None:
        retriever = ContextRetriever(INDEX, embed, filters={"tenant": "x"})
        for ask in (retriever.hits, retriever.context):
            with pytest.raises(ConfigError, match="filters must be in the form of the retriever's own, which apply"):
                ask(QUERY, filters=only("tenant", "x"))
        with pytest.raises(ConfigError, match="filters must be in the form of the retriever's own, which apply"):
            retriever.with_filter(only("tenant", "x"))

    def test_metadata_filters_hold_both_in_a_channel_with_filters_of_its_own(self) -> None:
        nodes = [TextNode(id_=chunk.id, text=chunk.text, metadata=dict(chunk.metadata)) for chunk in CHUNKS]
        vectors = VectorStoreIndex(nodes, embed_model=WordEmbedding())
        channel = vectors.as_retriever(filters=only("tenant", "x", "y"))
        config = RetrievalConfig(strategy="vector")
        retriever = ContextRetriever(channels={"vector": channel}, config=config, filters=only("tenant", "x"))
        found = retriever.hits(QUERY, filters=only("file_name", "valley.txt", "lake.txt")).chunks
        assert {one.chunk.metadata["tenant"] for one in found} == {"x"}
        assert retriever.hits(QUERY, filters=only("tenant", "y")).chunks == ()
        with pytest.raises(ConfigError, match="without filters of its own, where a call has some of another form"):
            ContextRetriever(channels={"vector": channel}, config=config).hits(QUERY, filters={"tenant": "x"})

    def test_metadata_filters_hold_the_neighbors_of_any_store(self) -> None:
        mixed = [replace(chunk, metadata={**chunk.metadata, "tenant": "xy"[chunk.index % 2]}) for chunk in CHUNKS]

        class Mixed:
            def fetch(self, refs: Any) -> list[Chunk]:
                return MemoryStore(mixed).fetch(refs)

        def search(query: str, limit: int, filters: MetadataFilters | None) -> list[Hit]:
            return [Hit(chunk) for chunk in filter_chunks(filters, mixed)][:limit]

        config = RetrievalConfig(strategy="vector", limit=2)
        own = ContextAssemblyPostprocessor(store=Mixed(), config=AssemblyConfig(cite="chunk"))
        retriever = ContextRetriever(channels={"vector": search}, config=config, postprocessor=own)
        for made in (
            retriever.context(QUERY, filters=only("tenant", "x")),
            retriever.with_filter(only("tenant", "x")).context(QUERY),
        ):
            assert {int(one.chunk_ids[0].split("-")[1]) % 2 for one in made.citations} == {0}


class TestChannels:
    nodes = [TextNode(id_=chunk.id, text=chunk.text, metadata=dict(chunk.metadata)) for chunk in CHUNKS]  # noqa: RUF012

    def retriever(self) -> Any:
        return VectorStoreIndex(self.nodes, embed_model=WordEmbedding()).as_retriever()

    def test_a_vector_index_may_serve_the_vectors(self) -> None:
        retriever = ContextRetriever(INDEX, channels={"vector": self.retriever()}, similarity_top_k=3)
        best = retriever.hits(QUERY).chunks[0]
        assert "Smugglers" in best.chunk.text
        assert set(best.channels) == {"vector", "keyword"}

    def test_it_gets_the_number_of_chunks_and_the_filters_of_the_call(self) -> None:
        own = self.retriever()
        filters = MetadataFilters(filters=[MetadataFilter(key="tenant", value="y")])
        config = RetrievalConfig(strategy="vector", limit=5)
        found = ContextRetriever(channels={"vector": own}, config=config, filters=filters).hits(QUERY).chunks
        assert [one.chunk.metadata["tenant"] for one in found] == ["y"] * 5
        assert own._similarity_top_k == 2  # as it was
        assert own._filters is None

    def test_others_are_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"channels\['vector'\] must be a LlamaIndex retriever or a function"):
            ContextRetriever(channels={"vector": 7})  # type: ignore[dict-item]

    def test_all_failing_is_one_error(self) -> None:
        def down(*_: Any) -> Any:
            raise ConnectionError("no route")

        with pytest.raises(StoreError, match="no channel answered"):
            ContextRetriever(channels={"vector": down, "keyword": down}).retrieve(QUERY)


class _LastFirst(BaseNodePostprocessor):
    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return [NodeWithScore(node=node.node, score=1 / (1 + at)) for at, node in enumerate(reversed(nodes))]


def test_a_postprocessor_reranks() -> None:
    plain = ContextRetriever(INDEX, embed).hits(QUERY)
    fused = next(step for step in plain.trace.steps if step.name == "fuse").ids
    found = ContextRetriever(INDEX, embed, rerankers=[_LastFirst()]).hits(QUERY).chunks
    assert [one.chunk.id for one in found] == list(reversed(fused))[: len(found)]
    assert found[0].rerank_score == 1.0


def test_each_user_gets_a_retriever_of_their_own() -> None:
    everybody = ContextRetriever(INDEX, embed)
    found = {user: everybody.with_filter({"tenant": user}).context(QUERY).text for user in "xy"}
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
    scores: list[float | None] = []

    def gate(_query: str | None, score: float | None) -> bool:
        scores.append(score)
        return is_open

    taxonomy = Taxonomy(
        [Node("a", "weaver", "Weaver A"), Node("d", "workshop", "Dyes")],
        [Relation("a", "WORKS_IN", "d")],
        type_words={"weaver": ("which weaver",)},
        statements={"weaver": "{name} works in {workshop}."},
    )
    retriever = ContextRetriever(
        INDEX,
        embed,
        taxonomy=taxonomy,
        postprocessor=ContextAssemblyPostprocessor(config=AssemblyConfig(supplement_threshold=gate)),
    )
    texts = [node.text for node in retriever.retrieve(question)]
    assert sum(text.count(FACT) for text in texts) == (told or question.startswith("Which"))
    assert any("SUPPLEMENTARY" in text and FACT in text for text in texts) == told
    assert None not in scores
