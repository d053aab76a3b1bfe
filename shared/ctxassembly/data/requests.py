"""Requests for I/O that a flow yields to its driver, and the replies that it expects."""

from __future__ import annotations

from dataclasses import dataclass

from ctxassembly.data.chunks import ChunkRef


@dataclass(frozen=True, slots=True)
class FetchChunks:
    """A request for chunks. The reply has those of `refs` that exist, in any order."""

    refs: tuple[ChunkRef, ...]


@dataclass(frozen=True, slots=True)
class EmbedTexts:
    """A request for embeddings. The reply has one vector for each of `texts`, in their order, all of one length."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompressTexts:
    """A request to a language model. The reply has one answer to each of `prompts`, in their order.

    An answer that failed, or that took longer than `timeout_seconds` from now, is replaced by the exception.
    """

    prompts: tuple[str, ...]
    timeout_seconds: float


Request = FetchChunks | EmbedTexts | CompressTexts
