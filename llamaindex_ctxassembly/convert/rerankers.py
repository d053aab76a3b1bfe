"""LlamaIndex postprocessors that rerank, and cross-encoders, as rerankers of a retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, TextNode

from ctxassembly.data.chunks import Chunk
from ctxassembly.integrations.cross_encoder import reranker_of
from ctxassembly.protocols import Ranked, Reranker


def as_reranker(given: Any) -> Reranker:
    """The reranking of `given`: a postprocessor, a cross-encoder with `predict`, or a function as it is.

    Raises:
        ConfigError: `given` is none of these.
    """
    if isinstance(given, BaseNodePostprocessor):
        return partial(_postprocessed, given)
    return reranker_of(given, "node postprocessors, cross-encoders or functions")


def _postprocessed(postprocessor: BaseNodePostprocessor, query: str, chunks: Sequence[Chunk]) -> list[Ranked]:
    # The place is the id: it comes back whatever a postprocessor does with metadata.
    nodes = [
        NodeWithScore(node=TextNode(id_=str(place), text=chunk.text, metadata=dict(chunk.metadata)))
        for place, chunk in enumerate(chunks)
    ]
    kept = postprocessor.postprocess_nodes(nodes, query_str=query)
    return [(int(node.node.node_id), node.score) for node in kept if node.node.node_id.isdecimal()]
