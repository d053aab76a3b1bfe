"""The outcome of choosing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ctxassembly.assembly.choosing.supplement import Supplemented
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.data.candidates import Candidate, Header, LeftOut


@dataclass(frozen=True)
class Chosen:
    """The candidates that stand, and those that don't."""

    layout: Layout
    level: Header
    """The level of the headers: how much is written around the text."""
    beside: Supplemented
    usable: tuple[Candidate, ...]
    """All that there was to choose from, in its present form."""
    taken: tuple[Candidate, ...]
    """Those of them that stand, as they do."""
    left_out: dict[int, LeftOut]
    """Those that don't, by key."""
    elsewhere: Mapping[int, Candidate]
    """For those of `taken` that lost sentences because better-ranked passages have them, by key: who has the most."""
    worth: Mapping[int, float]
    """What each is worth for the query, by key; none where the query had nothing to choose."""

    @property
    def token_count(self) -> int:
        """Tokens of the context, headers, separators and supplement included."""
        return self.layout.token_count if self.level is Header.FULL else self.layout.weigh((), self.level)
