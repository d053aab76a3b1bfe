"""Room that several kinds of text compete for, divided by floors, caps and order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError

DOCUMENTS, CONVERSATION = "documents", "conversation"
"""The shares that are counted. Any other name is the caller's own."""


@dataclass(frozen=True, slots=True)
class Share:
    """One kind of text in the prompt, with the fewest and the most tokens that it gets.

    >>> Share("documents", floor=2_000, cap=8_000).limit(wanted=10_000)
    8000
    """

    name: str
    """"documents", "conversation", or a name of your own, such as "tool_results"."""
    floor: int = 0
    """Tokens that it gets before any share gets more than its floor, if it wants them."""
    cap: int | None = None
    """The most tokens that it gets; None means no cap."""

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.strip()):
            raise ConfigError("Share.name", "a name that is not blank", self.name)
        check_int("Share.floor", self.floor, 0)
        if self.cap is not None:
            check_int("Share.cap", self.cap, max(self.floor, 1))

    def limit(self, wanted: int) -> int:
        """Return the tokens it may get of those `wanted`."""
        return max(0, wanted if self.cap is None else min(wanted, self.cap))


def check_shares(shares: Sequence[Share]) -> tuple[Share, ...]:
    """Return `shares` as a tuple.

    Raises:
        ConfigError: they are not all a Share, two have one name, or none is for documents.
    """
    if not isinstance(shares, (tuple, list)) or not all(isinstance(share, Share) for share in shares):
        raise ConfigError("TokenBudget.shares", "a tuple of Share", shares)
    names = [share.name for share in shares]
    if len(set(names)) < len(names) or (names and DOCUMENTS not in names):
        raise ConfigError("TokenBudget.shares", f"one Share for each name, one of them {DOCUMENTS!r}", names)
    return tuple(shares)


def divide(room: int, shares: Sequence[Share], wanted: Mapping[str, int]) -> dict[str, int]:
    """Return the tokens of each share, by its name; what `wanted` doesn't name wants none.

    First each gets its floor, then the rest of what it wants, up to its cap, both in the order of `shares`: so the last
    one gives way first. No share gets more when another one wants more, nor less when there is more room.

    >>> shares = Share("documents", floor=2_000), Share("conversation", floor=500, cap=4_000), Share("tool_results")
    >>> divide(6_000, shares, {"documents": 5_000, "conversation": 9_000, "tool_results": 3_000})
    {'documents': 5000, 'conversation': 1000, 'tool_results': 0}
    """
    limits = {share.name: share.limit(wanted.get(share.name, 0)) for share in shares}
    given = dict.fromkeys(limits, 0)
    left = max(0, room)
    floors = {share.name: min(share.floor, limits[share.name]) for share in shares}
    for targets in (floors, limits):
        for name, target in targets.items():
            added = min(target - given[name], left)
            given[name] += added
            left -= added
    return given


def division_note(shares: Sequence[Share], wanted: Mapping[str, int], given: Mapping[str, int]) -> str | None:
    """Return a note for the trace on the shares that give way; None if each gets what it wants, up to its cap.

    >>> shares = Share("documents", cap=4_000), Share("conversation")
    >>> division_note(shares, {"documents": 9_000, "conversation": 800}, {"documents": 4_000, "conversation": 500})
    'budget: conversation gave way, 500 of 800 tokens'
    """
    parts = [
        f"{share.name} gave way, {given[share.name]:,} of {limit:,} tokens"
        for share in shares
        if given[share.name] < (limit := share.limit(wanted.get(share.name, 0)))
    ]
    return f"budget: {'; '.join(parts)}" if parts else None
