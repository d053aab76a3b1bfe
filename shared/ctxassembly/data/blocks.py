"""What adapters put into the metadata of a document or node, by which a block of a context is known.

The type alone decides. Anybody can write a dict with the same keys, and JSON gives one back: that is a document like
any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxassembly.data.citations import Block, Passage


class AssembledBlock(dict[str, Any]):
    """A block of a context: a plain dict to whoever reads it, and in its attributes what it was made of.

    The attributes survive copies and pickling. The dict is there to be shown, and nothing is read back from it.
    """

    __slots__ = ("block", "has_labels", "header", "passages")

    block: Block
    passages: Sequence[Passage]
    header: str
    """What the text of the block has before the first character of a chunk, or of a supplement."""
    has_labels: bool
    """True if a reader of the context sees labels."""

    def __init__(
        self, shown: Mapping[str, Any], block: Block, passages: Sequence[Passage], header: str, *, has_labels: bool
    ) -> None:
        super().__init__(shown)
        self.block, self.passages, self.header, self.has_labels = block, passages, header, has_labels


def block_in(metadata: Any) -> AssembledBlock | None:
    """Return the block that an adapter put into `metadata`; None if the metadata are somebody else's."""
    if type(metadata) is not dict:  # of a class that may raise
        return None
    values = (metadata.get("citation"), metadata.get("supplement"))
    return next((value for value in values if type(value) is AssembledBlock), None)
