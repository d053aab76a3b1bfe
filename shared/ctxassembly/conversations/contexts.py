"""Contexts as a conversation holds them: themselves, their dicts in a checkpoint, and those that a message carries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxassembly.context import Context


def is_context(given: Any) -> bool:
    """True for a context, and for the dict of one."""
    return isinstance(given, Context) or (isinstance(given, Mapping) and "passages" in given and "trace" in given)


def contexts_of(given: Any) -> Iterator[Context]:
    """The contexts in `given`, in order: a context, its dict, a message that brings one along, or a list of these."""
    artifact = getattr(given, "artifact", None)
    if artifact is not None:
        yield from contexts_of(artifact)
    elif is_context(given):
        yield Context.from_dict(given)
    elif isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        for one in given:
            yield from contexts_of(one)


def field_of(source: Any, name: str) -> Any:
    """The attribute `name` of an object, or the item of a dict, as which a checkpoint has it; None without one."""
    return source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
