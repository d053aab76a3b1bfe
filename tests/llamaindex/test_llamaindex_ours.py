"""What is ours is known by its type: metadata that only look like ours are a node's own, whatever they say."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from llama_index.core.base.response.schema import Response
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import LongContextReorder, SimilarityPostprocessor
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, TextNode

from ctxassembly import AssemblyConfig
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, resolve
from llamaindex_samples import Fixed

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


COPIES: dict[str, Any] = {
    "copy": lambda nodes: [copy.copy(one) for one in nodes],
    "deep": copy.deepcopy,
    "pickle": lambda nodes: pickle.loads(pickle.dumps(nodes)),
    "model": lambda nodes: [one.model_copy(deep=True) for one in nodes],
    "made anew": lambda nodes: [
        NodeWithScore(node=TextNode(id_=one.node_id, text=one.text, metadata=one.metadata), score=one.score)
        for one in nodes
    ],
    "fusion": lambda nodes: QueryFusionRetriever(
        [Fixed(nodes), Fixed(nodes)], llm=MockLLM(), num_queries=1, use_async=False
    ).retrieve("rules"),
    "postprocessors": lambda nodes: LongContextReorder().postprocess_nodes(
        SimilarityPostprocessor(similarity_cutoff=0.1).postprocess_nodes(nodes)
    ),
}


@pytest.mark.parametrize("kind", COPIES)
def test_copies_of_ours_are_ours(kind: str) -> None:
    config = AssemblyConfig(neighbors="unfiltered")
    texts = [TextNode(id_=name, text=f"Rule of {name}.", metadata={"file_name": f"{name}.pdf"}) for name in "ab"]
    nodes = [NodeWithScore(node=node, score=0.9 - n / 10) for n, node in enumerate(texts)]
    first = ContextAssemblyPostprocessor(config=config).postprocess_nodes(nodes)
    again = ContextAssemblyPostprocessor(config=config).postprocess_nodes(COPIES[kind](first))
    assert sorted(one.text.partition("\n")[2] for one in again) == ["Rule of a.", "Rule of b."]
    assert resolve(Response("So [1].", COPIES[kind](first))).citations == resolve(Response("So [1].", first)).citations
