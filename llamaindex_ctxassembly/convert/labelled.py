"""A context -> LlamaIndex nodes: one per label, each with the rendered block of its label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from llama_index.core.schema import BaseNode, NodeRelationship, NodeWithScore, RelatedNodeInfo, TextNode

from ctxassembly.data.sanitize import copied
from ctxassembly.integrations.metadata import Told, block_metadata
from ctxassembly.safe_repr import as_name
from llamaindex_ctxassembly.convert.media import CITED, LabelledImage, by_chunk, image_of, media_of
from llamaindex_ctxassembly.convert.nodes import related_node


def labelled_nodes(told: Told, nodes: Iterable[BaseNode]) -> list[NodeWithScore]:
    """One node per label, in order; `nodes` are the retrieved ones.

    A node has the id and the metadata of the label's best chunk, the SOURCE of its document, and the best score among
    the hits that it was made of. It has no offsets, since its text is more than one slice. `block_metadata` adds
    `citation`, `chunk_ids` and `scores` to the metadata, and `trace` to those of the first node. No metadata are in the
    prompt.

    The label of an image's caption is an ImageNode with that image, the first one if there are several. `cited_media`
    in the metadata has the path, URL and MIME type of each image, audio or video whose text the label has.

    A supplement is a node of its own, after all others or, if configured so, before them. It has the id "supplement",
    no score and no citation. So `source_nodes[i - 1]` is label i unless a supplement comes first. The citation in the
    metadata names the label in either case.
    """
    nodes = list(nodes)
    sources, media = _sources(nodes), by_chunk(nodes)
    taken: set[str] = set()
    labelled: list[NodeWithScore] = []
    for block, added in zip(told.context.blocks, block_metadata(told), strict=True):
        citation = block.citation
        if citation is None:
            labelled.append(NodeWithScore(node=_node("supplement", block.text, {}, added, None)))
            continue
        # Two labels may share their best chunk; with the same id their nodes would be taken for one source.
        shared = citation.best_chunk_id in taken
        node_id = f"{citation.best_chunk_id}#{citation.label}" if shared else citation.best_chunk_id
        taken.add(node_id)
        shown = [media[chunk_id] for chunk_id in citation.chunk_ids if chunk_id in media]
        if shown:
            added[CITED] = [one for node in shown for one in media_of(node)]
        source = sources.get(citation.document_id)
        node = _node(node_id, block.text, citation.metadata, added, source, image_of(shown))
        labelled.append(NodeWithScore(node=node, score=max(added["scores"].values(), default=None)))
    return labelled


def unread(node: BaseNode) -> BaseNode:
    """A copy of `node` with its metadata kept out of the prompt."""
    metadata = _copied(node.metadata)
    return node.model_copy(update={"metadata": metadata, **_excluded(metadata)})


def _node(
    node_id: str,
    text: str,
    own: Mapping[str, Any],
    added: dict[str, Any],
    source: RelatedNodeInfo | None,
    image: dict[str, Any] | None = None,
) -> TextNode:
    # Callers may change the metadata of a node: those of the citation must stay as they are.
    metadata = {**copied(own), **added}
    kind: Any = TextNode if image is None else LabelledImage
    node: TextNode = kind(
        id_=node_id,
        text=text,
        metadata=metadata,
        relationships={} if source is None else {NodeRelationship.SOURCE: _related(source)},
        **_excluded(metadata),
        **(image or {}),
    )
    return node


def _excluded(metadata: Iterable[str]) -> dict[str, Any]:
    return {"excluded_llm_metadata_keys": list(metadata), "excluded_embed_metadata_keys": list(metadata)}


def _copied(metadata: Any) -> dict[str, Any]:
    # Callers can assign anything to a node.
    return copied(metadata) if isinstance(metadata, Mapping) else {}


def _sources(nodes: Iterable[BaseNode]) -> dict[str, RelatedNodeInfo]:
    """The SOURCE of each document, by document id, as its best-ranked node has it."""
    found: dict[str, RelatedNodeInfo] = {}
    for node in nodes:
        source = related_node(node, NodeRelationship.SOURCE)
        if source is not None and (name := as_name(source.node_id)):
            found.setdefault(name, source)
    return found


def _related(source: RelatedNodeInfo) -> RelatedNodeInfo:
    return source.model_copy(update={"metadata": _copied(source.metadata)})
