"""Neighbors pass what the caller has told, and agree with their hit where nothing was told."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever, VectorIndexRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from ctxassembly import (
    AssemblyConfig,
    Chunk,
    ConfigError,
    FilterNotSeenWarning,
    MemoryIndex,
    MemoryStore,
    RetrievalConfig,
)
from llamaindex_ctxassembly import (
    AnswerChatEngine,
    AnswerQueryEngine,
    ContextAssemblyPostprocessor,
    ContextRetriever,
    number_chunks,
)
from llamaindex_samples import WordEmbedding, document, scored
from test_llamaindex_answer_chain import Scripted

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")

QUESTION = "Who wove the carpet?"
ROWS = {
    "Ann wove the carpet.": {"tenant": "ours", "level": 1},
    "Their director earns 900,000.": {"tenant": "theirs", "level": 1},
    "The carpet lies in the hall.": {"tenant": "ours", "level": 1},
    "The carpet was wove in secret.": {"tenant": "ours", "level": 2},
}
HIT, THEIRS, OPEN, SECRET = ROWS
ORDER = (THEIRS, HIT, OPEN, SECRET)


def where(**values: Any) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key=key, value=value) for key, value in values.items()])


OURS, LEVEL = where(tenant="ours"), where(level=1)


def nodes() -> list[TextNode]:
    texts = [TextNode(id_=text, text=text, metadata={"file_name": "a.pdf", **ROWS[text]}) for text in ORDER]
    return number_chunks(texts)


INDEX = VectorStoreIndex(nodes(), embed_model=WordEmbedding())
CHUNKS = [Chunk(text, "a.pdf", text, at, metadata=ROWS[text]) for at, text in enumerate(ORDER)]


def search(filters: Any = None, kind: Any = VectorIndexRetriever) -> Any:
    return kind(INDEX, similarity_top_k=1, filters=filters)


def processor(**given: Any) -> ContextAssemblyPostprocessor:
    return ContextAssemblyPostprocessor.from_index(INDEX, **given)


def answering(retriever: Any, **given: Any) -> AnswerQueryEngine:
    return AnswerQueryEngine(Scripted(), retriever, postprocessor=processor(**given))


HOW: dict[str, Callable[..., str]] = {
    "answer": lambda engine, filters: engine.answer(QUESTION, filters=filters).context.text,
    "aanswer": lambda engine, filters: asyncio.run(engine.aanswer(QUESTION, filters=filters)).context.text,
    "chat": lambda engine, filters: "".join(
        node.text for node in AnswerChatEngine(engine, filters=filters).chat(QUESTION).source_nodes
    ),
}


@pytest.fixture(params=HOW)
def read(request: pytest.FixtureRequest) -> Callable[..., set[str]]:
    def texts(engine: AnswerQueryEngine, filters: Any = None) -> set[str]:
        text = HOW[request.param](engine, filters)
        return {one for one in ROWS if one in text}

    return texts


def wide(**given: Any) -> dict[str, Any]:
    return {"config": AssemblyConfig(window=3), **given}


def test_neighbors_pass_all_filters_that_were_told(read: Any) -> None:
    assert read(answering(search(), **wide(filter=OURS)), LEVEL) == {HIT, OPEN}
    assert read(answering(search(OURS), **wide()), LEVEL) == {HIT, OPEN}
    assert read(answering(search(OURS), **wide(filter=lambda query: LEVEL))) == {HIT, OPEN}
    assert read(answering(search(OURS), **wide())) == {HIT, OPEN, SECRET}


def test_a_told_filter_holds_beside_unfiltered(read: Any) -> None:
    everything = wide(neighbors="unfiltered")
    assert read(answering(search(OURS), **everything)) == {HIT, OPEN, SECRET}
    assert read(answering(search(), **everything), OURS) == {HIT, OPEN, SECRET}
    assert read(answering(search(), **everything)) == set(ROWS)


def test_a_search_without_a_filter_lets_nothing_in(read: Any) -> None:
    with pytest.warns(FilterNotSeenWarning, match="'tenant'"):
        assert read(answering(search(), **wide())) == {HIT, OPEN}


class Private(VectorIndexRetriever):
    """A retriever of a user's own: its search is for the first level, whatever its filters say."""

    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        found: list[NodeWithScore] = search(where(tenant="ours", level=1)).retrieve(query_bundle)
        return found


def test_a_class_of_ones_own_tells_nothing() -> None:
    with pytest.warns(FilterNotSeenWarning, match="'level'"):
        assert SECRET not in answering(search(OURS, Private), **wide()).answer(QUESTION).context.text
    with pytest.raises(ConfigError, match="Private"):
        answering(search(OURS, Private)).answer(QUESTION, filters=LEVEL)


