"""Images, audio and video of retrieved nodes, beside the text that is assembled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from llama_index.core.base.llms.types import ImageBlock, TextBlock
from llama_index.core.schema import BaseNode, ImageNode, MediaResource, MetadataMode, Node, NodeWithScore

from ctxassembly.context import Context
from ctxassembly.integrations.metadata import with_notes
from ctxassembly.safe_repr import counted, shown
from llamaindex_ctxassembly.convert.nodes import is_media

CITED = "cited_media"
"""The key of a labelled node's metadata with the paths of the media that its text belongs to."""
_KINDS = ("image", "audio", "video")


class LabelledImage(ImageNode):
    """A labelled node with the image whose caption it has: text, then image, for a model that sees.

    LlamaIndex's own ImageNode gives such a model the image alone.
    """

    def get_content_blocks(self, metadata_mode: MetadataMode = MetadataMode.NONE) -> list[Any]:
        """The labelled text, and the image. It isn't read here: whoever asks the model does that."""
        image = None if self.image is None else self.image.encode()
        path = None if self.image_path is None else Path(self.image_path)
        picture = ImageBlock(image=image, url=self.image_url, path=path, image_mimetype=self.image_mimetype)
        return [TextBlock(text=self.get_content(metadata_mode)), picture]


def media_of(node: BaseNode) -> list[dict[str, str | None]]:
    """Kind, path, URL and MIME type of each image, audio or video of `node`; its data stay where they are."""
    return [
        {
            "kind": kind,
            "chunk_id": node.node_id,
            "path": None if resource.path is None else str(resource.path),
            "url": None if resource.url is None else str(resource.url),
            "mimetype": resource.mimetype,
        }
        for kind, resource in _resources(node)
    ]


def image_of(nodes: Iterable[BaseNode]) -> dict[str, Any] | None:
    """The fields of an ImageNode for the first image of `nodes`; None if they have none."""
    for node in nodes:
        if isinstance(node, ImageNode):
            return {name: getattr(node, name) for name in ("image", "image_path", "image_url", "image_mimetype")}
        for kind, resource in _resources(node):
            if kind == "image":
                return {
                    "image": None if resource.data is None else resource.data.decode("ascii"),
                    "image_path": None if resource.path is None else str(resource.path),
                    "image_url": None if resource.url is None else str(resource.url),
                    "image_mimetype": resource.mimetype,
                }
    return None


def by_chunk(nodes: Iterable[BaseNode]) -> dict[str, BaseNode]:
    """The nodes with an image, audio or video and text, by their ids."""
    return {node.node_id: node for node in nodes if any(_resources(node))}


def noted(context: Context, nodes: Iterable[NodeWithScore]) -> Context:
    """`context`, with `unread_notes` in its trace."""
    return with_notes(context, unread_notes(nodes))


def unread_notes(nodes: Iterable[NodeWithScore]) -> list[str]:
    """A note that names those of `nodes` that have no text but an image, audio or video; none if there are none."""
    unread = [shown(scored.node.node_id, 80) for scored in nodes if is_media(scored)]
    if not unread:
        return []
    number = counted(len(unread), "node has", "nodes have")
    more = f" and {len(unread) - 3:,} more" if len(unread) > 3 else ""
    return [f"{number} an image, audio or video and no text, so no label: {', '.join(unread[:3])}{more}"]


def _resources(node: BaseNode) -> Iterator[tuple[str, Any]]:
    if isinstance(node, ImageNode):
        if any((node.image, node.image_path, node.image_url)):
            # As it was given: a MediaResource would check the URL and read the data.
            yield (
                "image",
                MediaResource.model_construct(path=node.image_path, url=node.image_url, mimetype=node.image_mimetype),
            )
    elif isinstance(node, Node):
        for kind in _KINDS:
            if (resource := getattr(node, f"{kind}_resource")) is not None:
                yield kind, resource
