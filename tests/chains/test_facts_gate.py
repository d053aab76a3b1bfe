"""The gate for the facts of a taxonomy, in both frameworks."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.embeddings import Embeddings
from llama_index.core.embeddings import MockEmbedding

from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
from ctxassembly.retrieval import Node, Question, Relation, Taxonomy
from langchain_ctxassembly import ContextRetriever as LangChainRetriever
from llamaindex_ctxassembly import ContextRetriever as LlamaIndexRetriever

FACT = "Dr. Abel works in Cardiology."
TAXONOMY = Taxonomy(
    [Node("card", "department", "Cardiology"), Node("abel", "doctor", "Abel")],
    [Relation("abel", "WORKS_IN", "card")],
    statements={"doctor": "Dr. {name} works in {department}."},
)
INDEX = MemoryIndex(
    [Chunk("a", "a", "Abel is on duty."), Chunk("b", "b", "The hall is open.")], [[1.0, 1.0], [1.0, 0.0]]
)


class Same(Embeddings):
    """The same vector for all texts."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 1.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 1.0]


class SameNode(MockEmbedding):
    """The same for LlamaIndex."""

    def _get_query_embedding(self, query: str) -> list[float]:
        return [1.0, 1.0]


def langchain_context(config: RetrievalConfig, asked: Question) -> str:
    return str(LangChainRetriever(INDEX, Same(), config=config, taxonomy=TAXONOMY).context(asked))


def llamaindex_context(config: RetrievalConfig, asked: Question) -> str:
    return str(LlamaIndexRetriever(INDEX, SameNode(2), config=config, taxonomy=TAXONOMY).context(asked))


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")
@pytest.mark.parametrize("context_of", [langchain_context, llamaindex_context])
@pytest.mark.parametrize(
    ("similarity", "intent", "is_given"), [(None, None, True), (0.9, None, False), (0.9, "who", True)]
)
def test_the_gate_goes_by_similarity_and_intent(context_of: Any, similarity: Any, intent: Any, is_given: bool) -> None:
    """The rule: the gate decides by the best vector similarity and the intent, not by the fused score."""
    config = RetrievalConfig(supplement_similarity=similarity, supplement_intents=("who",))
    assert (FACT in context_of(config, Question("Is Abel there?", intent=intent))) is is_given
