"""Everything about a context that stays the same while its limits are filled, and how a selection is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.render.headers import Headers
from ctxassembly.assembly.render.labels import Numbers
from ctxassembly.assembly.render.leads import Lead
from ctxassembly.assembly.supplement import RenderedSupplement
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.wording.label_guards import Guards
from ctxassembly.wording.metadata_labels import MetadataReader

if TYPE_CHECKING:
    from ctxassembly.assembly.sent import Sent


MAX_TOKEN_CHARS = 128
"""Characters of the longest token of the encodings, a run of blanks."""


class Load(NamedTuple):
    """The size of a rendered context."""

    tokens: int
    share: float
    """Of the limit that it fills most: tokens or characters. It fits up to 1."""


@dataclass(frozen=True, slots=True)
class Page:
    """The writer of one context."""

    text: Text
    pool: Pool
    config: AssemblyConfig
    headers: Headers
    leads: Mapping[int, Lead]
    guards: Guards
    numbers: Numbers
    ranks: Sequence[tuple[bool, int, int]]
    """By which chunks come one after the other: hits before neighbors, then by rank, then by distance."""
    count: Callable[[str], int]
    """Tokens of a text."""
    max_tokens: int
    hit_counts: Sequence[int]
    """Tokens of the texts of the hits, joined by blank lines: what the caller had."""
    query: str | None
    is_by_query: bool
    """True if the values of units come from the words of the query."""
    sent: Sent
    """What the conversation has of the text."""
    chosen: Sequence[int]
    """The chunks, by their numbers in the pool, that an earlier assembly has chosen for the same query."""
    supplement: RenderedSupplement

    @property
    def reader(self) -> MetadataReader:
        """The reader of metadata for citations, which the model doesn't read."""
        return self.headers.citation_reader

    @property
    def best(self) -> int:
        """The number in the pool of the best chunk."""
        return min(range(len(self.ranks)), key=self.ranks.__getitem__)

    def weigh(self, text: str) -> Load:
        """Return the size of a context."""
        characters = len(text) / self.config.max_characters if self.config.max_characters else 0.0
        if isinstance(self.config.encoding, str) and len(text) > MAX_TOKEN_CHARS * self.max_tokens:
            tokens = len(text) // MAX_TOKEN_CHARS + 1  # certainly too many: megabytes aren't counted to know that
        else:
            tokens = self.count(text)
        return Load(tokens, max(tokens / self.max_tokens, characters))
