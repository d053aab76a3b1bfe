"""LlamaIndex nodes -> hits and chunks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from llama_index.core.base.llms.types import ImageBlock, TextBlock
from llama_index.core.schema import (
    BaseNode,
    ImageNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
)
from pydantic import BaseModel

from ctxassembly.adapters.blocks import ReadResult, block_ids, unpack_blocks
from ctxassembly.adapters.metadata import block_metadata
from ctxassembly.assembly.adjacency.positions import PARENT_KEY
from ctxassembly.context import Context
from ctxassembly.data.chunks import Chunk, ChunkOrigin, Hit, section_of
from ctxassembly.data.citations import block_in
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.sanitize import copy_metadata
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import join_first, pluralize, safe_repr, to_id

EXCLUDED_BY_READER = frozenset(
    {"file_name", "file_type", "file_size", "creation_date", "last_modified_date", "last_accessed_date"}
)
"""Keys that SimpleDirectoryReader excludes from the prompt, all of them in each of its documents."""
_EXCLUDED_BY_DOCLING = frozenset({"schema_name", "version", "doc_items"})
"""Keys that DoclingNodeParser excludes from the prompt in each node, with `origin` where there is one."""
_DEFAULT_DOCUMENT_KEYS = MetadataKeys().document_id
_FACTS = re.compile(r"Here are some facts extracted from the provided text:\n\n(?:.+\n)+\n")
"""What PropertyGraphIndex writes before a text: the triplets that were extracted from it."""


def as_node_list(nodes: Any) -> list[NodeWithScore]:
    """Return `nodes` as a list.

    Raises:
        InputError: they are something else, a response, say.
    """
    # The fields of a single node would come one by one.
    listed: list[Any] = [*nodes] if isinstance(nodes, Iterable) and not isinstance(nodes, BaseModel) else [None]
    if not all(isinstance(one, NodeWithScore) for one in listed):
        raise InputError(f"nodes must be a list of NodeWithScore, got {safe_repr(nodes, 80)}")
    return listed


def to_hits(scored: NodeWithScore, keys: MetadataKeys) -> Iterator[Hit]:
    """Yield the hit for `scored`; if a graph's facts precede its text, they are a second hit after it.

    A score in the metadata counts only if the node has none.
    """
    node = scored.node
    score = scored.score if scored.score is not None else keys.read(node.metadata, "score")
    facts = _FACTS.match(node.text) if isinstance(node, TextNode) else None
    if facts is None:
        yield Hit(to_chunk(node, keys), score)
        return
    chunk = to_chunk(node.model_copy(update={"text": facts.string[facts.end() :]}), keys)
    yield Hit(chunk, score)
    facts_chunk = Chunk(
        id=f"{chunk.id}#facts",
        document_id=chunk.document_id,
        text=facts[0].strip(),
        metadata={**chunk.metadata, keys.no_neighbors[0]: True},
        hidden_from_model=chunk.hidden_from_model,
        hidden_from_header=chunk.hidden_from_header,
    )
    yield Hit(facts_chunk, score)


def read_nodes(nodes: Iterable[NodeWithScore], keys: MetadataKeys) -> ReadResult:
    """Return the hits of `nodes`, and the supplement of an earlier assembly among them.

    A labeled node of an earlier assembly gives the chunks it was made of. Images, audio and videos without text give
    none.
    """
    texts = [scored for scored in as_node_list(nodes) if not is_media(scored)]
    return unpack_blocks(((hit, scored.node.metadata) for scored in texts for hit in to_hits(scored, keys)), keys)


def to_chunk(node: BaseNode, keys: MetadataKeys) -> Chunk:
    """Return the chunk for `node`: its text without metadata, its SOURCE as document, its PREVIOUS and NEXT as links.

    Without a SOURCE, the metadata name the document. They also do if `keys` set which of them does; stores then still
    find the chunk by its SOURCE, and its offset counts in that. The offset of a node with a PARENT counts in the
    parent. Odd values are passed on: the engine repairs them and notes it in the trace. The embedding is taken as it
    is, although LlamaIndex may have made it of text and metadata together.
    """
    source, document_name = related_id(node, NodeRelationship.SOURCE), keys.read(node.metadata, "document_id")
    is_by_source = source is not None and (document_name is None or keys.document_id == _DEFAULT_DOCUMENT_KEYS)
    document_id: Any = source if is_by_source else keys.read_document_id(node.metadata)
    index, text = keys.read(node.metadata, "index"), text_of(node)
    start, near = offsets_of(node, text, keys)
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
        origin=_chunk_origin(node, document_id, source, near, keys),
        hidden_from_model=(
            hidden_from_model := frozenset(key for key in node.excluded_llm_metadata_keys or () if isinstance(key, str))
        ),
        hidden_from_header=_hidden_from_header(node.metadata, hidden_from_model, keys),
    )


def _hidden_from_header(metadata: Any, hidden_from_model: frozenset[str], keys: MetadataKeys) -> frozenset[str]:
    """Return the keys of `hidden_from_model` that may not be in a label either.

    Three cases don't count. SimpleDirectoryReader excludes its keys, `file_name` among them, by default.
    DoclingNodeParser excludes its raw metadata, which has the page and the file. And nodes that were assembled before
    exclude all their metadata, because their text has it already.
    """
    if not hidden_from_model or block_in(metadata) is not None:
        return frozenset()
    excluded = hidden_from_model - EXCLUDED_BY_READER if hidden_from_model >= EXCLUDED_BY_READER else hidden_from_model
    excluded = excluded - {*_EXCLUDED_BY_DOCLING, "origin"} if hidden_from_model >= _EXCLUDED_BY_DOCLING else excluded
    return excluded & keys.heading_keys if excluded else excluded


def _chunk_origin(
    node: BaseNode, document_id: Any, source: str | None, near: int | None, keys: MetadataKeys
) -> ChunkOrigin | None:
    """Return the origin of `node` by its relationships and metadata; None if they add nothing."""
    is_apart = source != to_id(document_id)  # as text, since an array can't be compared
    lookup_id = to_id(keys.read(node.metadata, "lookup_id")) or (source if is_apart else None)
    section: dict[str, Any] = {}
    if is_apart:  # the metadata name the document, so a node may be one of its pages or sections
        section = dict(section_of(node.metadata, keys)) | ({} if source is None else {"source": source})
    if (parent_id := related_id(node, NodeRelationship.PARENT)) is not None:
        section[PARENT_KEY] = parent_id
    if not (section or lookup_id or near is not None):
        return None
    return ChunkOrigin(section=tuple(sorted(section.items())), near=near, lookup_id=lookup_id)


def offsets_of(node: BaseNode, text: Any, keys: MetadataKeys) -> tuple[Any, int | None]:
    """Return the exact offset at which the text begins, or None and an approximate one.

    The offsets of a node are exact if they are as far apart as its text is long. If not, another tool has replaced the
    slice, or put something before it. The slice itself may be in the metadata: a sentence of which the text is the
    window.
    """
    start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
    if start is None:
        return keys.read(node.metadata, "start"), None
    if end is None or end - start == len(text):
        return start, None
    slices = [value for value in node.metadata.values() if isinstance(value, str) and len(value) == end - start > 0]
    before = max((text.find(value) for value in slices), default=0)
    return None, max(start - max(before, 0), 0)


def related_id(node: BaseNode, relationship: NodeRelationship) -> str | None:
    """Return the id of the one node in `relationship` to `node`; None if there is none or a list of them."""
    related = related_node(node, relationship)
    return None if related is None else related.node_id


def related_node(node: BaseNode, relationship: NodeRelationship) -> RelatedNodeInfo | None:
    """Return the one node in `relationship` to `node`; None if there is none or a list of them."""
    related = node.relationships.get(relationship)
    return related if isinstance(related, RelatedNodeInfo) else None


def text_of(node: BaseNode) -> str:
    """Return the text of the node without metadata."""
    return node.get_content(MetadataMode.NONE)


def is_media(scored: NodeWithScore) -> bool:
    """Return True if the node holds an image, audio or video, and no text."""
    return not text_of(scored.node).strip() and any(_resources(scored.node))


MEDIA_KEY = "cited_media"
"""The key of a labeled node's metadata with the paths of the media that its text belongs to."""
_MEDIA_KINDS = ("image", "audio", "video")


