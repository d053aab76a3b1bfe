"""What one assembly comes to: the text, and all that is known of it. The views read this and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ctxassembly.keys import MetadataKeys
from ctxassembly.types import Block, Citation, Fragment, Passage, Source, Trace

LABELLED = frozenset({"numbered", "source", "xml"})
"""The formats in which a reader sees labels."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """The fields of a `Context`, which adds what one does with them."""

    text: str
    """Never over the budget."""
    token_count: int
    """Exactly the tokens of `text` in the configured encoding."""
    passages: tuple[Passage, ...] = ()
    """In rendered order."""
    citations: tuple[Citation, ...] = ()
    """One per label, in the order in which they are read."""
    blocks: tuple[Block, ...] = ()
    provenance: tuple[Source, ...] = ()
    """Ascending and disjoint: every verbatim character is in exactly one."""
    trace: Trace = field(default_factory=Trace)
    query: str | None = None
    format: str = "numbered"
    """What the text looks like: "minimal" if no header has room. Of headers that a function wrote the format whose
    labels they show, "custom" if none."""
    language: str = "en"
    keys: MetadataKeys = field(default_factory=MetadataKeys)
    hits: tuple[Fragment, ...] = field(default=(), repr=False, compare=False)
    """Of the hits what the views of what became of them show, by rank: most of those that are left out are not kept."""
    encoding: str | Callable[[str], int] | None = field(default=None, repr=False, compare=False)
    """What `token_count` was counted with. None if that isn't known: a function is left behind by pickling."""

    @property
    def labelled(self) -> bool:
        """Whether a reader sees the labels."""
        return self.format in LABELLED

    @property
    def supplement(self) -> str:
        """The block of supplementary text, as it stands in `text`; nothing if there is none."""
        return next((block.text for block in self.blocks if block.citation is None), "")
