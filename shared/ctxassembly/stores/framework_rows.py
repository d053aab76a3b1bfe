"""Chunks from the records of LangChain's and LlamaIndex's vector stores, and the metadata that numbers them there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ctxassembly.data.chunks import Chunk, origin_of
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import to_id
from ctxassembly.stores.numbering import NO_DOCUMENT, RecordForm, StoredPlace, find_place

_SOURCE, _PREVIOUS, _NEXT, _PARENT = "1", "2", "3", "4"
"""Relationships of a node, as LlamaIndex writes them."""
_DOCUMENT_RELATION: Mapping[str, Any] = {
    "node_type": "4",
    "metadata": {},
    "hash": None,
    "class_name": "RelatedNodeInfo",
}
"""A relation to a document, as LlamaIndex writes it, besides its id."""
_CONTENT_KEY = "_node_content"
_DOCUMENT_KEYS = ("ref_doc_id", "doc_id", "document_id")
"""Keys of a row's metadata that LlamaIndex overwrites with the id of the SOURCE."""
_EXCLUDED_KEYS = ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys")


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
    node = _node(metadata)
    node_metadata = _own_metadata(node, metadata)
    source, before, after, parent = (_related_id(node, kind) for kind in (_SOURCE, _PREVIOUS, _NEXT, _PARENT))
    document_id = source or keys.read_document_id(node_metadata)
    hidden = node.get("excluded_llm_metadata_keys") or ()
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
        hidden_from_model=frozenset(key for key in hidden if isinstance(key, str)),
    )


def _langchain_place(id_: Any, metadata: Mapping[str, Any], keys: MetadataKeys) -> StoredPlace:
    return find_place(id_, metadata, keys, start=keys.read(metadata, "start"))


def _langchain_metadata(
    _: Mapping[str, Any], document: str, number: Mapping[str, Any], keys: MetadataKeys
) -> dict[str, Any]:
    return {keys.document_id[0]: document, **number}


def _llamaindex_place(id_: Any, metadata: Mapping[str, Any], keys: MetadataKeys) -> StoredPlace:
    node = _node(metadata)
    own, ref_doc_id = _own_metadata(node, metadata), to_id(metadata.get("ref_doc_id"))
    source = None if ref_doc_id == NO_DOCUMENT else ref_doc_id
    start = keys.read(own, "start") if (offset := node.get("start_char_idx")) is None else offset
    # The offset of a node that was cut from a larger one counts in that one, and begins again in the next.
    place = find_place(id_, own, keys, start=None if _related_id(node, _PARENT) else start, source=source)
    return replace(place, named=source, link=node.get("id_", id_), following=_related_id(node, _NEXT))


def _llamaindex_record(id_: Any, text: str, metadata: Mapping[str, Any], keys: MetadataKeys) -> Chunk:
    """Return the chunk in a record. Qdrant has its text in the node alone."""
    return llamaindex_chunk(id_, text or _node(metadata).get("text") or "", metadata, keys)


def _llamaindex_metadata(
    metadata: Mapping[str, Any], document: str, number: Mapping[str, Any], _: MetadataKeys
) -> dict[str, Any]:
    """Return the metadata of the record with document and index, and the node in it with its SOURCE and these.

    They are kept from embeddings and prompts.
    """
    node = _node(metadata)
    row = {**dict.fromkeys(_DOCUMENT_KEYS, document), **number}
    if not node:  # another tool's record
        return row
    related = node.get("relationships") or {}
    if _related_id(node, _SOURCE) != document:
        related = {**related, _SOURCE: {"node_id": document, **_DOCUMENT_RELATION}}
    own = _own_metadata(node, {})
    numbered = {**node, "metadata": {**own, **number}, "relationships": related}
    for name in _EXCLUDED_KEYS:
        numbered[name] = [*dict.fromkeys((*(node.get(name) or ()), *(key for key in number if key not in own)))]
    return {**row, _CONTENT_KEY: json.dumps(numbered, ensure_ascii=False)}


def _node(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the node in the metadata of a record; empty if there is none."""
    try:
        node = json.loads(metadata.get(_CONTENT_KEY) or "{}")
    except (TypeError, ValueError):
        return {}
    return node if isinstance(node, dict) else {}


def _own_metadata(node: Mapping[str, Any], metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = node.get("metadata")
    return inner if isinstance(inner, dict) else metadata


def _related_id(node: Mapping[str, Any], kind: str) -> str | None:
    related = node.get("relationships")
    relation = related.get(kind) if isinstance(related, dict) else None
    name = relation.get("node_id") if isinstance(relation, dict) else None
    return name if isinstance(name, str) else None


LANGCHAIN = RecordForm(_langchain_place, langchain_chunk, _langchain_metadata, ("document_id", "index"))
LLAMAINDEX = RecordForm(_llamaindex_place, _llamaindex_record, _llamaindex_metadata, ("index",))
