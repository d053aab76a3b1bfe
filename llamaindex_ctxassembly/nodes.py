"""LlamaIndex nodes as the engine's chunks and hits."""

from __future__ import annotations

from typing import Any

from llama_index.core.schema import (
    BaseNode,
    ImageNode,
    MetadataMode,
    Node,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
)

from ctxassembly.errors import InputError
from ctxassembly.keys import MetadataKeys
from ctxassembly.shown import shown
from ctxassembly.types import Chunk, Hit


def to_hit(scored: NodeWithScore, keys: MetadataKeys) -> Hit:
    """The hit that `scored` is. A score in the metadata counts only where the node has none."""
    score = scored.score if scored.score is not None else keys.read(scored.node.metadata, "score")
    return Hit(to_chunk(scored.node, keys), score)


def to_chunk(node: BaseNode, keys: MetadataKeys) -> Chunk:
    """The chunk that `node` is: its text without metadata, its SOURCE as document, its PREVIOUS and NEXT as links.

    Without a SOURCE the metadata names the document. Odd values are passed on: the engine mends them and says so. An
    embedding comes along as it is, though LlamaIndex may have made it of text and metadata.
    """
    source = related_id(node, NodeRelationship.SOURCE)
    start = getattr(node, "start_char_idx", None)
    return Chunk(
        id=node.node_id,
        document_id=source if source is not None else keys.document_of(node.metadata),
        text=text_of(node),
        index=keys.read(node.metadata, "index"),
        start=start if start is not None else keys.read(node.metadata, "start"),
        prev_id=related_id(node, NodeRelationship.PREVIOUS),
        next_id=related_id(node, NodeRelationship.NEXT),
        metadata=node.metadata,
        vector=node.embedding,
    )


def related_id(node: BaseNode, relationship: NodeRelationship) -> str | None:
    """The id of the one node that stands in `relationship` to `node`; None if there is none, or a list of them."""
    related = related_node(node, relationship)
    return None if related is None else related.node_id


def related_node(node: BaseNode, relationship: NodeRelationship) -> RelatedNodeInfo | None:
    """What is said of that node. Assigned to a node, anything can be there; it relates to nothing."""
    related = node.relationships.get(relationship) if type(node.relationships) is dict else None
    return related if isinstance(related, RelatedNodeInfo) else None


def text_of(node: BaseNode) -> Any:
    """The text of the node alone; the error, in place of a text that there is none of, if it can't be had."""
    try:
        return node.get_content(MetadataMode.NONE)
    except Exception as error:  # noqa: BLE001 - the engine says of this node alone that it has no text
        return error


def is_media(scored: NodeWithScore) -> bool:
    """Whether the node holds an image, audio or video and nothing to read.

    Raises:
        InputError: `scored` is not a NodeWithScore.
    """
    if not isinstance(scored, NodeWithScore):
        raise InputError(f"nodes must be a list of NodeWithScore, got {shown(scored)}")
    node, text = scored.node, text_of(scored.node)
    if not isinstance(text, str) or str.strip(text):
        return False
    if isinstance(node, ImageNode):
        return any((node.image, node.image_path, node.image_url))
    return isinstance(node, Node) and any((node.image_resource, node.audio_resource, node.video_resource))
