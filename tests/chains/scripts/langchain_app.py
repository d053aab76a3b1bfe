"""LangChain chains as an application has them; each line that has to be shown ends with the name of its case.

A step of an async chain and a call in a thread are shown at the line that made the object, which ends with "made"."""

from __future__ import annotations

import asyncio
import chunk
from typing import Any, TypedDict

from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import create_retriever_tool
from langchain_core.vectorstores import InMemoryVectorStore, VectorStoreRetriever
from langgraph.graph import END, START, StateGraph
from report import report

from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever

QUESTION = "What did the weavers pay?"


class State(TypedDict):
    question: str
    documents: list[Document]


def searcher() -> VectorStoreRetriever:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents([Document(f"Bale {at} of wool.", metadata={"source": "a.pdf"}) for at in range(4)])
    return store.as_retriever()


def pipe() -> Runnable[Any, Any]:
    return searcher() | ContextAssembler()  # made


def invoke() -> None:
    chain = pipe()
    chain.invoke(QUESTION)  # invoke
    chain.invoke(QUESTION)


def ainvoke() -> None:
    async def main() -> None:
        chain = pipe()
        await chain.ainvoke(QUESTION)
        await chain.ainvoke(QUESTION)

    asyncio.run(main())


def batch() -> None:
    pipe().batch([QUESTION, "Who?"])


def abatch() -> None:
    async def main() -> None:
        await pipe().abatch([QUESTION, "Who?"])

    asyncio.run(main())


def ensemble() -> None:
    both = EnsembleRetriever(retrievers=[searcher(), searcher()])
    ContextAssemblyRetriever(retriever=both).invoke(QUESTION)  # ensemble


def ensemble_of_assembled() -> None:
    assembled = ContextAssemblyRetriever(retriever=searcher())  # made
    asyncio.run(EnsembleRetriever(retrievers=[assembled, searcher()]).ainvoke(QUESTION))


def compression() -> None:
    retriever = ContextualCompressionRetriever(base_retriever=searcher(), base_compressor=ContextAssembler())
    retriever.invoke(QUESTION)  # compression


def retry() -> None:
    pipe().with_retry().invoke(QUESTION)  # retry


def aretry() -> None:
    asyncio.run(pipe().with_retry().ainvoke(QUESTION))


def function() -> None:
    inner = pipe()

    def search(question: str) -> Any:
        return inner.invoke(question)  # function

    (RunnableLambda(str) | RunnableLambda(search)).batch([QUESTION])


def graph() -> None:
    inner = pipe()

    async def search(state: State) -> dict[str, Any]:
        return {"documents": await inner.ainvoke(state["question"])}

    built = StateGraph(State)
    built.add_node("search", search)
    built.add_edge(START, "search")
    built.add_edge("search", END)
    asyncio.run(built.compile().ainvoke({"question": QUESTION, "documents": []}))


def tool() -> None:
    search = create_retriever_tool(ContextAssemblyRetriever(retriever=searcher()), "search", "Search.")
    search.invoke({"query": QUESTION})  # tool


def own_module() -> None:
    chunk.ask(pipe().invoke, QUESTION)


def own_module_async() -> None:
    asyncio.run(chunk.aask(pipe().ainvoke, QUESTION))


report(
    [
        invoke,
        ainvoke,
        batch,
        abatch,
        ensemble,
        ensemble_of_assembled,
        compression,
        retry,
        aretry,
        function,
        graph,
        tool,
        own_module,
        own_module_async,
    ]
)
