"""Chunks of documents: as they are stored, as they are found, and how a store is asked for them.

Offsets count characters (code points) and are half-open, `(start, end)`. Scores are whatever the retriever gave, higher
is better; the rank decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Span = tuple[int, int]
PartName = tuple[tuple[str, "str | int | float"], ...]
"""A page or a section of a document, by the metadata that name it, sorted; empty for the document itself."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a reader or a splitter says of where a chunk without an index comes from, beside its offset and its links.

    The adapters read it. Whoever makes chunks by hand, with offsets that count in the document, needs none.
    """

    part: PartName = ()
    """The page or section that `start` counts in."""
    near: int | None = None
    """About where the text begins, where `start` is unknown: another tool put a longer text in place of the slice."""
    parent_id: str | None = None
    """The larger chunk that this one was cut from, in whose text `start` counts."""
    child_ids: tuple[str, ...] = ()
    """The smaller chunks that this one was cut into, in order."""
    lookup_id: str | None = None
    """What its store calls its document, where chunks are grouped by another name; None if that is the same."""
    shares_index: bool = False
    """Whether other texts of its document have its index, too, so that nobody knows what adjoins it. The engine sets
    it."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored slice of a document."""

    id: str
    document_id: str
    text: str
    index: int | None = None
    """Place among the chunks of its document, from 0; None if the store keeps no order."""
    start: int | None = None
    """Character offset of `text` in the document, if known. It is verified against the text before it is used."""
    prev_id: str | None = None
    next_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    vector: Sequence[float] | None = field(default=None, repr=False, compare=False)
    """The embedding of `text`, if it is at hand: semantic deduplication then needs not compute it."""
    origin: Origin | None = None
    unread: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """Metadata keys that the model is not to read, in a summary or under `header_keys`: as LlamaIndex's nodes say."""
    unnamed: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """Those of them that no header names either, as a source, a page or a section: the next key does that holds one. A
    citation, which the model doesn't read, has them all the same."""

    def is_unread(self, key: str) -> bool:
        """Whether the model is not to read what stands under `key`, which may be a dotted path."""
        return key in self.unread or ("." in key and key.partition(".")[0] in self.unread)

    @property
    def lookup_id(self) -> str:
        """What its store calls its document."""
        return (self.origin and self.origin.lookup_id) or self.document_id


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved chunk. Its rank is its place in the list handed in, best first."""

    chunk: Chunk
    score: float | None = None


class Fragment(NamedTuple):
    """A hit as the views of a context show it."""

    rank: int
    chunk: Chunk
    """Without its vector; of a long text only the two ends, of one that is only named none."""
    score: float | None
    characters: int
    """Of the whole text."""


class Beside(NamedTuple):
    """A request for the chunks next to an offset: the last ones that begin before it, and the first ones after it."""

    start: int
    each_side: int
    """How many."""
    part: PartName = ()
    """The page or section that the offset counts in."""
    page: str | None = None
    """The name in `part` that has the page's number. Then pages follow each other, and what else names the part may
    differ. None asks for chunks of this part alone."""
    document_id: str | None = None
    """What the pages are grouped by, where the store has each of them as a document of its own."""


@dataclass(frozen=True, slots=True)
class ChunkRef:
    """A request for a chunk: by place in its document, by id, or (neither given) all chunks of the document.

    With `beside` it asks for chunks by their offsets. Only a store whose `finds_offsets` is True is asked so.
    """

    document_id: str
    index: int | None = None
    chunk_id: str | None = None
    beside: Beside | None = None
