"""LlamaIndex nodes as the engine's chunks and hits."""

from __future__ import annotations

from dataclasses import replace
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

from ctxassembly.adapting.parts import part_in
from ctxassembly.assembly.adjacency.offsets import FACTS
from ctxassembly.data.chunks import Chunk, Hit, Origin
from ctxassembly.data.keys import MetadataKeys
from ctxassembly.errors import InputError
from ctxassembly.settings.misuse import not_a_node
from ctxassembly.shown import as_name, shown

EXCLUDED_BY_READER = frozenset(
    {"file_name", "file_type", "file_size", "creation_date", "last_modified_date", "last_accessed_date"}
)
"""What SimpleDirectoryReader keeps from the LLM in each of its documents, all of them together."""
_BY_DEFAULT = MetadataKeys().document_id
_FACTS = "Here are some facts extracted from the provided text:"
"""What PropertyGraphIndex writes before triplets, and these before the text that they come from, unless it is told."""


def to_hits(scored: NodeWithScore, keys: MetadataKeys) -> list[Hit]:
    """The hits that `scored` is: one, and where a graph's facts stand before its text, these as another one after it.

    A score in the metadata counts only where the node has none.
    """
    score = scored.score if scored.score is not None else keys.read(scored.node.metadata, "score")
    chunk = to_chunk(scored.node, keys)
    at = _facts_end(scored.node, chunk.text)
    if not at:
        return [Hit(chunk, score)]
    text = chunk.text[at:]
    start = getattr(scored.node, "start_char_idx", None)
    plain = replace(chunk, text=text, start=start, origin=chunk.origin and replace(chunk.origin, near=None))
    facts = Chunk(
        id=f"{chunk.id}#facts",
        document_id=chunk.document_id,
        text=chunk.text[:at].strip(),
        metadata=chunk.metadata,
        unread=chunk.unread,
        unnamed=chunk.unnamed,
        origin=Origin(((FACTS, chunk.id),), lookup_id=plain.lookup_id),
    )
    return [Hit(plain, score), Hit(facts, score)]


def to_chunk(node: BaseNode, keys: MetadataKeys) -> Chunk:
    """The chunk that `node` is: its text without metadata, its SOURCE as document, its PREVIOUS and NEXT as links.

    The metadata name the document where there is no SOURCE, or where `keys` say by which of them; then stores still
    find it by its SOURCE, and its offset counts there. A PARENT is what its offset counts in. Odd values are passed on:
    the engine mends them and says so. An embedding comes along as it is, though LlamaIndex may have made it of text and
    metadata.
    """
    source, named = related_id(node, NodeRelationship.SOURCE), keys.read(node.metadata, "document_id")
    by_source = source is not None and (named is None or keys.document_id == _BY_DEFAULT)
    document_id: Any = source if by_source else keys.document_of(node.metadata)
    index, text = keys.read(node.metadata, "index"), text_of(node)
    start, near = _offsets(node, text, keys)
    return Chunk(
        id=node.node_id,
        document_id=document_id,
        text=text,
        index=index,
        start=start,
        prev_id=related_id(node, NodeRelationship.PREVIOUS),
        next_id=related_id(node, NodeRelationship.NEXT),
        metadata=node.metadata,
        vector=node.embedding,
        origin=_origin(node, document_id, source, near, keys),
        unread=(unread := frozenset(each for each in node.excluded_llm_metadata_keys or () if isinstance(each, str))),
        unnamed=_unnamed(node.metadata, unread, keys),
    )


def _unnamed(metadata: Any, unread: frozenset[str], keys: MetadataKeys) -> frozenset[str]:
    """Those of the keys that are kept from the LLM which aren't to be in a label either.

    What SimpleDirectoryReader excludes by itself, `file_name` among it, says nothing of labels; nor do nodes of ours,
    which exclude all their metadata since they are written in the text.
    """
    if not unread or (type(metadata) is dict and "citation" in metadata and unread >= metadata.keys()):
        return frozenset()
    chosen = unread - EXCLUDED_BY_READER if unread >= EXCLUDED_BY_READER else unread
    return chosen & keys.named if chosen else chosen


