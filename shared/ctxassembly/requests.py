"""What the flow asks of the world outside, as data, and who may answer."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ctxassembly.types import Chunk, ChunkRef


@dataclass(frozen=True, slots=True)
class FetchChunks:
    """Answered with the chunks that exist among `refs`, in any order; the missing ones are left out."""

    refs: tuple[ChunkRef, ...]


class Store(Protocol):
    """Where neighbours come from, synchronously. One call is one round trip, however many documents it is for."""

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """The chunks that exist among `refs`, in any order."""


class AsyncStore(Protocol):
    """The same, awaited. A store may offer both."""

    def afetch(self, refs: Sequence[ChunkRef]) -> Awaitable[Sequence[Chunk]]:
        """The chunks that exist among `refs`, in any order."""
