"""Our own documents, wherever LangChain and LangGraph hand them on: tests/adapters has what holds of any."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_community.document_transformers import EmbeddingsRedundantFilter
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from ctxassembly import AssemblyConfig, Chunk, MemoryIndex, RetrievalConfig, resolve
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    ContextRetriever,
    answer_chain,
)
from langchain_samples import WordEmbeddings, documents, memory_store, vector_store

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")  # an ordinary index: no numbers
CORPUS = documents("A", "B", "C")
OPEN = AssemblyConfig(neighbors="unfiltered")
QUESTION = "the falcon in C"


def assembling(**settings: Any) -> ContextAssemblyRetriever:
    """Over a vector store, with neighbors."""
    store = vector_store(CORPUS)
    assembler = ContextAssembler(config=OPEN, store=memory_store(CORPUS))
    return ContextAssemblyRetriever(
        retriever=store.as_retriever(search_kwargs={"k": 2}), assembler=assembler, **settings
    )


def indexed() -> ContextRetriever:
    chunks = [
        Chunk(
            one.id or "",
            one.metadata["document_id"],
            one.page_content,
            one.metadata["chunk_index"],
            metadata={"source": one.metadata["source"]},
        )
        for one in CORPUS
    ]
    return ContextRetriever(MemoryIndex(chunks), config=RetrievalConfig(strategy="keyword", limit=2))


class Same(BaseDocumentCompressor):
    """Leaves documents as they are."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        return documents


RETRIEVERS: dict[str, Callable[[], Any]] = {"vector store": assembling, "index": indexed}
WRAPPED: dict[str, Callable[[Any], Any]] = {
    "retry": lambda ours: ours.with_retry(),
    "config": lambda ours: ours.with_config(tags=["mine"]),
    "configurable": lambda ours: ours.configurable_fields(tags=ConfigurableField(id="tags")),
    "fallbacks": lambda ours: ours.with_fallbacks([ours]),
    "assembled again": lambda ours: ours | ContextAssembler(config=OPEN),
    "ensemble": lambda ours: EnsembleRetriever(retrievers=[ours, ours]),
    "compressed by ours": lambda ours: ContextualCompressionRetriever(
        base_compressor=ContextAssembler(config=OPEN), base_retriever=ours
    ),
    "compressed by another": lambda ours: ContextualCompressionRetriever(base_compressor=Same(), base_retriever=ours),
    "copied": lambda ours: ours | RunnableLambda(lambda found: [copy.deepcopy(one) for one in found]),
    "pickled": lambda ours: ours | RunnableLambda(lambda found: pickle.loads(pickle.dumps(found))),
    "model copies": lambda ours: ours | RunnableLambda(lambda found: [one.model_copy(deep=True) for one in found]),
    "made anew": lambda ours: ours | RunnableLambda(made_anew),
    "without redundant ones": lambda ours: ContextualCompressionRetriever(
        base_compressor=DocumentCompressorPipeline(
            transformers=[EmbeddingsRedundantFilter(embeddings=WordEmbeddings(), similarity_threshold=0.999)]
        ),
        base_retriever=ours,
    ),
}


def made_anew(found: list[Document]) -> list[Document]:
    """As rerankers do it, with a key of their own."""
    return [Document(one.page_content, id=one.id, metadata={**one.metadata, "reranker": "x"}) for one in found]


def through_json(found: list[Document]) -> list[Document]:
    return [Document(**one) for one in json.loads(json.dumps([one.model_dump() for one in found]))]


def check(found: list[Document], expected: list[Document]) -> None:
    assert [one.page_content for one in found] == [one.page_content for one in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.id == other.id
        assert one.metadata["chunk_ids"] == other.metadata["chunk_ids"]
        for name in ("source", "document_id", "pages", "reference"):
            assert one.metadata["citation"][name] == other.metadata["citation"][name]


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("wrapped", WRAPPED)
@pytest.mark.parametrize("kind", RETRIEVERS)
async def test_an_answer_over_ours_reads_what_ours_gives(kind: str, wrapped: str, awaited: bool) -> None:
    ours = RETRIEVERS[kind]()
    chain = answer_chain(FakeListChatModel(responses=["So it is [1]."]), WRAPPED[wrapped](ours))
    given: Any = {"input": QUESTION}
    said = await chain.ainvoke(given) if awaited else chain.invoke(given)
    expected = ours.invoke(QUESTION)
    assert max(len(one.metadata["chunk_ids"]) for one in expected) > 1  # with neighbors
    check(said["context"], expected)
    assert [one["chunk_ids"] for one in said["citations"]] == [expected[0].metadata["chunk_ids"]]
    texts = {one.id: one.page_content for one in CORPUS}
    for one in said["documents"]:
        assert one.page_content in texts[one.id or ""]


class Documents(TypedDict):
    documents: list[Document]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("kept", ["in memory", "in SQLite", "as JSON"])
def test_what_a_checkpoint_brings_back_is_a_document_and_whole(
    kept: str, strict: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langgraph._internal._serde.STRICT_MSGPACK_ENABLED", strict)
    expected = assembling(supplement="Appointment: Friday, 9:30.").invoke(QUESTION)
    thread: Any = {"configurable": {"thread_id": "1"}}
    if kept == "as JSON":
        restored = through_json(expected)
    else:
        with InMemorySaver() if kept == "in memory" else SqliteSaver.from_conn_string(":memory:") as saver:
            graph = StateGraph(Documents).add_node("find", lambda _: {"documents": expected}).add_edge(START, "find")
            graph.compile(checkpointer=saver).invoke({"documents": []}, thread)
            restored = graph.compile(checkpointer=saver).get_state(thread).values["documents"]
    assert restored == expected
    assert resolve("Yes [1].", restored).citations == ()
    everything = ContextAssembler(config=replace(OPEN, fill=True))
    context = everything.as_context().invoke({"documents": restored, "query": QUESTION})
    for block in expected:
        for line in block.page_content.splitlines():
            assert line in context.text
    assert not context.supplement
    assert not caplog.records
