"""In both frameworks a mode never takes fewer hits than the retriever that it escalates."""

from __future__ import annotations

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


def hits_in_langchain(retriever: Any) -> list[int]:
    chain = answer_chain(FakeListChatModel(responses=["Free [1]."]), retriever)
    return [len(chain.invoke({"input": QUESTION, "mode": mode})["result"].hits) for mode in MODES]


def hits_in_llamaindex(retriever: Any) -> list[int]:
    engine = AnswerQueryEngine(MockLLM(max_tokens=8), retriever)
    return [len(engine.answer(QUESTION, mode=mode).hits) for mode in MODES]


def vectors(k: int) -> Any:
    return STORE.as_retriever(search_kwargs={"k": k})


def nodes(k: int) -> Any:
    made = [TextNode(text=text, id_=f"n{at}") for at, text in enumerate(TEXTS)]
    return VectorStoreIndex(made, embed_model=MockEmbedding(8)).as_retriever(similarity_top_k=k)


KEYWORD = RetrievalConfig(strategy="keyword", limit=30)


@pytest.mark.parametrize(
    ("hits_in", "make", "expected"),
    [
        (hits_in_langchain, lambda: vectors(30), [30, 30, 30]),
        (hits_in_langchain, lambda: vectors(5), [5, 15, 20]),
        (hits_in_langchain, lambda: vectors(30).with_retry(), [30, 30, 30]),
        (hits_in_langchain, lambda: LangChainRetriever(INDEX, config=KEYWORD), [30, 30, 30]),
        (hits_in_llamaindex, lambda: nodes(30), [30, 30, 30]),
        (hits_in_llamaindex, lambda: nodes(5), [5, 15, 20]),
        (hits_in_llamaindex, lambda: LlamaIndexRetriever(INDEX, config=KEYWORD), [30, 30, 30]),
    ],
)
def test_a_mode_never_takes_fewer_hits_than_the_retriever(hits_in: Any, make: Any, expected: list[int]) -> None:
    """The rule: a mode never takes fewer hits than the retriever that it escalates."""
    assert hits_in(make()) == expected