def media_notes(nodes: Iterable[NodeWithScore]) -> list[str]:
    """Return a note that names the `nodes` with an image, audio or video and no text; empty if there are none."""
    node_ids = [safe_repr(scored.node.node_id, 80) for scored in nodes if is_media(scored)]
    if not node_ids:
        return []
    subject = pluralize(len(node_ids), "node has", "nodes have")
    return [f"{subject} an image, audio or video and no text, so no label: {join_first(node_ids, 3)}"]


def _resources(node: BaseNode) -> Iterator[tuple[str, Any]]:
    if isinstance(node, ImageNode):
        if any((node.image, node.image_path, node.image_url)):
            # As it was given: a MediaResource would check the URL and read the data.
            place: Any = {"path": node.image_path, "url": node.image_url, "mimetype": node.image_mimetype}
            yield "image", MediaResource.model_construct(data=node.image, **place)
    elif isinstance(node, Node):
        for kind in _MEDIA_KINDS:
            if (resource := getattr(node, f"{kind}_resource")) is not None:
                yield kind, resource


class LabeledImage(ImageNode):
    """A labeled node with the image whose caption it has: text, then image, for a model that sees.

    LlamaIndex's own ImageNode gives such a model the image alone.
    """

    def get_content_blocks(self, metadata_mode: MetadataMode = MetadataMode.NONE) -> list[Any]:
        """Return the labeled text, and the image. The image is read by the caller of the model, not here."""
        image = None if self.image is None else self.image.encode()
        path = None if self.image_path is None else Path(self.image_path)
        picture = ImageBlock(image=image, url=self.image_url, path=path, image_mimetype=self.image_mimetype)
        return [TextBlock(text=self.get_content(metadata_mode)), picture]


