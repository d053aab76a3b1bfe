"""What adapters tell of a context, in metadata and events: citations and trace as dicts and lists of builtins."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ctxassembly.context import Context
from ctxassembly.saving.plain import plain, plain_trace


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
    """What goes with each block, in order: `citation`, `chunk_ids` and `scores` (of the hits, by id).

    The `trace` is the whole context's, and longer than its text: it goes with the first block alone. The citation
    leaves out its own metadata, beside which all this stands. The block of supplementary text has no citation; it has
    `supplement`, which is True.
    """
    decisions = reversed(told.context.trace.decisions)  # of those that share an id the best-ranked one tells it
    scores = {(each.document_id, each.chunk_id): each.score for each in decisions if each.distance == 0}
    citations = iter(told.citations)
    added: list[dict[str, Any]] = []
    for block in told.context.blocks:
        if block.citation is None:
            added.append({"supplement": True, "chunk_ids": [], "scores": {}})
            continue
        citation = {key: value for key, value in next(citations).items() if key != "metadata"}
        chunk_ids = citation["chunk_ids"]
        found = ((chunk_id, scores.get((citation["document_id"], chunk_id))) for chunk_id in chunk_ids)
        known = {chunk_id: score for chunk_id, score in found if score is not None}
        added.append({"citation": citation, "chunk_ids": list(chunk_ids), "scores": known})
    if added:
        added[0]["trace"] = told.trace
    return added
