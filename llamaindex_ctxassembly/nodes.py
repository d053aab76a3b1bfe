"""LlamaIndex nodes as the engine's chunks and hits."""

from __future__ import annotations

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
        document_id=source if source is not None else keys.read(node.metadata, "document_id"),
        text=node.get_content(MetadataMode.NONE),
        index=keys.read(node.metadata, "index"),
        start=start if start is not None else keys.read(node.metadata, "start"),
        prev_id=related_id(node, NodeRelationship.PREVIOUS),
        next_id=related_id(node, NodeRelationship.NEXT),
        metadata=node.metadata,
        vector=node.embedding,
    )


def related_id(node: BaseNode, relationship: NodeRelationship) -> str | None:
    """The id of the one node that stands in `relationship` to `node`; None if there is none, or a list of them."""
    related = node.relationships.get(relationship)
    return related.node_id if isinstance(related, RelatedNodeInfo) else None


def is_media(scored: NodeWithScore) -> bool:
    """Whether the node holds an image, audio or video and nothing to read.

    Raises:
        InputError: `scored` is not a NodeWithScore.
    """
    if not isinstance(scored, NodeWithScore):
        raise InputError(f"nodes must be a list of NodeWithScore, got {scored!r:.200}")
    node = scored.node
    if node.get_content(MetadataMode.NONE).strip():
        return False
    if isinstance(node, ImageNode):
        return any((node.image, node.image_path, node.image_url))
    return isinstance(node, Node) and any((node.image_resource, node.audio_resource, node.video_resource))