def labeled_nodes(context: Context, found: Sequence[NodeWithScore] = ()) -> list[NodeWithScore]:
    """Return one node per label, in order, and then the nodes in `found` with an image, audio or video and no text.

    A node has the id and the metadata of the label's best chunk, the SOURCE of its document as `found` has it, and the
    best score among the hits that it was made of. It has no offsets, since its text is more than one slice.
    `block_metadata` adds `citation`, `chunk_ids` and `scores` to the metadata of each node, and `trace` to the metadata
    of the first node. No metadata is included in the prompt.

    The label of an image's caption is an ImageNode with that image, the first one if there are several. `cited_media`
    in the metadata has the path, URL and MIME type of each image, audio or video whose text the label has.

    A supplement is a node of its own, after all others or, if configured so, before them. It has the id "supplement",
    no score and no citation. So `source_nodes[i - 1]` is label i unless a supplement comes first. The citation in the
    metadata names the label in either case.
    """
    all_media = [(scored.node, kind, one) for scored in found for kind, one in _resources(scored.node)]
    labeled: list[NodeWithScore] = []
    for block, node_id, added in zip(context.blocks, block_ids(context), block_metadata(context), strict=True):
        if media := [one for one in all_media if one[0].node_id in added["chunk_ids"]]:
            added[MEDIA_KEY] = [_describe_media(*one) for one in media]
        image = next((one for _, kind, one in media if kind == "image"), None)
        # Callers may change the metadata of a node: the citation's own metadata must stay as it is.
        own = copy_metadata(block.citation.metadata) if block.citation else {}
        document_id = block.citation.document_id if block.citation else None
        node = (LabeledImage if image else TextNode)(
            id_=node_id,
            text=block.text,
            relationships=_source_of(document_id, found),
            **_hidden({**own, **added}),
            **(_image_fields(image) if image else {}),
        )
        labeled.append(NodeWithScore(node=node, score=max(added["scores"].values(), default=None)))
    for scored in filter(is_media, found):
        shown = scored.node.model_copy(update=_hidden(copy_metadata(scored.node.metadata)))
        labeled.append(NodeWithScore(node=shown, score=scored.score))
    return labeled


def _describe_media(node: BaseNode, kind: str, media: MediaResource) -> dict[str, Any]:
    """Return kind, path, URL and MIME type of an image, audio or video of `node`, without its data."""
    place = {"path": media.path and str(media.path), "url": media.url and str(media.url)}
    return {"kind": kind, "chunk_id": node.node_id, **place, "mimetype": media.mimetype}


def _image_fields(image: MediaResource) -> dict[str, Any]:
    return {
        "image": image.data.decode("ascii") if isinstance(image.data, bytes) else image.data,
        "image_path": image.path and str(image.path),
        "image_url": image.url and str(image.url),
        "image_mimetype": image.mimetype,
    }


def _source_of(document_id: str | None, found: Iterable[NodeWithScore]) -> dict[NodeRelationship, Any]:
    """Return the SOURCE relationship to a document, as the best-ranked node of the document has it."""
    sources = (related_node(scored.node, NodeRelationship.SOURCE) for scored in found)
    source = next((one for one in sources if one is not None and one.node_id == document_id), None)
    if source is None:
        return {}
    return {NodeRelationship.SOURCE: source.model_copy(update={"metadata": copy_metadata(source.metadata)})}


def _hidden(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a node with `metadata` that no prompt has."""
    keys = list(metadata)
    return {"metadata": metadata, "excluded_llm_metadata_keys": keys, "excluded_embed_metadata_keys": keys[:]}
