"""The question asked: what was retrieved, and the context made of it through LangChain and through LlamaIndex."""

from __future__ import annotations

from dataclasses import dataclass

from langchain_core.vectorstores import VectorStore
from llama_index.core.schema import MetadataMode

from ctxassembly import AssemblyConfig, Context, PostgresIndex, RetrievalConfig, Retrieved
from langchain_ctxassembly import ContextAssembler
from langchain_ctxassembly import ContextRetriever as LangChainRetriever
from llamaindex_ctxassembly import ContextAssemblyPostprocessor
from llamaindex_ctxassembly import ContextRetriever as LlamaIndexRetriever

MIN_EVIDENCE = 0.5
"""Measured: 29 questions that the reference answers have 0.55 to 1.28, and of 22 on bread, taxes or the capital of
Mongolia all but one ("How do I change a tire?", 0.56) have 0.10 to 0.48."""
RETRIEVAL = RetrievalConfig(limit=8, min_evidence=MIN_EVIDENCE)
CONFIG = AssemblyConfig(max_tokens=4_000, neighbors="unfiltered")  # the demo has one reader


@dataclass(frozen=True)
class Answer:
    """What a language model would get to read for a question, and where it came from."""

    retrieved: Retrieved
    context: Context
    llamaindex_text: str
    """What LlamaIndex hands to the model for the same question."""


def retriever_over(vectorstore: VectorStore) -> LangChainRetriever:
    """LangChain's retriever of the demo."""
    index = PostgresIndex.attach(vectorstore, hnsw=False)
    assembler = ContextAssembler(config=CONFIG, store=index)
    return LangChainRetriever(index, vectorstore.embeddings, config=RETRIEVAL, assembler=assembler)


def ask(vectorstore: VectorStore, question: str) -> Answer:
    """The answer to read, retrieved and assembled twice; its two texts should be the same."""
    retriever = retriever_over(vectorstore)
    # The two halves of retriever.invoke(question), one by one, since the demo shows what goes in between.
    retrieved = retriever.retrieve(question)
    context = retriever.assembler.as_context().invoke({"documents": retrieved, "query": question})
    nodes = LlamaIndexRetriever(
        retriever.index,
        vectorstore.embeddings,
        config=RETRIEVAL,
        postprocessor=ContextAssemblyPostprocessor(config=CONFIG),
    ).retrieve(question)
    llamaindex_text = "\n\n".join(node.node.get_content(MetadataMode.LLM) for node in nodes)
    return Answer(retrieved, context, llamaindex_text)
