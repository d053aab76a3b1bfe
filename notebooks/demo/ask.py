"""The question asked: what was retrieved, and the context made of it through LangChain and through LlamaIndex."""

from __future__ import annotations

from dataclasses import dataclass

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode

from ctxassembly import AssemblyConfig, Context
from langchain_ctxassembly import ContextAssemblyRetriever
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

HITS = 8
CONFIG = AssemblyConfig(max_tokens=4_000, neighbours="unfiltered")  # the demo has one reader


@dataclass(frozen=True)
class Answer:
    """What a language model would get to read for a question, and where it came from."""

    retrieved: list[Document]
    """Best first, with their scores in `metadata["relevance_score"]`."""
    context: Context
    llamaindex_text: str
    """What LlamaIndex hands to the model for the same hits."""


def ask(vectorstore: VectorStore, question: str) -> Answer:
    """The answer to read, assembled twice; its two texts should be the same."""
    retriever = ContextAssemblyRetriever.from_vectorstore(vectorstore, config=CONFIG, hits=HITS)
    # The two halves of retriever.invoke(question), one by one, since the demo shows what goes in between.
    retrieved = retriever.retriever.invoke(question)
    context = retriever.assembler.as_context().invoke({"documents": retrieved, "query": question})
    return Answer(retrieved, context, _through_llamaindex(retrieved, question, retriever.assembler.store))


def _through_llamaindex(retrieved: list[Document], question: str, store: object) -> str:
    nodes = [
        NodeWithScore(node=TextNode(id_=each.id, text=each.page_content, metadata=each.metadata)) for each in retrieved
    ]
    assembled = ContextAssemblyPostprocessor(config=CONFIG, store=store).postprocess_nodes(nodes, query_str=question)
    return "\n\n".join(node.node.get_content(MetadataMode.LLM) for node in assembled)
