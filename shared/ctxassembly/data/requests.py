"""What a flow asks of the world outside, as data."""

from __future__ import annotations

from dataclasses import dataclass

from ctxassembly.data.chunks import ChunkRef


@dataclass(frozen=True, slots=True)
class FetchChunks:
    """Answered with the chunks that exist among `refs`, in any order; the missing ones are left out."""

    refs: tuple[ChunkRef, ...]


@dataclass(frozen=True, slots=True)
class EmbedTexts:
    """Answered with one vector for each of `texts`, in their order, all of one length."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompressTexts:
    """Answered with one answer of a language model to each of `prompts`, in their order.

    In the place of an answer that failed, or that didn't come within `timeout_seconds` from now, stands the exception.
    """

    prompts: tuple[str, ...]
    timeout_seconds: float


Request = FetchChunks | EmbedTexts | CompressTexts
