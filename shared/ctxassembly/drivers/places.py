"""Names of indexes and stores, by which the key of a kept answer tells one from another."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from ctxassembly.chain.reach import Hidden, Reach, reach
from ctxassembly.config.assembly import AssemblyConfig

_READING = ("search", "asearch", "fetch", "afetch")
"""The methods by which chunks are read."""
_tokens: dict[int, tuple[Any, str]] = {}
"""By the `id` of an object a weak reference to it and its token, for as long as it lives."""


def reach_over(index: Any, filter: Any, assembly: AssemblyConfig, channels: Mapping[Any, Any], **facts: Any) -> Reach:
    """What a call with `filter` may read of `index` and of `channels`, whose names these are; and further `facts`."""
    return reach(
        filter=filter,
        index=searched(index),
        channels=dict(channels),
        neighbours=assembly.neighbours,
        **facts,
    )


def searched(index: Any) -> Any:
    """The name of an index or a store: its place, and the filters that it is under.

    One whose class says neither by `place` nor by `under` may filter by itself; so may a class that searches otherwise
    than the one above it that says so.
    """
    if index is None:
        return None
    kind = type(index)
    says = min(_depth(kind, name) for name in ("place", "under"))
    if says == len(kind.__mro__) or any(_depth(kind, name) < says for name in _READING):
        return Hidden(kind.__name__)
    return {"place": place_of(index), "filters": list(getattr(index, "filters", None) or ())}


def place_of(thing: Any) -> Any:
    """The `place` of an index or a store: equal for two over the same chunks. Of any other object a token of its own.

    A token means the object itself, in this process: what is held in memory has no other name.
    """
    return getattr(thing, "place", None) or token_of(thing)


def token_of(thing: Any) -> Any:
    """A token for an object, as long as it lives; hidden, if nobody can tell how long it does."""
    name = id(thing)
    known = _tokens.get(name)
    if known is not None and known[0]() is thing:
        return known[1]
    try:
        made = (weakref.ref(thing, lambda _: _tokens.pop(name, None)), uuid4().hex)
    except TypeError:
        return Hidden(type(thing).__name__)
    _tokens[name] = made
    return made[1]


def _depth(kind: type, method: str) -> int:
    """How far up the class is that has `method`, 0 for `kind` itself; beyond all if none has."""
    found = [place for place, parent in enumerate(kind.__mro__) if method in vars(parent)]
    return found[0] if found else len(kind.__mro__)
