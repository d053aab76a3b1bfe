"""The surroundings of the hits: how far from them a store is asked, and which of its chunks may be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ctxassembly.assembly.gathering.missing import Lack, under_filter
from ctxassembly.assembly.gathering.scope import Scope
from ctxassembly.config.assembly import AssemblyConfig


@dataclass(frozen=True, slots=True)
class StoreTraits:
    """The properties that a store may have beside `fetch`, as `ctxassembly.Store` describes them."""

    holds_filter: bool | None = None
    finds_offsets: bool = False
    remedies: Mapping[Lack, str] | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The neighbours that one assembly may ask for and read."""

    reach: int = 0
    """Chunks on each side of a hit; 0 asks for none."""
    scope: Scope | None = None
    """Decides which chunks may be read; None if all that the store returns may be."""
    finds_offsets: bool = False
    remedies: Mapping[Lack, str] | None = None
    is_filtered: bool = False
    """True if the store holds a filter, which may exclude all that is near the hits."""

    @property
    def by_offset(self) -> int:
        """Chunks on each side to ask for where only offsets tell the position; 0 if the store doesn't find offsets."""
        # Where the filter is unknown, another tenant's chunks may stand between: ask for twice as many.
        return self.reach * (1 if self.scope is None else 2) if self.finds_offsets else 0


def surroundings(config: AssemblyConfig, query: str | None, store: StoreTraits | None) -> Surroundings:
    """The surroundings that `config` asks for and `store` can give; none without a store."""
    if store is None:
        return Surroundings()
    return Surroundings(
        config.reach(query),
        Scope(config) if config.neighbours == "auto" and store.holds_filter is None else None,
        store.finds_offsets,
        under_filter(store.remedies) if store.holds_filter else store.remedies,
        is_filtered=bool(store.holds_filter),
    )
