"""Chunks that the last answer cited are read again only as the store has them now, under the filter of the call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from chain_samples import Scripted, following
from ctxassembly import Chunk, InputError, MemoryIndex, RetrievalConfig
from langchain_ctxassembly import ContextAssembler, ContextRetriever, VectorStoreNeighbors, answer_chain
from langchain_samples import WordEmbeddings

pytestmark = [
    pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning"),
    pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning"),
]

CITED, FOUND = "The board parks under the tower.", "Visitors park behind the market hall."
CHANGED = "The board parks in the yard."
TEXTS = {"board": CITED, "visitors": FOUND}


def document(name: str, text: str = "", **metadata: Any) -> Document:
    kept = {"source": f"{name}.pdf", "tenant": "ours", **metadata}
    return Document(text or TEXTS[name], id=name, metadata=kept)


def stored(*documents: Document) -> InMemoryVectorStore:
    store = InMemoryVectorStore(WordEmbeddings())
    store.add_documents([*documents])
    return store


def ours(found: Document) -> bool:
    return bool(found.metadata["tenant"] == "ours")


BOARD, VISITORS = document("board"), document("visitors")


def history() -> list[BaseMessage]:
    """A conversation whose last answer cited where the board parks."""
    output = answer_chain(Scripted(), RunnableLambda(lambda _: [BOARD])).invoke({"input": "Where does the board park?"})
    return [HumanMessage("Where does the board park?"), output["message"]]


HOW: dict[str, Callable[..., Any]] = {
    "invoke": lambda chain, given: chain.invoke(given),
    "ainvoke": lambda chain, given: asyncio.run(chain.ainvoke(given)),
}


@pytest.fixture(params=HOW)
def ask(request: pytest.FixtureRequest) -> Callable[..., Any]:
    def result(chain: Any, condition: Any = None) -> Any:
        given = {"input": "And I?", "chat_history": history()}
        return HOW[request.param](chain, given | ({} if condition is None else {"filter": condition}))["result"]

    return result


def answering(retriever: Any, assembler: ContextAssembler | None = None) -> Any:
    llm = Scripted(says=following({"question": "Where do visitors park?"}))
    return answer_chain(llm, retriever, assembler=assembler)


def found(store: InMemoryVectorStore, condition: Any = None, **given: Any) -> Any:
    """A chain that finds where visitors park, and nothing else."""
    retriever = store.as_retriever(search_kwargs={"k": 1, **({} if condition is None else {"filter": condition})})
    return answering(retriever, ContextAssembler(store=VectorStoreNeighbors(store), **given))


def test_what_the_store_has_under_the_filter_of_the_call_is_read_again(ask: Any) -> None:
    store = stored(BOARD, VISITORS)
    for chain, condition in (
        (found(store), ours),
        (found(store, ours), None),
        (found(store, filter=ours), None),
        (found(store, neighbors="unfiltered"), None),
    ):
        result = ask(chain, condition)
        assert CITED in result.context.text
        assert not result.notes


def test_a_chunk_that_the_filter_forbids_by_now_stays_out(ask: Any) -> None:
    store = stored(document("board", tenant="directors"), VISITORS)
    for chain, condition in ((found(store), ours), (found(store, ours), None), (found(store, filter=ours), None)):
        result = ask(chain, condition)
        assert FOUND in result.context.text
        assert CITED not in result.context.text
        assert "cited last: 1 of 1 left out, gone or not to be read in this call" in result.notes


def test_a_chunk_that_is_gone_or_another_one_by_now_is_not_read_as_it_was(ask: Any) -> None:
    assert CITED not in ask(found(stored(VISITORS), ours)).context.text
    text = ask(found(stored(document("board", CHANGED), VISITORS), ours)).context.text
    assert CITED not in text
    assert CHANGED in text


def test_without_a_told_filter_it_has_to_agree_with_a_hit_of_its_document(ask: Any) -> None:
    store = stored(BOARD, VISITORS)
    searched = store.as_retriever(search_kwargs={"k": 1, "filter": ours})
    for retriever in (EnsembleRetriever(retrievers=[searched]), RunnableLambda(lambda _: [VISITORS])):
        result = ask(answering(retriever, ContextAssembler(store=VectorStoreNeighbors(store))))
        assert FOUND in result.context.text
        assert CITED not in result.context.text
    near = stored(BOARD, document("visitors", source="board.pdf"))
    ensemble = EnsembleRetriever(retrievers=[near.as_retriever(search_kwargs={"k": 1})])
    assert CITED in ask(answering(ensemble, ContextAssembler(store=VectorStoreNeighbors(near)))).context.text


def test_without_a_store_that_can_be_asked_nothing_is_read_again_and_a_note_says_so(ask: Any) -> None:
    store = stored(BOARD, VISITORS)
    result = ask(answering(store.as_retriever(search_kwargs={"k": 1, "filter": ours})))
    assert CITED not in result.context.text
    assert "cited last: left out, since there is no store to ask for them by id" in result.notes


def masked(chunks: Sequence[Chunk]) -> list[Chunk]:
    return [replace(one, text=one.text.replace("tower", "[place]")) for one in chunks]


async def amasked(chunks: Sequence[Chunk]) -> list[Chunk]:
    return masked(chunks)


def dropped(chunks: Sequence[Chunk]) -> list[Chunk]:
    return [one for one in chunks if "tower" not in one.text]


@pytest.mark.parametrize("transform", [masked, amasked])
def test_what_is_read_again_is_masked_as_neighbors_are(transform: Any) -> None:
    made = found(stored(BOARD, VISITORS), neighbors="unfiltered", transform_fetched=transform)
    answer = asyncio.run(made.ainvoke({"input": "And I?", "chat_history": history()}))["result"]
    assert "The board parks under the [place]." in answer.context.text
    assert CITED not in answer.context.text


def test_what_a_transform_drops_stays_out_with_a_note(ask: Any) -> None:
    answer = ask(found(stored(BOARD, VISITORS), neighbors="unfiltered", transform_fetched=dropped))
    assert CITED not in answer.context.text
    assert "cited last: 1 of 1 left out, gone or not to be read in this call" in answer.notes


def test_a_transform_that_can_only_be_awaited_is_refused_in_a_sync_call_as_for_neighbors() -> None:
    made = found(stored(BOARD, VISITORS), neighbors="unfiltered", transform_fetched=amasked)
    with pytest.raises(InputError, match="transform_fetched can only be awaited"):
        made.invoke({"input": "And I?", "chat_history": history()})


def test_a_context_retriever_asks_its_index_or_the_store_of_its_assembler(ask: Any) -> None:
    def retriever(*given: tuple[str, str, str], **settings: Any) -> ContextRetriever:
        chunks = [
            Chunk(name, f"{name}.pdf", text, metadata={"source": f"{name}.pdf", "tenant": tenant})
            for name, text, tenant in given
        ]
        config = RetrievalConfig(strategy="keyword", limit=1)
        return ContextRetriever(index=MemoryIndex(chunks), config=config, **settings).with_filter({"tenant": "ours"})

    cited, gone = ("board", CITED, "ours"), ("board", CITED, "directors")
    visitors = ("visitors", FOUND, "ours")
    assert CITED in ask(answering(retriever(cited, visitors))).context.text
    assert CITED not in ask(answering(retriever(gone, visitors))).context.text
    assert CITED not in ask(answering(retriever(visitors))).context.text
    assembler = ContextAssembler(transform_fetched=masked)
    text = ask(answering(retriever(cited, visitors, assembler=assembler))).context.text
    assert "The board parks under the [place]." in text
    assert CITED not in text
