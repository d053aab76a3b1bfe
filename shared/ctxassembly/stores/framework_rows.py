"""Chunks from what LangChain's and LlamaIndex's vector stores keep of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ctxassembly.data.chunks import Chunk, origin_of
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import to_id

_SOURCE, _PREVIOUS, _NEXT, _PARENT = "1", "2", "3", "4"
"""Relationships of a node, as LlamaIndex writes them."""


def langchain_chunk(id_: Any, text: str, metadata: Mapping[str, Any], keys: MetadataKeys) -> Chunk:
    """Return the chunk in a LangChain row. Without an index, its offset is relative to the page or section it names."""
    document_id, index = keys.read_document_id(metadata), keys.read(metadata, "index")
    return Chunk(
        id=str(id_),
        document_id=to_id(document_id) or str(id_),
        text=text,
        index=index,
        start=keys.read(metadata, "start"),
        metadata=metadata,
        origin=origin_of(metadata, keys) if index is None else None,
    )


def llamaindex_chunk(id_: Any, text: str, metadata: Mapping[str, Any], keys: MetadataKeys) -> Chunk:
    """Return the chunk in a LlamaIndex row, whose metadata holds the node as JSON."""
    try:
        node = json.loads(metadata.get("_node_content") or "{}")
    except (TypeError, ValueError):
        node = {}
    node = node if isinstance(node, dict) else {}
    inner = node.get("metadata")
    node_metadata: Mapping[str, Any] = inner if isinstance(inner, dict) else metadata
    source, before, after, parent = (_related_id(node, kind) for kind in (_SOURCE, _PREVIOUS, _NEXT, _PARENT))
    document_id = source or keys.read_document_id(node_metadata)
    return Chunk(
        id=str(id_),
        document_id=to_id(document_id) or str(id_),
        text=text,
        index=keys.read(node_metadata, "index"),
        # With a parent the offset counts in that one's text, which isn't at hand here.
        start=None if parent else node.get("start_char_idx"),
        prev_id=before,
        next_id=after,
        metadata=node_metadata,
        hidden_from_model=frozenset(
            key for key in node.get("excluded_llm_metadata_keys") or () if isinstance(key, str)
        ),
    )


def _related_id(node: Mapping[str, Any], kind: str) -> str | None:
    related = node.get("relationships")
    relation = related.get(kind) if isinstance(related, dict) else None
    name = relation.get("node_id") if isinstance(relation, dict) else None
    return name if isinstance(name, str) else None
