"""Citations and traces as dicts and lists of builtins: what adapters put into metadata and events.

They survive JSON and the checkpoints of agent frameworks, which refuse classes that they don't know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from ctxassembly.context import Context
from ctxassembly.types import Trace


def plain(value: Any) -> Any:
    """A copy of `value` made of dict, list, str, int, float, bool and None; anything else stands as its `str`."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return str(value)


def plain_trace(trace: Trace) -> dict[str, Any]:
    """The whole trace, its one-line summary first."""
    return {"summary": trace.summary, **plain(trace)}


def block_metadata(context: Context) -> list[dict[str, Any]]:
    """What goes with each block, in order: `citation`, `chunk_ids`, `scores` (of the hits, by id) and `trace`.

    The citation leaves out its own metadata, beside which all this stands. The trace is the whole context's, in every
    block the same object. The block of supplementary text has no citation; it has `supplement`, which is True.
    """
    scores = {each.chunk_id: each.score for each in context.trace.decisions if each.distance == 0}
    trace = plain_trace(context.trace)
    added: list[dict[str, Any]] = []
    for block in context.blocks:
        if block.citation is None:
            added.append({"supplement": True, "chunk_ids": [], "scores": {}, "trace": trace})
            continue
        citation = plain(block.citation)
        del citation["metadata"]
        chunk_ids = citation["chunk_ids"]
        known = {chunk_id: scores[chunk_id] for chunk_id in chunk_ids if scores.get(chunk_id) is not None}
        added.append({"citation": citation, "chunk_ids": list(chunk_ids), "scores": known, "trace": trace})
    return added
