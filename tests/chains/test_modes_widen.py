"""In both frameworks a mode never takes fewer hits than the retriever that it escalates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.schema import TextNode

from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
from langchain_ctxassembly import ContextRetriever as LangChainRetriever
from langchain_ctxassembly import answer_chain
from llamaindex_ctxassembly import AnswerQueryEngine
from llamaindex_ctxassembly import ContextRetriever as LlamaIndexRetriever

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")

TEXTS = [f"Parking lot {at} is free." for at in range(60)]
QUESTION = "Is parking free?"
MODES = ("normal", "full", "escalated")
STORE = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
STORE.add_documents([Document(text, metadata={"source": f"{at}.pdf"}) for at, text in enumerate(TEXTS)])
INDEX = MemoryIndex([Chunk(f"p#{at}", f"p{at}", text) for at, text in enumerate(TEXTS)])


def vectors(**search: Any) -> Any:
    return STORE.as_retriever(search_kwargs=search)


LANGCHAIN: dict[str, tuple[Callable[[], Any], list[int]]] = {
    "30 of a vector store": (lambda: vectors(k=30), [30, 30, 30]),
    "5 of a vector store": (lambda: vectors(k=5), [5, 15, 20]),
    "retried": (lambda: vectors(k=30).with_retry(), [30, 30, 30]),
    "ContextRetriever": (
        lambda: LangChainRetriever(INDEX, config=RetrievalConfig(strategy="keyword", limit=30)),
        [30, 30, 30],
    ),
}


@pytest.mark.parametrize(("make", "expected"), LANGCHAIN.values(), ids=LANGCHAIN)
def test_a_mode_never_takes_fewer_hits_than_a_langchain_retriever(make: Callable[[], Any], expected: list[int]) -> None:
    """The rule: a mode never takes fewer hits than the retriever that it escalates."""
    chain = answer_chain(FakeListChatModel(responses=["Free [1]."]), make())
    assert [len(chain.invoke({"input": QUESTION, "mode": mode})["result"].hits) for mode in MODES] == expected


LLAMAINDEX: dict[str, tuple[Callable[[], Any], list[int]]] = {
    "30 of a vector index": (lambda: vector_index().as_retriever(similarity_top_k=30), [30, 30, 30]),
    "5 of a vector index": (lambda: vector_index().as_retriever(similarity_top_k=5), [5, 15, 20]),
    "ContextRetriever": (
        lambda: LlamaIndexRetriever(INDEX, config=RetrievalConfig(strategy="keyword", limit=30)),
        [30, 30, 30],
    ),
}


def vector_index() -> VectorStoreIndex:
    nodes = [TextNode(text=text, id_=f"n{at}") for at, text in enumerate(TEXTS)]
    return VectorStoreIndex(nodes, embed_model=MockEmbedding(8))


@pytest.mark.parametrize(("make", "expected"), LLAMAINDEX.values(), ids=LLAMAINDEX)
def test_a_mode_never_takes_fewer_hits_than_a_llamaindex_retriever(
    make: Callable[[], Any], expected: list[int]
) -> None:
    """The rule: a mode never takes fewer hits than the retriever that it escalates."""
    engine = AnswerQueryEngine(MockLLM(max_tokens=8), make())
    assert [len(engine.answer(QUESTION, mode=mode).hits) for mode in MODES] == expected
