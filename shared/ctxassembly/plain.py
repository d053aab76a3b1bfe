"""Citations and traces as dicts and lists of builtins: what adapters put into metadata and events.

They survive JSON and the checkpoints of agent frameworks, which refuse classes that they don't know.
"""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any

from ctxassembly.context import Context
from ctxassembly.metadata import readable
from ctxassembly.neutral import sendable
from ctxassembly.shown import MOST_BITS, as_text, shown
from ctxassembly.types import Trace

_MOST_INTEGER = 2**63
"""From here on writers of JSON refuse an integer."""


def plain(value: Any) -> Any:
    """A copy of `value` made of dict, list, str, int, float, bool and None; anything else stands as its `str`.

    So do a float that isn't finite and an integer of more than 64 bits, which not all of JSON has. Halves of surrogate
    pairs, which can't be sent, stand as U+FFFD. What has no end is cut, as `ctxassembly.metadata` describes it.
    """
    kind = type(value)
    if kind is tuple:
        return [plain(item) for item in value]
    if is_dataclass(kind):
        return {each.name: plain(getattr(value, each.name)) for each in fields(kind)}
    return _builtin(value if kind in _SCALARS else readable({"": value})[0][""])


def _builtin(value: Any) -> Any:
    """The same of what has an end."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else sendable(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if -_MOST_INTEGER <= value < _MOST_INTEGER else shown(value, MOST_BITS)
    if kind is float:
        return value if math.isfinite(value) else str(value)
    if kind is dict:
        return {_builtin(key) if type(key) is str else as_text(key) or "None": _builtin(value[key]) for key in value}
    if kind in (set, frozenset):
        value = sorted(value, key=shown)  # the same in every run
    if kind in (list, tuple, set, frozenset):
        return [_builtin(item) for item in value]
    text = as_text(value)
    return shown(value) if text is None else sendable(text)


_SCALARS = frozenset({str, int, float, bool, type(None)})


def plain_trace(trace: Trace) -> dict[str, Any]:
    """The whole trace, its one-line summary first."""
    return {"summary": trace.summary, **plain(trace)}


class Told:
    """What is told of a context, as builtins: each made when it is first asked for, and once for all who ask."""

    def __init__(self, context: Context) -> None:
        self.context = context

    @cached_property
    def citations(self) -> list[dict[str, Any]]:
        """One for each label, in order."""
        return [plain(each) for each in self.context.citations]

    @cached_property
    def trace(self) -> dict[str, Any]:
        """As `plain_trace` gives it."""
        return plain_trace(self.context.trace)


def block_metadata(told: Told) -> list[dict[str, Any]]:
    """What goes with each block, in order: `citation`, `chunk_ids`, `scores` (of the hits, by id) and `trace`.

    The citation leaves out its own metadata, beside which all this stands. The trace is the whole context's, in every
    block the same object. The block of supplementary text has no citation; it has `supplement`, which is True.
    """
    scores = {each.chunk_id: each.score for each in told.context.trace.decisions if each.distance == 0}
    trace, citations = told.trace, iter(told.citations)
    added: list[dict[str, Any]] = []
    for block in told.context.blocks:
        if block.citation is None:
            added.append({"supplement": True, "chunk_ids": [], "scores": {}, "trace": trace})
            continue
        citation = {key: value for key, value in next(citations).items() if key != "metadata"}
        chunk_ids = citation["chunk_ids"]
        known = {chunk_id: scores[chunk_id] for chunk_id in chunk_ids if scores.get(chunk_id) is not None}
        added.append({"citation": citation, "chunk_ids": list(chunk_ids), "scores": known, "trace": trace})
    return added