def fusion(filters: Any = None) -> QueryFusionRetriever:
    return QueryFusionRetriever([search(filters)], llm=MockLLM(), num_queries=1, similarity_top_k=1, use_async=False)


def test_nobody_looks_into_a_fusion(read: Any) -> None:
    with pytest.warns(FilterNotSeenWarning, match="'level'"):
        assert read(answering(fusion(where(tenant="ours", level=1)), **wide())) == {HIT, OPEN}
    assert read(answering(fusion(OURS), **wide(filter=OURS))) == {HIT, OPEN, SECRET}


def test_filters_of_a_call_that_a_search_can_not_take_are_an_error_with_the_line_to_write(read: Any) -> None:
    with pytest.raises(ConfigError, match=r"QueryFusionRetriever.*: write index\.as_retriever\(filters=filters\)"):
        read(answering(fusion(), **wide(filter=OURS)), LEVEL)


def test_filtered_runs_with_any_filter_and_with_none_not_at_all(read: Any) -> None:
    assert read(answering(search(OURS), **wide(neighbors="filtered"))) == {HIT, OPEN, SECRET}
    assert read(answering(search(), **wide(neighbors="filtered")), OURS) == {HIT, OPEN, SECRET}
    for none in (search(), fusion(OURS), search(MetadataFilters(filters=[]))):
        with pytest.raises(ConfigError, match="neighbors='filtered' needs the filter"):
            read(answering(none, **wide(neighbors="filtered")))


def test_one_warning_names_the_key_and_the_line_and_only_if_a_neighbor_was_kept_out() -> None:
    alone = document("A", ("Ann wove the carpet.", "The carpet lies in the hall."), metadata={"tenant": "ours"})
    index = VectorStoreIndex(alone, embed_model=WordEmbedding())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = ContextAssemblyPostprocessor.from_index(index).context(scored(alone[0]))
    assert "The carpet lies in the hall." in made.text
    engine = RetrieverQueryEngine.from_args(search(), llm=MockLLM(), node_postprocessors=[processor()])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", FilterNotSeenWarning)
        for _ in range(2):
            engine.query(QUESTION)
    (warning,) = (one for one in seen if one.category is FilterNotSeenWarning)
    assert "'tenant'" in str(warning.message)
    assert "ContextAssemblyPostprocessor(filter=filters)" in str(warning.message)


# ContextRetriever


def retriever(**given: Any) -> ContextRetriever:
    return ContextRetriever(MemoryIndex(CHUNKS), config=RetrievalConfig(strategy="keyword", limit=1), **given)


def of_retriever(made: ContextRetriever, filters: Any = None) -> set[str]:
    return {one for one in ROWS if one in made.with_filter(filters).context("wove Ann").text}


def test_an_index_searched_without_a_filter_lets_nothing_in() -> None:
    made = retriever(postprocessor=ContextAssemblyPostprocessor(**wide()))
    with pytest.warns(FilterNotSeenWarning, match="'tenant'"):
        assert of_retriever(made) == {HIT, OPEN}
    assert of_retriever(made, {"tenant": "ours"}) == {HIT, OPEN, SECRET}
    made = retriever(postprocessor=ContextAssemblyPostprocessor(**wide(neighbors="unfiltered")))
    assert of_retriever(made) == set(ROWS)
    with pytest.raises(ConfigError, match="neighbors='filtered' needs the filter"):
        of_retriever(retriever(postprocessor=ContextAssemblyPostprocessor(**wide(neighbors="filtered"))))


@pytest.mark.parametrize("filters", [{"tenant": "ours"}, lambda chunk: chunk.metadata["tenant"] == "ours"])
@pytest.mark.parametrize(
    "own",
    [{"docstore": INDEX.docstore}, {"store": MemoryStore(CHUNKS)}, {"store": MemoryIndex(CHUNKS)}],
    ids=["docstore", "store", "index"],
)
def test_filters_of_an_index_hold_for_the_neighbors_of_any_store(own: Any, filters: Any) -> None:
    plain = ContextAssemblyPostprocessor(**wide(**own))
    assert of_retriever(retriever(postprocessor=plain, filters=filters)) == {HIT, OPEN, SECRET}
    assert of_retriever(retriever(postprocessor=plain), filters) == {HIT, OPEN, SECRET}
    assert of_retriever(retriever(postprocessor=plain).with_filter(filters)) == {HIT, OPEN, SECRET}
    both = ContextAssemblyPostprocessor(**wide(filter=LEVEL, **own))
    assert of_retriever(retriever(postprocessor=both, filters=filters)) == {HIT, OPEN}