def _origin(
    node: BaseNode, document_id: Any, source: str | None, near: int | None, keys: MetadataKeys
) -> Origin | None:
    """What the relationships of `node` say beside its document and its neighbours; None if that is nothing."""
    parent_id, children = related_id(node, NodeRelationship.PARENT), _related(node, NodeRelationship.CHILD)
    lookup_id = as_name(keys.read(node.metadata, "lookup_id")) or (source if source != document_id else None)
    part: dict[str, Any] = {}
    if source != document_id:  # then the document is named by the metadata, and has pages or sections
        part = dict(part_in(node.metadata, keys)) | ({} if source is None else {"source": source})
    if parent_id is not None:
        part["parent"] = parent_id
    if not (part or lookup_id or near is not None or children):
        return None
    return Origin(
        part=tuple(sorted(part.items())),
        near=near,
        parent_id=parent_id,
        child_ids=tuple(each.node_id for each in children),
        lookup_id=lookup_id,
    )


def _offsets(node: BaseNode, text: Any, keys: MetadataKeys) -> tuple[Any, int | None]:
    """Where the text begins exactly, and where about: if it isn't as long as the slice that the node says it is.

    Then another tool put it in the slice's place, or something before it. The slice itself may stand in the metadata,
    as sentences do of which the text is the window.
    """
    start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    if start is None:
        return keys.read(node.metadata, "start"), None
    if type(start) is not int or type(end) is not int or type(text) is not str or end - start == len(text):
        return start, None
    own = [each for each in node.metadata.values() if type(each) is str and len(each) == end - start > 0]
    before = max((text.find(each) for each in own), default=0)
    return None, max(start - max(before, 0), 0)


def _facts_end(node: BaseNode, text: Any) -> int:
    """Where the triplets end that a graph index wrote before the text of `node`; 0 if there are none."""
    if type(text) is not str or " -> " not in text:  # one of a class of somebody's own may raise
        return 0
    start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    if type(start) is int and type(end) is int:
        at = len(text) - (end - start)
        before = text[: max(at, 0)]
    else:
        before = text[: text.find("\n\n", len(_FACTS) + 2) + 2] if text.startswith(f"{_FACTS}\n\n") else ""
    facts = before.removesuffix("\n\n").rpartition("\n\n")[2] if before.endswith("\n\n") else ""
    return len(before) if facts and all(line.count(" -> ") >= 2 for line in facts.split("\n")) else 0


def related_id(node: BaseNode, relationship: NodeRelationship) -> str | None:
    """The id of the one node that stands in `relationship` to `node`; None if there is none, or a list of them."""
    related = related_node(node, relationship)
    return None if related is None else related.node_id


def related_node(node: BaseNode, relationship: NodeRelationship) -> RelatedNodeInfo | None:
    """What is said of that node. Assigned to a node, anything can be there; it relates to nothing."""
    related = node.relationships.get(relationship) if type(node.relationships) is dict else None
    return related if isinstance(related, RelatedNodeInfo) else None


def _related(node: BaseNode, relationship: NodeRelationship) -> list[RelatedNodeInfo]:
    """The nodes that a list says of that relationship."""
    related = node.relationships.get(relationship) if type(node.relationships) is dict else None
    return [each for each in related if isinstance(each, RelatedNodeInfo)] if isinstance(related, list) else []


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
        raise InputError(f"nodes must be a list of NodeWithScore, got {shown(scored)}{not_a_node(scored)}")
    node, text = scored.node, text_of(scored.node)
    if not isinstance(text, str) or str.strip(text):
        return False
    if isinstance(node, ImageNode):
        return any((node.image, node.image_path, node.image_url))
    return isinstance(node, Node) and any((node.image_resource, node.audio_resource, node.video_resource))
