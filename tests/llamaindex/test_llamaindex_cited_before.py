"""Chunks that the last answer cited are read again only as the store has them now, under the filter of the call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import BaseNode, TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from ctxassembly import Chunk, InputError, MemoryIndex, RetrievalConfig
from llamaindex_ctxassembly import AnswerChatEngine, AnswerQueryEngine, ContextAssemblyPostprocessor, ContextRetriever
from llamaindex_samples import Fixed, TextVectorStore, WordEmbedding, scored
from test_llamaindex_answer_chain import Scripted, following

pytestmark = [
    pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning"),
    pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning"),
]

CITED, FOUND = "The board parks under the tower.", "Visitors park behind the market hall."
CHANGED = "The board parks in the yard."
TEXTS = {"board": CITED, "visitors": FOUND}


def node(name: str, text: str = "", **metadata: Any) -> TextNode:
    kept = {"file_name": f"{name}.pdf", "tenant": "ours", **metadata}
    return TextNode(id_=name, text=text or TEXTS[name], metadata=kept)


def indexed(*nodes: BaseNode) -> VectorStoreIndex:
    return VectorStoreIndex([*nodes], embed_model=WordEmbedding())


def where(tenant: str) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key="tenant", value=tenant)])


OURS = where("ours")
BOARD, VISITORS = node("board"), node("visitors")


def history() -> list[ChatMessage]:
    """A conversation whose last answer cited where the board parks."""
    chat = AnswerChatEngine(AnswerQueryEngine(Scripted(), Fixed(scored(BOARD))))
    chat.chat("Where does the board park?")
    return chat.chat_history


HOW: dict[str, Callable[..., Any]] = {
    "answer": lambda engine, **given: engine.answer("And I?", **given),
    "aanswer": lambda engine, **given: asyncio.run(engine.aanswer("And I?", **given)),
}


@pytest.fixture(params=HOW)
def ask(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return lambda engine, filters=None: HOW[request.param](engine, chat_history=history(), filters=filters)


def answering(retriever: Any, postprocessor: Any = None) -> AnswerQueryEngine:
    llm = Scripted(says=following({"question": "Where do visitors park?"}))
    return AnswerQueryEngine(llm, retriever, postprocessor=postprocessor)


def found(index: VectorStoreIndex, *, filters: Any = None, **given: Any) -> AnswerQueryEngine:
    """An engine that finds where visitors park, and nothing else."""
    retriever = index.as_retriever(similarity_top_k=1, filters=filters)
    return answering(retriever, ContextAssemblyPostprocessor.from_index(index, **given))


def test_what_the_store_has_under_the_filter_of_the_call_is_read_again(ask: Any) -> None:
    index = indexed(BOARD, VISITORS)
    for engine, filters in (
        (found(index), OURS),
        (found(index, filters=OURS), None),
        (found(index, filter=OURS), None),
        (found(index, filter=lambda query: OURS), None),
        (found(index, neighbors="unfiltered"), None),
    ):
        answer = ask(engine, filters)
        assert CITED in answer.context.text
        assert not answer.notes


def test_a_chunk_that_the_filter_forbids_by_now_stays_out(ask: Any) -> None:
    index = indexed(node("board", tenant="directors"), VISITORS)
    told, own = found(index, filter=OURS), found(index, filters=OURS)
    for engine, filters in ((found(index), OURS), (told, None), (own, None)):
        answer = ask(engine, filters)
        assert FOUND in answer.context.text
        assert CITED not in answer.context.text
        assert "cited last: 1 of 1 left out, gone or not to be read in this call" in answer.notes


def test_a_chunk_that_is_gone_or_another_one_by_now_is_not_read_as_it_was(ask: Any) -> None:
    answer = ask(found(indexed(VISITORS), filters=OURS))
    assert CITED not in answer.context.text
    assert "cited last: 1 of 1 left out, gone or not to be read in this call" in answer.notes
    answer = ask(found(indexed(node("board", CHANGED), VISITORS), filters=OURS))
    assert CITED not in answer.context.text
    assert CHANGED in answer.context.text


def test_without_a_told_filter_it_has_to_agree_with_a_hit_of_its_document(ask: Any) -> None:
    index = indexed(BOARD, VISITORS)
    searched = index.as_retriever(similarity_top_k=1, filters=where("ours"))
    fusion = QueryFusionRetriever([searched], llm=MockLLM(), num_queries=1, similarity_top_k=1, use_async=False)
    for retriever in (fusion, index.as_retriever(similarity_top_k=1), Fixed(scored(VISITORS))):
        answer = ask(answering(retriever, ContextAssemblyPostprocessor.from_index(index)))
        assert FOUND in answer.context.text
        assert CITED not in answer.context.text
    near = indexed(BOARD, node("visitors", file_name="board.pdf"))
    assert CITED in ask(found(near)).context.text
    other = indexed(BOARD, node("visitors", file_name="board.pdf", tenant="theirs"))
    assert CITED not in ask(found(other)).context.text


def test_without_a_store_that_can_be_asked_nothing_is_read_again_and_a_note_says_so(ask: Any) -> None:
    index = indexed(BOARD, VISITORS)
    answer = ask(answering(index.as_retriever(similarity_top_k=1, filters=OURS)))
    assert CITED not in answer.context.text
    assert "cited last: left out, since there is no store to ask for them by id" in answer.notes


def masked(chunks: Sequence[Chunk]) -> list[Chunk]:
    return [replace(one, text=one.text.replace("tower", "[place]")) for one in chunks]


async def amasked(chunks: Sequence[Chunk]) -> list[Chunk]:
    return masked(chunks)


def dropped(chunks: Sequence[Chunk]) -> list[Chunk]:
    return [one for one in chunks if "tower" not in one.text]


@pytest.mark.parametrize("transform", [masked, amasked])
def test_what_is_read_again_is_masked_as_neighbors_are(transform: Any) -> None:
    made = found(indexed(BOARD, VISITORS), neighbors="unfiltered", transform_fetched=transform)
    answer = asyncio.run(made.aanswer("And I?", chat_history=history()))
    assert "The board parks under the [place]." in answer.context.text
    assert CITED not in answer.context.text


def test_what_a_transform_drops_stays_out_with_a_note(ask: Any) -> None:
    answer = ask(found(indexed(BOARD, VISITORS), neighbors="unfiltered", transform_fetched=dropped))
    assert CITED not in answer.context.text
    assert "cited last: 1 of 1 left out, gone or not to be read in this call" in answer.notes


def test_a_transform_that_can_only_be_awaited_is_refused_in_a_sync_call_as_for_neighbors() -> None:
    made = found(indexed(BOARD, VISITORS), neighbors="unfiltered", transform_fetched=amasked)
    with pytest.raises(InputError, match="transform_fetched can only be awaited"):
        made.answer("And I?", chat_history=history())


class Unasked(TextVectorStore):
    def get_nodes(self, *given: Any, **named: Any) -> list[BaseNode]:
        raise NotImplementedError("get_nodes not implemented")


def test_nor_from_a_store_that_can_not_answer(ask: Any) -> None:
    store = Unasked()
    store.add([VISITORS])
    index = VectorStoreIndex.from_vector_store(store, embed_model=WordEmbedding())
    answer = ask(found(index, filter=OURS))
    assert CITED not in answer.context.text
    assert any("cited last: left out (NotImplementedError" in note for note in answer.notes)


def test_a_context_retriever_asks_its_index_or_the_store_of_its_postprocessor(ask: Any) -> None:
    def retriever(*given: tuple[str, str, str], **settings: Any) -> ContextRetriever:
        chunks = [
            Chunk(name, f"{name}.pdf", text, metadata={"file_name": f"{name}.pdf", "tenant": tenant})
            for name, text, tenant in given
        ]
        config = RetrievalConfig(strategy="keyword", limit=1)
        return ContextRetriever(MemoryIndex(chunks), config=config, filters={"tenant": "ours"}, **settings)

    ours, gone = ("board", CITED, "ours"), ("board", CITED, "directors")
    visitors = ("visitors", FOUND, "ours")
    assert CITED in ask(answering(retriever(ours, visitors))).context.text
    assert CITED not in ask(answering(retriever(gone, visitors))).context.text
    assert CITED not in ask(answering(retriever(visitors))).context.text
    stored = ContextAssemblyPostprocessor(docstore=indexed(node("board", CHANGED)).docstore)
    assert CHANGED in ask(answering(retriever(ours, visitors, postprocessor=stored))).context.text
    masking = ContextAssemblyPostprocessor(transform_fetched=masked)
    text = ask(answering(retriever(ours, visitors, postprocessor=masking))).context.text
    assert "The board parks under the [place]." in text
    assert CITED not in text
