"""Marks that the metadata of a chunk may carry: it has to stand whole, or it wants no neighbours."""

from __future__ import annotations

from typing import Literal

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.keys import MetadataKeys
from ctxassembly.shown import as_text

Mark = Literal["keep_whole", "no_neighbours"]


def is_marked(chunk: Chunk, mark: Mark, keys: MetadataKeys) -> bool:
    """True if the metadata of `chunk` have the mark: True or 1, or one of them as text, as some stores keep them."""
    value = keys.read(chunk.metadata, mark)
    return value is True or (as_text(value) or "").lower() in ("true", "1")
