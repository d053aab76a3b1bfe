"""`scorer=` through LlamaIndex's own engines: an answer in other words than the question's."""

from __future__ import annotations

from typing import Any

import pytest
from leaflet import ANSWER, LEAFLET, QUERY, WARDS
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import NodeWithScore, TextNode
from pydantic import PrivateAttr

from ctxassembly import AssemblyConfig, ConfigError
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

pytestmark = pytest.mark.filterwarnings(
    "ignore::ctxassembly.errors.FilterNotSeenWarning", "ignore::ctxassembly.errors.NothingToJoinWarning"
)

CONFIG = AssemblyConfig(max_tokens=24, format="minimal")


class Meaning(BaseEmbedding):
    """Knows that fluids are drunk, and keeps what it was asked to embed."""

    _asked: list[str] = PrivateAttr(default_factory=list)

    def _get_text_embedding(self, text: str) -> list[float]:
        self._asked.append(text)
        return self._get_query_embedding(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return [1.0, 0.0] if "drink" in query or "Fluids" in query else [0.0, 1.0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def nodes() -> list[TextNode]:
    return [TextNode(id_=f"node{at}", text=text) for at, text in enumerate((LEAFLET, *WARDS))]


def engine(scorer: Any) -> RetrieverQueryEngine:
    context = StorageContext.from_defaults()
    index = VectorStoreIndex(nodes(), embed_model=Meaning(), storage_context=context)
    postprocessor = ContextAssemblyPostprocessor(config=CONFIG, docstore=index.docstore, scorer=scorer)
    return RetrieverQueryEngine.from_args(
        index.as_retriever(similarity_top_k=5), llm=MockLLM(), node_postprocessors=[postprocessor]
    )


def text(found: list[NodeWithScore]) -> str:
    return "\n\n".join(node.text for node in found)


async def test_a_query_engine_finds_the_answer_with_a_scorer_alone_sync_and_async() -> None:
    assert ANSWER not in text(engine(None).query(QUERY).source_nodes)
    with_it = engine(Meaning())
    found = text(with_it.query(QUERY).source_nodes)
    assert ANSWER in found
    assert text((await with_it.aquery(QUERY)).source_nodes) == found


def test_what_is_no_scorer_is_an_error_at_construction() -> None:
    with pytest.raises(ConfigError, match=r"scorer must be a model with embed_query"):
        ContextAssemblyPostprocessor(scorer="all-MiniLM-L6-v2")
