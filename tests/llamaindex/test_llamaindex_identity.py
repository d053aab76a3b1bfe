"""Two indexes that both have a `handbook.pdf`: a node of one is no neighbour of a node of the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode

from ctxassembly import NothingToJoinWarning
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, number_chunks
from llamaindex_samples import WordEmbedding

WORDS = ["harbour", "falcon", "ember", "lantern", "meadow"]


def handbook(whose: str) -> list[TextNode]:
    texts = [f"At {whose} the {word} rule number {at} of {whose} is kept." for at, word in enumerate(WORDS)]
    nodes = [TextNode(text=text, metadata={"file_name": "handbook.pdf", "page_label": "1"}) for text in texts]
    return number_chunks(nodes)  # type: ignore[return-value]


def index_of(nodes: Sequence[TextNode]) -> VectorStoreIndex:
    return VectorStoreIndex(
        list(nodes),
        embed_model=WordEmbedding(),
        storage_context=StorageContext.from_defaults(),
        store_nodes_override=True,
    )


NORTH, SOUTH = handbook("north"), handbook("south")
TEXTS = [node.get_content(MetadataMode.NONE) for node in (*NORTH, *SOUTH)]


def scored(*nodes: TextNode) -> list[NodeWithScore]:
    return [NodeWithScore(node=node, score=1.0 - at / 10) for at, node in enumerate(nodes)]


def over(nodes: Sequence[TextNode], **more: Any) -> ContextAssemblyPostprocessor:
    return ContextAssemblyPostprocessor(docstore=index_of(nodes).docstore, neighbours="unfiltered", **more)


def test_a_docstore_of_another_index_gives_no_neighbours_and_says_so_once() -> None:
    assert [node.node_id for node in NORTH] == [node.node_id for node in SOUTH]
    postprocessor = over(NORTH)
    with pytest.warns(NothingToJoinWarning, match="The store doesn't hold 1 of 1 hit") as seen:
        context = postprocessor.context(scored(SOUTH[2]))
    postprocessor.context(scored(SOUTH[2]))  # a second warning would be an error
    assert len(seen) == 1
    assert [text in context.text for text in TEXTS] == [False] * 5 + [at == 2 for at in range(5)]


def test_nodes_of_two_indexes_are_of_two_documents() -> None:
    with pytest.warns(NothingToJoinWarning, match="doesn't hold 1 of 2 hits"):
        context = over(NORTH).context(scored(SOUTH[1], NORTH[2]))
    assert [text in context.text for text in TEXTS] == [False, True, True, True, False] + [at == 1 for at in range(5)]
    assert len(context.citations) == 2
    for passage in context.passages:
        assert not ("north" in passage.text and "south" in passage.text)


def test_a_node_whose_text_is_its_window_keeps_its_neighbours() -> None:
    window = " ".join(node.get_content(MetadataMode.NONE) for node in NORTH[1:4])
    node = NORTH[2].model_copy(update={"text": window})
    context = over(NORTH).context(scored(node))
    assert set(context.citations[0].chunk_ids) > {node.node_id} or TEXTS[1] in context.text
    assert context.trace.missing is None
