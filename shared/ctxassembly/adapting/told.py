"""Citations and trace of a context as dicts and lists of builtins, for the metadata and events of adapters."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ctxassembly.adapting.blocks import pieces_in, seal
from ctxassembly.context import Context
from ctxassembly.serialization.plain import plain, plain_trace


class Told:
    """A context whose citations and trace are turned into builtins on first use, and only once."""

    def __init__(self, context: Context) -> None:
        self.context = context

    @cached_property
    def citations(self) -> list[dict[str, Any]]:
        """A dict for each citation, in order."""
        return [plain(citation) for citation in self.context.citations]

    @cached_property
    def trace(self) -> dict[str, Any]:
        """The trace as `plain_trace` writes it."""
        return plain_trace(self.context.trace)


def block_metadata(told: Told) -> list[dict[str, Any]]:
    """Metadata to add for each block of a context, in order.

    A block has `citation`, `chunk_ids`, `scores` of its hits by chunk id, and `pieces`, from which another assembly has
    its chunks again. Only the first block has the `trace`: it is the whole context's, and longer than its text. The
    citation comes without its own metadata, since adapters put those beside it. The block of a supplement has no
    citation but `supplement`, which is True, and the `seal` by which this process knows it again.
    """
    decisions = reversed(told.context.trace.decisions)  # if several share an id, the best-ranked one is written last
    scores = {(hit.document_id, hit.chunk_id): hit.score for hit in decisions if hit.distance == 0}
    citations, pieces = iter(told.citations), pieces_in(told.context)
    added: list[dict[str, Any]] = []
    for block in told.context.blocks:
        if block.citation is None:
            added.append({"supplement": True, "chunk_ids": [], "scores": {}, "seal": seal(block.text)})
            continue
        citation = {key: value for key, value in next(citations).items() if key != "metadata"}
        chunk_ids = citation["chunk_ids"]
        found = ((chunk_id, scores.get((citation["document_id"], chunk_id))) for chunk_id in chunk_ids)
        known = {chunk_id: score for chunk_id, score in found if score is not None}
        added.append({"citation": citation, "chunk_ids": list(chunk_ids), "scores": known, "pieces": next(pieces)})
    if added:
        added[0]["trace"] = told.trace
    return added
