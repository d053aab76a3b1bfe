"""`token_budget`: a context that LlamaIndex's response modes don't split again."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import llama_index.core
import pytest
from llama_index.core import Document, Settings, VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter

from ctxassembly import AssemblyConfig
from llamaindex_ctxassembly import (
    CITATION_QA_TEMPLATE,
    CITATION_REFINE_TEMPLATE,
    ContextAssemblyPostprocessor,
    token_budget,
)
from llamaindex_samples import TEXTS, Answering, WordEmbedding

QUESTION = "Who carried the dye across the lake, and who answered with a tax?"


@pytest.fixture(scope="module")
def long() -> VectorStoreIndex:
    documents = [
        Document(
            text="\n\n".join(f"Year {year}-{at}. {text}" for at in range(6) for text in TEXTS),
            metadata={"file_name": f"{year}.pdf"},
        )
        for year in range(1790, 1796)
    ]
    splitter = SentenceSplitter(chunk_size=120, chunk_overlap=0)
    return VectorStoreIndex.from_documents(documents, transformations=[splitter], embed_model=WordEmbedding())


@pytest.fixture
def words() -> Iterator[None]:
    """A tokenizer of the user's own, which counts words."""
    Settings.tokenizer = str.split
    yield
    llama_index.core.global_tokenizer = None


def asked(index: VectorStoreIndex, llm: Answering, max_tokens: Any, **settings: Any) -> str:
    """The context of one question; `llm` has the prompts."""
    config = AssemblyConfig(max_tokens=max_tokens, granularity="chunk", dedup="none", dedup_sentences=False)
    assembly = ContextAssemblyPostprocessor(config=config, docstore=index.docstore, neighbors="unfiltered")
    given = {"text_qa_template": CITATION_QA_TEMPLATE, "refine_template": CITATION_REFINE_TEMPLATE, **settings}
    engine = index.as_query_engine(llm=llm, similarity_top_k=60, node_postprocessors=[assembly], **given)
    return "\n\n".join(node.text for node in engine.query(QUESTION).source_nodes)


@pytest.mark.parametrize("window", [1_800, 3_900])
@pytest.mark.parametrize("output", [-1, 256, 700])
@pytest.mark.parametrize("mode", ["compact", "tree_summarize"])
def test_a_context_within_the_budget_arrives_whole_in_one_call(
    long: VectorStoreIndex, window: int, output: int, mode: str
) -> None:
    llm = Answering(context_window=window, num_output=output)
    budget = token_budget(llm, query=QUESTION)
    context = asked(long, llm, budget, response_mode=mode, summary_template=CITATION_QA_TEMPLATE)
    assert len(llm.prompts) == 1
    assert f"Context:\n{context}\n\n---\n\nQuestion: {QUESTION}" in llm.prompts[0]
    assert budget.generation == (256 if output < 0 else output)


def test_the_limit_is_that_of_llamaindex_to_the_token() -> None:
    llm = Answering(context_window=1_800)
    room = token_budget(llm, query=QUESTION).context
    from llama_index.core import get_response_synthesizer
    from llama_index.core.schema import NodeWithScore, TextNode

    calls = []
    for tokens in (room - 2, room + 2):  # the question counts a token more or less within its line
        synthesizer = get_response_synthesizer(
            llm=llm, text_qa_template=CITATION_QA_TEMPLATE, refine_template=CITATION_REFINE_TEMPLATE
        )
        before = len(llm.prompts)
        synthesizer.synthesize(QUESTION, [NodeWithScore(node=TextNode(text=" dye" * tokens))])
        calls.append(len(llm.prompts) - before)
    assert calls == [1, 2]


@pytest.mark.usefixtures("words")
def test_tokens_are_those_of_the_tokenizer_in_settings(long: VectorStoreIndex) -> None:
    llm = Answering(context_window=1_200)
    budget = token_budget(llm, query=QUESTION)
    assert budget.query == len(QUESTION.split())
    context = asked(long, llm, budget)
    assert len(llm.prompts) == 1
    assert context in llm.prompts[0]
    assert budget.context - 60 < len(context.split()) <= budget.context
    config = AssemblyConfig(max_tokens=budget)
    assert pickle.loads(pickle.dumps(config)) is not None
    assert callable(config.encoding)
