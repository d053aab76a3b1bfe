"""What one call may read, as plain data: the filters that hold for it, and the places that they hold in.

A kept answer is found again only by a call that may read the same. So its key has every filter, wherever it was given:
with the call, in a retriever, an index, a store, an assembler. Where one can't be written as data, nothing is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from ctxassembly.data.filters import MOST_LEVELS, check_levels, is_filter
from ctxassembly.errors import FilterNotSeenWarning
from ctxassembly.user_warnings import Once, with_remedy

_SCALARS = (str, int, float, bool, type(None))
_WRITTEN = (date, datetime, time, Decimal, UUID)


class Hidden(NamedTuple):
    """An object that may filter in a way that can't be seen, by the name of its class."""

    kind: str


@dataclass(frozen=True, slots=True)
class Reach:
    """What one call may read."""

    names: Any = None
    """Every filter and place of the call, as plain data."""
    why_not: str | None = None
    """The reason that nothing is kept; None if everything has a name."""

    def warn(self, once: Once, remedy: str) -> Reach:
        """The same; a warning if nothing is kept."""
        if self.why_not is not None:
            fact = f"Answers are not cached: {self.why_not.rstrip('.')}"
            once.warn(with_remedy(fact, remedy), FilterNotSeenWarning, "cache")
        return self


def reach(**facts: Any) -> Reach:
    """The reach of a call by its `facts`: filters, places, or `Hidden` where an object may hide a filter.

    >>> reach(filter={"tenant": "a"}, index=("public", "chunks")).names
    {'filter': {'tenant': 'a'}, 'index': ['public', 'chunks']}
    >>> reach(filter=None, retriever=Hidden("OwnRetriever")).why_not
    "OwnRetriever may filter in a way that can't be seen."

    Args:
        facts: each by its name. None says that there is none. Of `neighbours="unfiltered"` nothing hides a filter:
            whoever says so lets everybody read everything.

    Raises:
        ConfigError: a filter is nested too deep.
    """
    is_open = facts.get("neighbours") == "unfiltered"
    check_levels(facts, 2 * MOST_LEVELS)  # they hold filters in a few levels of their own
    try:
        return Reach({name: _named(fact, is_open=is_open) for name, fact in facts.items() if is_filter(fact)})
    except _UnnamedError as reason:
        return Reach(why_not=str(reason))


class _UnnamedError(Exception):
    """A fact has no name; the message says why."""


def _named(value: Any, *, is_open: bool) -> Any:
    """`value` as plain data.

    Raises:
        _UnnamedError: it can't be told from another one.
    """
    if isinstance(value, Hidden):
        if is_open:
            return None
        raise _UnnamedError(f"{value.kind} may filter in a way that can't be seen.")
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, _WRITTEN):
        return {type(value).__name__: str(value)}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _named(one, is_open=is_open) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return [_named(one, is_open=is_open) for one in value]
    if isinstance(value, AbstractSet):
        return sorted((_named(one, is_open=is_open) for one in value), key=repr)
    # The filters of Qdrant and LlamaIndex are pydantic's models, which write themselves.
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return {type(value).__name__: _named(value.model_dump(mode="json"), is_open=is_open)}
    kind = "a function" if callable(value) else f"a {type(value).__name__}"
    raise _UnnamedError(f"a filter that is {kind} can't be compared with another one.")
