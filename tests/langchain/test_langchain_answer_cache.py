"""Answers of `answer_chain` are shared by those whom the caller names, and by nobody else."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.caches import InMemoryCache
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from chain_samples import HOW, KEYWORD, Scripted
from ctxassembly import AssemblyConfig, Chunk, MemoryIndex, RetrievalConfig
from ctxassembly.answering import AnswerConfig, ScopeCall
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    ContextRetriever,
    VectorStoreNeighbors,
    answer_chain,
)
from langchain_samples import WordEmbeddings

pytestmark = [
    pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning"),
    pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning"),
]

QUESTION = "When does the contract end?"
TEXTS = {"ours": "The contract of Ms Vos ends on 30 June.", "theirs": "The contract with the city ends on 1 May."}


def documents(*tenants: str) -> list[Document]:
    return [Document(TEXTS[name], id=name, metadata={"source": f"{name}.pdf", "tenant": name}) for name in tenants]


def store(*tenants: str) -> InMemoryVectorStore:
    made = InMemoryVectorStore(WordEmbeddings())
    made.add_documents(documents(*(tenants or TEXTS)))
    return made


def index() -> MemoryIndex:
    return MemoryIndex([Chunk(n, n, text, 0, metadata={"tenant": n}) for n, text in TEXTS.items()])


def says(messages: Any) -> str:
    return f"It ends on {'30 June' if TEXTS['ours'] in str(messages[-1].content) else '1 May'} [1]."


def tenant_of(call: ScopeCall) -> Any:
    return call.config["configurable"].get("tenant")


@pytest.mark.parametrize("how", HOW)
def test_an_ensemble_for_each_tenant_shares_answers_by_the_tenant_in_the_config(how: str) -> None:
    cache, asked = InMemoryCache(), []
    for tenant in ("ours", "theirs", "ours"):
        searched = store(tenant).as_retriever()
        llm = Scripted(says=says)
        retriever = EnsembleRetriever(retrievers=[searched, searched]).with_retry()
        chain = answer_chain(llm, retriever, cache=cache, cache_scope=tenant_of)
        output = HOW[how](chain, {"input": QUESTION}, {"configurable": {"tenant": tenant}})
        assert output["result"].context.citations[0].metadata["tenant"] == tenant
        asked.append(len(llm.asked))
    assert asked == [1, 1, 0]


def over(assembler: ContextAssembler | None = None, **search: Any) -> Any:
    return ContextAssemblyRetriever(
        retriever=store().as_retriever(search_kwargs=search), assembler=assembler or ContextAssembler()
    )


def of_index(config: RetrievalConfig = KEYWORD, **settings: Any) -> ContextRetriever:
    return ContextRetriever(index(), config=config, **settings)


def by_function(found: Document) -> bool:
    return bool(found.metadata["tenant"] == "ours")


FIRST, OTHER = (FakeListChatModel(responses=["Soon [1]."] * 9, name=name) for name in ("first", "other"))
OTHERS: dict[str, Any] = {
    "search_kwargs": lambda: (FIRST, over(k=1)),
    "a function": lambda: (FIRST, RunnableLambda(lambda query: documents("ours"))),
    "assembler.config": lambda: (FIRST, over(ContextAssembler(config=AssemblyConfig(window=0)))),
    "assembler.filter": lambda: (FIRST, over(ContextAssembler(filter={"tenant": "ours"}))),
    "assembler.store": lambda: (FIRST, over(ContextAssembler(store=VectorStoreNeighbors(store())))),
    "a supplement": lambda: (
        FIRST,
        ContextAssemblyRetriever(retriever=store().as_retriever(), supplement="Opened at 9."),
    ),
    "ContextRetriever": lambda: (FIRST, of_index()),
    "ContextRetriever.config": lambda: (FIRST, of_index(RetrievalConfig(strategy="keyword", limit=3))),
    "ContextRetriever.filter": lambda: (FIRST, of_index(filter={"tenant": "ours"})),
    "ContextRetriever.index": lambda: (
        FIRST,
        ContextRetriever(index().with_filter({"tenant": "ours"}), config=KEYWORD),
    ),
    "ContextRetriever.assembler": lambda: (
        FIRST,
        of_index(assembler=ContextAssembler(config=AssemblyConfig(max_tokens=99))),
    ),
    "the model": lambda: (OTHER, over()),
    "the model by mode": lambda: (FIRST, over(), {}, {"models": {"full": OTHER}}),
    "fallbacks": lambda: (FIRST.with_fallbacks([OTHER]), over()),
    "config": lambda: (FIRST, over(), {}, {"config": AnswerConfig(extra_rules=("Be brief.",))}),
}


def test_each_setting_makes_another_key() -> None:
    cache = InMemoryCache()
    calls = [(FIRST, over()), *(make() for make in OTHERS.values())]
    for llm, retriever, *rest in calls:
        asked, settings = (*rest, {}, {})[:2]
        chain = answer_chain(llm, retriever, cache=cache, cache_scope="everybody", **settings)
        chain.invoke({"input": QUESTION, **asked})
    assert len(cache._cache) == 1 + len(OTHERS)


def test_a_filter_that_is_a_function_keeps_nothing_wherever_it_is_given() -> None:
    cache = InMemoryCache()
    ways = [
        (over(), {"filter": by_function}),
        (over(filter=by_function), {}),
        (over(ContextAssembler(filter=by_function)), {}),
    ]
    for retriever, asked in ways:
        output = answer_chain(FIRST, retriever, cache=cache, cache_scope="everybody").invoke(
            {"input": QUESTION, **asked}
        )
        assert "cache: the filter can't be compared" in str(output["trace"]["notes"])
    assert cache._cache == {}
