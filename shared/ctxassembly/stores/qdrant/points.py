"""The ids, paths and vectors of points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid5

from qdrant_client import models

from ctxassembly.stores.ingest import Vector
from ctxassembly.stores.sparse.rows import OWN, WORDS, Layout

_NAMESPACE = UUID("6d1f3f0e-7a0a-5b55-9d53-0f2f4d7e0c11")


def own_key(name: str) -> str:
    """Return the path of what we keep of a chunk under `name`."""
    return f"{OWN}.{name}"


def point_id(chunk_id: str) -> str:
    """Return the id of the point for a chunk, which may have an id of any kind."""
    return str(uuid5(_NAMESPACE, f"chunk {chunk_id}"))


def lexeme_id(word: str) -> str:
    """Return the id of the point for a word."""
    return str(uuid5(_NAMESPACE, f"lexeme {word}"))


STATE_ID = str(uuid5(_NAMESPACE, "state"))
"""The point among the words that has the number of chunks."""


def sparse_vector(weights: Mapping[int, float]) -> models.SparseVector:
    """Return weights by their hashes as Qdrant's vector."""
    return models.SparseVector(indices=list(weights), values=list(weights.values()))


def named_vector(layout: Layout, vector: Vector | None, words: models.SparseVector) -> dict[str, Any]:
    """Return the vectors of a point."""
    embedding = {} if vector is None else {layout.vector: [float(number) for number in vector]}
    return {**embedding, WORDS: words}
