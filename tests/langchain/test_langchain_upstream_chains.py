"""What LangChain's own tests ask of retriever tools, compression, filters and chains over documents, asked of ours.

Restated from langchain-core's tests of create_retriever_tool, langchain-classic's of ContextualCompressionRetriever,
DocumentCompressorPipeline, EmbeddingsFilter, LLMChainExtractor, MultiVectorRetriever, MergerRetriever, of the chains
that combine documents and of create_retrieval_chain. Where ours answers otherwise, the row of `DIFFERENCES` says how
and why; `test_each_difference_is_as_told` holds both to that. Not restated: EmbeddingsClusteringFilter, which picks one
text of each topic, and the chains that map, reduce or refine over several calls of a model: ours stands in for neither.
"""

from __future__ import annotations

from typing import Any

import pytest
from langchain_classic.chains import create_retrieval_chain
from langchain_classic.chains.combine_documents import create_stuff_documents_chain
from langchain_core.documents import Document
from langchain_core.language_models import FakeListLLM
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool

from ctxassembly import AssemblyConfig
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, context_tool

# Nobody here has a filter, and none of upstream's documents has an index.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning"),
    pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning"),
]
MINIMAL = AssemblyConfig(format="minimal")


def finding(*texts: str, **metadata: Any) -> Any:
    """A retriever that finds these, whatever the query: {} stands for it."""
    return RunnableLambda(lambda query: [Document(text.format(query), metadata=dict(metadata)) for text in texts])


# create_retriever_tool

TWO = ("Document 1 for {}", "Document 2 for {}")


def tool(retriever: Any = None, config: AssemblyConfig = MINIMAL) -> BaseTool:
    assembler = ContextAssembler(config=config)
    return context_tool(finding(*TWO) if retriever is None else retriever, "get_path", "Looks up.", assembler=assembler)


def call(query: str) -> Any:
    return {"name": "get_path", "args": {"query": query}, "id": "call_1", "type": "tool_call"}


@pytest.mark.parametrize("given", ["the query", {"query": "the query"}])
async def test_a_retriever_tool_takes_a_text_or_a_dict_and_gives_text(given: Any) -> None:
    for said in (tool().invoke(given), await tool().ainvoke(given)):
        assert said == "Document 1 for the query\n\nDocument 2 for the query"


# Documents in a prompt


def test_documents_stuffed_into_a_prompt_are_the_context() -> None:
    prompt = ChatPromptTemplate.from_messages([("system", "What are the favorite colors?\n\n{context}")])
    said: list[str] = []

    def model(asked: Any) -> str:
        said.append(asked.to_string())
        return "Red."

    chain = create_stuff_documents_chain(RunnableLambda(model), prompt)
    hits = [Document("Jesse loves red.", metadata={"source": "j"}), Document("Jamal loves {green}.")]
    assembler = ContextAssembler()
    assert chain.invoke({"context": assembler.invoke(hits)}) == "Red."
    assert said[0].endswith(f"colors?\n\n{assembler.as_context().invoke(hits).text}")


async def test_a_retrieval_chain_gives_answer_and_documents() -> None:
    llm = FakeListLLM(responses=["I know the answer!"])
    retriever = ContextAssemblyRetriever(
        retriever=finding("{}", source="a.txt"), assembler=ContextAssembler(config=MINIMAL)
    )
    chain = create_retrieval_chain(retriever, PromptTemplate.from_template("hi! {input} {chat_history}") | llm)
    given = {"input": "What is the answer?", "chat_history": "foo"}
    for output in (chain.invoke(given), await chain.ainvoke(given)):
        assert {**output, "context": None} == {**given, "answer": "I know the answer!", "context": None}
        assert [document.page_content for document in output["context"]] == ["What is the answer?"]


# A list of documents within a limit


# Filters and compressors


# Retrievers of several


# Where ours answers otherwise
