"""Names that no parameter has, and prompts that no engine uses, are refused."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core import MockEmbedding, PromptTemplate, PropertyGraphIndex, SummaryIndex, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RouterQueryEngine
from llama_index.core.schema import TextNode
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import QueryEngineTool
from llama_index.core.vector_stores.types import VectorStoreQueryMode

from ctxassembly import ConfigError
from llamaindex_ctxassembly import AnswerChatEngine, AnswerQueryEngine, ContextAssemblyPostprocessor


def index() -> VectorStoreIndex:
    nodes = [TextNode(text="Ferritin is measured in the morning.", metadata={"file_name": "lab.pdf"})]
    return VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=4))


@pytest.mark.parametrize("name", ["filter", "kwargs", "max_tokens", "response_mode", "similarity_topk"])
def test_from_args_refuses_names_that_no_parameter_has(name: str) -> None:
    with pytest.raises(ConfigError, match=f"no parameter '{name}'"):
        AnswerQueryEngine.from_args(index(), MockLLM(), **{name: 3})


@pytest.mark.parametrize(
    "given",
    [
        {"similarity_top_k": 3, "alpha": 0.5, "vector_store_query_mode": VectorStoreQueryMode.DEFAULT},
        {"doc_ids": None, "sparse_top_k": 2, "vector_store_kwargs": {"a": 1}, "verbose": False},
        {"streaming": True, "mode": "full", "models": {}, "cache": None},
    ],
)
def test_from_args_takes_what_the_class_and_the_retriever_take(given: dict[str, Any]) -> None:
    assert AnswerQueryEngine.from_args(index(), MockLLM(), **given)


def test_other_indexes_too() -> None:
    summary = SummaryIndex([TextNode(text="Ferritin is measured in the morning.")])
    assert AnswerQueryEngine.from_args(summary, MockLLM())
    with pytest.raises(ConfigError, match="no parameter 'similarity_top_k'"):
        AnswerQueryEngine.from_args(summary, MockLLM(), similarity_top_k=3)
    graph = PropertyGraphIndex.from_existing(
        property_graph_store=PropertyGraphIndex([], llm=MockLLM(), embed_kg_nodes=False).property_graph_store,
        llm=MockLLM(),
        embed_kg_nodes=False,
    )
    assert AnswerQueryEngine.from_args(graph, MockLLM(), include_text=False, path_depth=2)
    with pytest.raises(ConfigError, match="no parameter 'path_dept'"):
        AnswerQueryEngine.from_args(graph, MockLLM(), path_dept=2)


def test_the_other_classes_refuse_them_too() -> None:
    with pytest.raises(TypeError, match="streamin"):
        AnswerChatEngine.from_defaults(index().as_retriever(), MockLLM(), streamin=True)
    with pytest.raises(ConfigError, match="no parameter 'filters'"):
        ContextAssemblyPostprocessor.from_index(index(), filters=3)


@pytest.mark.parametrize("name", ["text_qa_template", "response_synthesizer:text_qa_template"])
def test_prompts_are_refused_with_the_setting_to_use(name: str) -> None:
    engine = AnswerQueryEngine.from_args(index(), MockLLM())
    with pytest.raises(ConfigError, match=r"config=AnswerConfig\(style=..., template=..., extra_rules=...\)") as caught:
        engine.update_prompts({name: PromptTemplate("{context_str}")})
    assert name in str(caught.value)
    assert engine.get_prompts() == {}
    engine.update_prompts({})


def test_the_prompts_of_an_engine_around_it_can_be_updated() -> None:
    tool = QueryEngineTool.from_defaults(AnswerQueryEngine.from_args(index(), MockLLM()), name="lab", description="lab")
    router = RouterQueryEngine(LLMSingleSelector.from_defaults(MockLLM()), [tool], llm=MockLLM())
    router.update_prompts({"summarizer:summary_template": PromptTemplate("{context_str} {query_str}")})
    assert str(router.get_prompts()["summarizer:summary_template"].template) == "{context_str} {query_str}"
