"""Notes of an adapter in the trace of a context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ctxassembly.context import Context


def with_notes(context: Context, notes: Sequence[str]) -> Context:
    """`context` with `notes` after those of its trace.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> context = assemble([Hit(Chunk("a", "a", "Drink water."))])
    >>> with_notes(context, ["1 node has an image and no text"]).trace.notes
    ('1 node has an image and no text',)
    """
    if not notes:
        return context
    return replace(context, trace=replace(context.trace, notes=(*context.trace.notes, *notes)))
