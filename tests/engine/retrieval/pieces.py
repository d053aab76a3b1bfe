"""Chunks and their scores, made by hand."""

from __future__ import annotations

from typing import Any

from ctxassembly import Chunk
from ctxassembly.retrieval import RetrievedChunk, ScoredChunk


def chunk(name: str, text: str = "", **metadata: Any) -> Chunk:
    return Chunk(name, name[0], text or f"Text of {name}.", metadata=metadata)


def scored(name: str, similarity: float | None = None, keyword_score: float | None = None, *terms: str) -> ScoredChunk:
    return ScoredChunk(chunk(name), similarity, keyword_score, terms)


def found(name: str, score: float = 1.0, **more: Any) -> RetrievedChunk:
    own = {key: more.pop(key) for key in ("similarity", "keyword_score", "terms", "channels") if key in more}
    return RetrievedChunk(chunk(name, **more), score, own.pop("channels", ("vector",)), **own)


def named(ranked: Any) -> dict[str, list[str]]:
    """The ids that each channel ranks."""
    return {channel: [chunk_id for _, chunk_id, _ in identities] for channel, identities in ranked.items()}


def keyed(**channels: list[str]) -> Any:
    """Rankings of the chunks that `chunk` makes."""
    return {channel: [chunk(name).identity for name in names] for channel, names in channels.items()}


def ids(some: Any) -> list[str]:
    return [one.chunk.id for one in some]
