"""What the metadata of a chunk may ask for: that it stands whole, or that no neighbours come with it."""

from __future__ import annotations

from typing import Literal

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.keys import MetadataKeys

Mark = Literal["keep_whole", "no_neighbours"]


def is_marked(chunk: Chunk, mark: Mark, keys: MetadataKeys) -> bool:
    """Whether the metadata of `chunk` say so: True, 1, or either as text, which is how some stores keep it."""
    value = keys.read(chunk.metadata, mark)
    return value is True or (value is not None and str(value).lower() in ("true", "1"))
