"""Cached answers of engines: shared by those whom the caller names, and by equal settings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.base.llms.types import ChatMessage, LLMMetadata
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from ctxassembly import AssemblyConfig, Chunk, ConfigError, InputError, MemoryIndex, RetrievalConfig
from ctxassembly.answering import AnswerConfig, Exchange, ScopeCall
from llamaindex_ctxassembly import AnswerChatEngine, AnswerQueryEngine, ContextAssemblyPostprocessor, ContextRetriever
from llamaindex_samples import WordEmbedding
from test_llamaindex_answer_chain import Scripted, Shelf

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")

QUESTION = "Who pays for IT?"
TEXTS = {"ours": "IT is paid by us.", "theirs": "IT is paid by them."}


def nodes(*tenants: str) -> list[TextNode]:
    return [
        TextNode(id_=name, text=TEXTS[name], metadata={"file_name": f"{name}.pdf", "tenant": name})
        for name in tenants or TEXTS
    ]


def where(tenant: str) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key="tenant", value=tenant)])


INDEX = VectorStoreIndex(nodes(), embed_model=WordEmbedding())


def fusion(**given: Any) -> QueryFusionRetriever:
    return QueryFusionRetriever(
        [INDEX.as_retriever(**given)], llm=MockLLM(), num_queries=1, similarity_top_k=2, use_async=False
    )


def engine(shelf: Shelf, retriever: Any = None, llm: Any = None, scope: Any = "all", **given: Any) -> AnswerQueryEngine:
    searched = INDEX.as_retriever() if retriever is None else retriever
    return AnswerQueryEngine(llm or Scripted(), searched, cache=shelf, cache_scope=scope, **given)


def test_a_cache_needs_to_be_told_who_may_share_answers() -> None:
    makers: list[Callable[[], Any]] = [
        lambda: AnswerQueryEngine(Scripted(), INDEX.as_retriever(), cache=Shelf()),
        lambda: AnswerQueryEngine.from_args(INDEX, Scripted(), cache=Shelf()),
        lambda: AnswerChatEngine.from_defaults(INDEX.as_retriever(), Scripted(), cache=Shelf()),
    ]
    for make in makers:
        with pytest.raises(ConfigError, match=r"cache= needs to know who may share answers: add cache_scope=lambda"):
            make()
    with pytest.raises(InputError, match="cache_scope must be"):
        AnswerQueryEngine.from_args(INDEX, Scripted(), cache=Shelf(), cache_scope=object())


HOW: dict[str, Callable[[AnswerQueryEngine], Any]] = {
    "query": lambda made: made.query(QUESTION),
    "aquery": lambda made: asyncio.run(made.aquery(QUESTION)),
    "chat": lambda made: AnswerChatEngine(made).chat(QUESTION),
    "stream_chat": lambda made: "".join(AnswerChatEngine(made).stream_chat(QUESTION).response_gen),
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("make", [fusion, INDEX.as_retriever], ids=["fusion", "index"])
def test_who_shares_a_scope_shares_answers_and_nobody_else(make: Any, how: str) -> None:
    shelf, asked = Shelf(), []
    for scope in ("acme", "globex", "acme", {"tenant": "acme"}):
        llm = Scripted()
        HOW[how](engine(shelf, make(), llm, scope))
        asked.append(len(llm._asked))
    assert (asked, len(shelf)) == ([1, 1, 0, 1], 3)


def test_a_function_reads_the_call_and_may_keep_it_out_of_the_cache() -> None:
    calls: list[ScopeCall] = []
    history = [ChatMessage("Hi"), ChatMessage("Hello.", role="assistant")]
    made = engine(Shelf(), scope=lambda call: calls.append(call) or "all")
    made.answer(QUESTION, chat_history=history, filters=where("ours"), mode="full")
    assert calls == [ScopeCall(QUESTION, where("ours"), "full", (Exchange("Hi", "Hello."),), None)]
    shelf, llm = Shelf(), Scripted()
    for _ in range(2):
        engine(shelf, None, llm, lambda call: None).query(QUESTION)
    assert (len(llm._asked), shelf) == (2, {})


def test_a_scope_is_told_the_filter_as_the_call_gave_it() -> None:
    chunks = [Chunk(name, name, text, 0, metadata={"tenant": name, "acl": "all"}) for name, text in TEXTS.items()]
    searched = ContextRetriever(
        MemoryIndex(chunks), config=RetrievalConfig(strategy="keyword"), filters={"tenant": "ours"}
    )
    told: list[Any] = []
    made = engine(Shelf(), searched, scope=lambda call: told.append(call.filter) or "all")
    assert TEXTS["theirs"] not in made.answer(QUESTION, filters={"acl": "all"}).context.text
    assert told == [{"acl": "all"}]


class Other(Scripted):
    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, model_name="other")


def processor(**given: Any) -> dict[str, Any]:
    return {"postprocessor": ContextAssemblyPostprocessor.from_index(INDEX, **given)}


def identity(chunks: Any) -> Any:
    return chunks


OTHERS: dict[str, dict[str, Any]] = {
    "llm": {"llm": Other()},
    "models": {"models": {"full": Other()}},
    "mode": {"mode": "full"},
    "answering": {"config": AnswerConfig(style="strict")},
    "number of nodes": {"retriever": INDEX.as_retriever(similarity_top_k=1)},
    "filters of the retriever": {"retriever": INDEX.as_retriever(filters=where("ours"))},
    "another filter": {"retriever": INDEX.as_retriever(filters=where("theirs"))},
    "retriever": {"retriever": fusion()},
    "assembly": processor(config=AssemblyConfig(window=0)),
    "neighbors": processor(neighbors="unfiltered"),
    "filter": processor(filter=where("ours")),
    "filter of a function": processor(filter=lambda query: where("theirs")),
    "transform_fetched": processor(transform_fetched=identity),
    "store": {"postprocessor": ContextAssemblyPostprocessor()},
    "supplement": processor(supplement="IT is a department."),
}


def test_each_setting_makes_another_key() -> None:
    shelf = Shelf()
    for given in ({}, *OTHERS.values(), {}):
        engine(shelf, **{**processor(), **given}).query(QUESTION)
    assert len(shelf) == 1 + len(OTHERS)


def test_each_setting_of_a_context_retriever_and_of_a_call_makes_another_key() -> None:
    chunks = [Chunk(name, name, text, 0, metadata={"tenant": name}) for name, text in TEXTS.items()]

    def retriever(limit: int = 5, **given: Any) -> ContextRetriever:
        return ContextRetriever(MemoryIndex(chunks), config=RetrievalConfig(strategy="keyword", limit=limit), **given)

    def rerank(query: str, chunks: Any) -> list[tuple[int, float]]:
        return [(0, 1.0)]

    shelf = Shelf()
    unfiltered = ContextAssemblyPostprocessor(neighbors="unfiltered")
    made = [
        retriever(),
        retriever(6),
        retriever(rerankers=[rerank]),
        retriever(filters={"tenant": "ours"}),
        retriever(postprocessor=unfiltered),
        retriever(postprocessor=ContextAssemblyPostprocessor(config=AssemblyConfig(format="xml"))),
    ]
    for one in (*made, *made):
        engine(shelf, one).answer(QUESTION)
    assert len(shelf) == len(made)
    asked = Scripted()
    for filters in ({"tenant": "theirs"}, {"tenant": "theirs"}, {"file_name": "theirs.pdf", "tenant": "theirs"}):
        engine(shelf, retriever(), asked).answer(QUESTION, filters=filters)
    assert len(asked._asked) == 1
    before = len(shelf)
    answer = engine(shelf, retriever(filters=lambda chunk: True)).answer(QUESTION)
    assert len(shelf) == before
    assert any("can't be compared" in note for note in answer.notes)
