"""What of a node is the document, the place, the score and the text of its citation."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from ctxassembly import AssemblyConfig, Context, MetadataKeys
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

BY_PATH = MetadataKeys(document_id="file_path")
OF_A: Any = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="A")}
MANY: Any = [RelatedNodeInfo(node_id="x"), RelatedNodeInfo(node_id="y")]


def node(metadata: dict[str, Any] | None = None, **fields: Any) -> TextNode:
    return TextNode(id_="n", text="Text.", metadata=metadata or {}, **fields)


def context_of(node: TextNode, score: float | None = None, **settings: Any) -> Context:
    postprocessor = ContextAssemblyPostprocessor(config=AssemblyConfig(**settings))
    return postprocessor.context([NodeWithScore(node=node, score=score)])


@pytest.mark.parametrize(
    ("given", "keys", "expected"),
    [
        (node({"document_id": "D"}), MetadataKeys(), "D"),
        (node({"ref_doc_id": "R"}), MetadataKeys(), "R"),
        (node({"file_path": "/f"}), BY_PATH, "/f"),
        (node({"document_id": "other"}, relationships=OF_A), MetadataKeys(), "A"),
        (node({"file_path": "/f"}, relationships=OF_A), BY_PATH, "/f"),  # who names a key means it
        (node({"document_id": "D"}, relationships={NodeRelationship.SOURCE: MANY}), MetadataKeys(), "D"),
    ],
)
def test_the_document_is_the_source_unless_a_key_is_named(given: TextNode, keys: MetadataKeys, expected: str) -> None:
    assert context_of(given, keys=keys).citations[0].document_id == expected


@pytest.mark.parametrize(("own", "expected"), [(0, 0), (None, 5)])
def test_the_offset_is_the_nodes_own_else_that_of_the_metadata(own: int | None, expected: int) -> None:
    (source,) = context_of(node({"start_index": 5}, start_char_idx=own)).provenance
    assert source.start == expected


@pytest.mark.parametrize(("own", "expected"), [(0.0, 0.0), (None, 0.2)])
def test_a_score_in_the_metadata_counts_only_where_the_node_has_none(own: float | None, expected: float) -> None:
    assert context_of(node({"rerank_score": 0.2}), own).hits[0].score == expected
