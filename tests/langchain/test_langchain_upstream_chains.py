"""What LangChain's own tests ask of retriever tools, compression, filters and chains over documents, asked of ours.

Restated from langchain-core's tests of create_retriever_tool, langchain-classic's of ContextualCompressionRetriever,
DocumentCompressorPipeline, EmbeddingsFilter, LLMChainExtractor, MultiVectorRetriever, MergerRetriever, of the chains
that combine documents and of create_retrieval_chain. Where ours answers otherwise, the row of `DIFFERENCES` says how
and why; `test_each_difference_is_as_told` holds both to that. Not restated: EmbeddingsClusteringFilter, which picks one
text of each topic, and the chains that map, reduce or refine over several calls of a model: ours stands in for neither.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_classic.chains import create_retrieval_chain
from langchain_classic.chains.combine_documents import create_stuff_documents_chain
from langchain_classic.chains.combine_documents.reduce import split_list_of_docs
from langchain_classic.retrievers import ContextualCompressionRetriever, MergerRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListLLM
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate, format_document
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, create_retriever_tool
from langchain_text_splitters import CharacterTextSplitter

from ctxassembly import AssemblyConfig, Context
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


class Kinds(Embeddings):
    """One direction for each kind of text that upstream's tests know."""

    WORDS = ("cow", "cookie", "celtic", "color", "food", "restaurant", "farm", "movie", "foo bar")
    SAME = (("restaurant", "food"), ("cookie", "food"), ("farm", "cow"))

    def embed_query(self, text: str) -> list[float]:
        said = {dict(self.SAME).get(word, word) for word in self.WORDS if word in text.lower()}
        vector = [float(word in said) for word in self.WORDS]
        return vector if any(vector) else [*vector[:-1], 1.0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def test_a_pipeline_splits_and_keeps_one_of_two_that_say_the_same() -> None:
    texts = ["This sentence is about cows", "This sentence was about cows", "foo bar baz"]
    splitter = CharacterTextSplitter(chunk_size=20, chunk_overlap=0, separator=". ")
    assembler = ContextAssembler(config=AssemblyConfig(dedup="semantic", format="minimal"), embeddings=Kinds())
    pipeline = DocumentCompressorPipeline(transformers=[splitter, assembler])
    found = pipeline.compress_documents([Document(". ".join(texts))], "Tell me of farm animals")
    read = "\n".join(document.page_content for document in found)
    assert (texts[0] in read, texts[1] in read, texts[2] in read) == (True, False, True)


async def test_an_extractor_keeps_what_the_model_quotes_and_drops_what_it_finds_irrelevant() -> None:
    documents = [
        Document("The sky is blue. Candlepin bowling is popular in New England.", metadata={"source": "a"}),
        Document("Mercury is the closest planet to the Sun. Candlepin balls are smaller.", metadata={"source": "b"}),
        Document("The moon is round, and nobody has ever bowled there or will.", metadata={"source": "c"}),
    ]

    def said(prompt: Any) -> str:
        known = ("Candlepin bowling is popular in New England.", "Candlepin balls are smaller.")
        return next((line for line in known if line in str(prompt)), "IRRELEVANT")

    config = AssemblyConfig(compress="llm", format="minimal", max_tokens=26, granularity="chunk")
    assembler = ContextAssembler(config=config, llm=RunnableLambda(said))
    given = documents, "Tell me of candlepin bowling."
    for found in (assembler.compress_documents(*given), await assembler.acompress_documents(*given)):
        read = "\n".join(document.page_content for document in found)
        assert "Candlepin bowling is popular in New England." in read
        assert "moon" not in read
        assert [document.metadata["source"] for document in found] == ["a", "b"]


# Retrievers of several


DOCS = (("doc1", "doc2"), ("doc3", "doc4"))


class Same(BaseDocumentCompressor):
    """Leaves documents as they are."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        return documents


async def test_a_merger_of_retrievers_takes_turns() -> None:
    finds = [ContextualCompressionRetriever(base_compressor=Same(), base_retriever=finding(*two)) for two in DOCS]
    both = MergerRetriever(retrievers=finds)
    ours = ContextAssemblyRetriever(retriever=both, assembler=ContextAssembler(config=MINIMAL))
    for found in (ours.invoke("x"), await ours.ainvoke("x")):
        assert [document.page_content for document in found] == ["doc1", "doc3", "doc2", "doc4"]


# Where ours answers otherwise


def theirs_of(*found: str) -> str:
    return str(create_retriever_tool(finding(*found), "get_path", "Looks up.").invoke("x"))


def characters(most: int, documents: list[Document]) -> Context:
    config = AssemblyConfig(format="minimal", max_characters=most)
    return ContextAssembler(config=config).as_context().invoke(documents)


def raises(function: Callable[[], Any]) -> str:
    try:
        function()
    except ValueError:
        return "an error"
    return "none"


DIFFERENCES: dict[str, tuple[Callable[[], Any], Any, Callable[[], Any], Any, str]] = {
    "a tool that finds nothing": (
        theirs_of,
        "",
        lambda: tool(finding()).invoke("x"),
        "(No documents were found.)",
        "a model that gets an empty result asks again, and some providers refuse one",
    ),
    "the artifact of a tool": (
        lambda: type(
            create_retriever_tool(finding("a"), "get_path", "Looks up.", response_format="content_and_artifact")
            .invoke(call("x"))
            .artifact
        ),
        list,
        lambda: type(tool().invoke(call("x")).artifact).__base__,
        dict,
        "a strict checkpoint takes plain data without a word, and it has provenance and trace; theirs is documents",
    ),
    "a document without a key that its form names": (
        lambda: raises(lambda: format_document(Document("foo"), PromptTemplate.from_template("{page_content} {bar}"))),
        "an error",
        lambda: (
            ContextAssembler(config=AssemblyConfig(format="minimal", header_keys=("bar",)))
            .invoke([Document("foo")])[0]
            .page_content
        ),
        "foo",
        "one document without a date would fail the whole answer",
    ),
    "metadata named page_content": (
        lambda: format_document(
            Document("foo", metadata={"page_content": "bar"}), PromptTemplate.from_template("{page_content}")
        ),
        "bar",
        lambda: (
            ContextAssembler(config=MINIMAL).invoke([Document("foo", metadata={"page_content": "bar"})])[0].page_content
        ),
        "foo",
        "theirs reads metadata in the place of the text where both have the name",
    ),
    "one document longer than the limit": (
        lambda: raises(lambda: split_list_of_docs([Document("foo" * 100)], lambda of: len(of[0].page_content), 100)),
        "an error",
        lambda: len(characters(100, [Document("foo " * 100)]).text) <= 100,
        True,
        "the best hit always stands, cut at a sentence, a word or a character, and marked",
    ),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_each_difference_is_as_told(name: str) -> None:
    theirs, expected, ours, instead, why = DIFFERENCES[name]
    assert theirs() == expected
    assert ours() == instead
    assert why
