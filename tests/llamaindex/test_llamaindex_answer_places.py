"""Answers kept for two places that one tenant may search: each is found again only where the same is searched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from ctxassembly import MemoryIndex, RetrievalConfig
from llamaindex_ctxassembly import AnswerQueryEngine, ContextAssemblyPostprocessor, ContextRetriever
from llamaindex_samples import Fixed, TextVectorStore, WordEmbedding, scored
from test_llamaindex_answer_chain import Scripted, Shelf

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")

QUESTION = "When does the contract end?"
PLACES = {"staff": "The contract of Ms Vos ends on 30 June.", "public": "The contract with the city ends on 1 May."}
OURS = MetadataFilters(filters=[MetadataFilter(key="tenant", value="ours")])


class Given(NamedTuple):
    """An engine's retriever and postprocessor."""

    retriever: Any
    postprocessor: Any = None


def filed(*places: str) -> list[TextNode]:
    metadata = {place: {"file_name": f"{place}.pdf", "tenant": "ours"} for place in places}
    return [TextNode(text=PLACES[place], id_=place, metadata=metadata[place]) for place in places]


def indexed(*places: str, **given: Any) -> VectorStoreIndex:
    return VectorStoreIndex(filed(*places), embed_model=WordEmbedding(), **given)


FILES = {place: indexed(place) for place in PLACES}
BOTH = indexed(*PLACES)
STORAGE = StorageContext.from_defaults()
IN_ONE_STORE = {place: indexed(place, storage_context=STORAGE) for place in PLACES}


def told(**given: Any) -> ContextAssemblyPostprocessor:
    return ContextAssemblyPostprocessor(filter=OURS, **given)


def unfiltered() -> ContextAssemblyPostprocessor:
    return ContextAssemblyPostprocessor(neighbors="unfiltered")


def fusion(place: str) -> QueryFusionRetriever:
    searched = FILES[place].as_retriever(filters=OURS)
    return QueryFusionRetriever([searched, searched], llm=MockLLM(), num_queries=1, use_async=False)


def own_files(place: str) -> Any:
    store = TextVectorStore()
    store.add(filed(place))
    return VectorStoreIndex.from_vector_store(store, embed_model=WordEmbedding()).as_retriever()


def by_channel(place: str) -> ContextRetriever:
    found = {"keyword": Fixed(scored(*filed(place)))}
    config = RetrievalConfig(strategy="keyword")
    return ContextRetriever(MemoryIndex([]), config=config, channels=found, postprocessor=unfiltered())


WAYS: dict[str, Callable[[str], Given]] = {
    "QueryFusionRetriever": lambda place: Given(fusion(place), told()),
    "with one docstore for both": lambda place: Given(fusion(place), told(docstore=BOTH.docstore)),
    "a retriever of one's own": lambda place: Given(Fixed(scored(*filed(place))), told()),
    "a filter by a function": lambda place: Given(
        fusion(place), ContextAssemblyPostprocessor(filter=lambda query: OURS)
    ),
    "a vector store of one's own": lambda place: Given(own_files(place), told()),
    "open": lambda place: Given(fusion(place), unfiltered()),
    "open, a vector store of one's own": lambda place: Given(own_files(place), unfiltered()),
    "open, a channel": lambda place: Given(by_channel(place)),
    "an index each in one store": lambda place: Given(IN_ONE_STORE[place].as_retriever()),
}
HOW: dict[str, Callable[..., Any]] = {
    "answer": lambda engine: engine.answer(QUESTION),
    "aanswer": lambda engine: asyncio.run(engine.aanswer(QUESTION)),
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("way", WAYS)
def test_an_answer_is_found_again_only_where_the_same_is_searched(way: str, how: str) -> None:
    shelf, given, asked = Shelf(), {place: WAYS[way](place) for place in PLACES}, []
    for place in (*PLACES, *PLACES):
        llm = Scripted()
        engine = AnswerQueryEngine(llm, given[place].retriever, postprocessor=given[place].postprocessor, cache=shelf)
        read = HOW[how](engine).context.text
        assert {name for name, text in PLACES.items() if text in read} == {place}
        asked.append(len(llm._asked))
    assert asked == [1, 1, 0, 0]


def test_from_args_names_the_retriever_that_it_is_given() -> None:
    shelf = Shelf()
    for place, text in PLACES.items():
        engine = AnswerQueryEngine.from_args(
            BOTH, Scripted(), retriever=fusion(place), postprocessor=told(), cache=shelf
        )
        assert text in engine.query(QUESTION).source_nodes[0].text
    assert len(shelf) == 2
