"""What became of the chunks, for the logger "ctxassembly": a line a call at INFO, and each chunk at DEBUG.

No text of a document is logged, nor the query.
"""

from __future__ import annotations

import sys

from ctxassembly.data.assembled import Assembled
from ctxassembly.data.trace import Decision
from ctxassembly.shown import shown

NAME = "ctxassembly"
_ID_CHARS = 80


def log(context: Assembled) -> None:
    """Log the summary of the trace and the reasons for what was left out; then what became of each chunk."""
    logging = sys.modules.get("logging")  # who hasn't loaded it doesn't listen
    if logging is None or not (logger := logging.getLogger(NAME)).isEnabledFor(logging.INFO):
        return
    trace = context.trace
    reasons: dict[str, int] = {}
    for each in trace.decisions:
        if each.outcome == "dropped":
            reasons[each.reason] = reasons.get(each.reason, 0) + 1
    why = "; ".join(f"{number:,} {reason}" for reason, number in reasons.items())
    logger.info("%s%s", trace.summary, f" (left out: {why})" if why else "")
    if logger.isEnabledFor(logging.DEBUG):
        for each in trace.decisions:
            logger.debug("%s", _line(each))


def _line(decision: Decision) -> str:
    """`'a1' of 'A', hit 1: dropped, budget, 73 tokens`."""
    which = "neighbour of hit" if decision.distance else "hit"
    because = f", because of {shown(decision.because_of, _ID_CHARS)}" if decision.because_of is not None else ""
    tokens = f", {decision.tokens:,} tokens" if decision.tokens is not None else ""
    found = f", found by {shown(decision.search_method, _ID_CHARS)}" if decision.search_method else ""
    name = f"{shown(decision.chunk_id, _ID_CHARS)} of {shown(decision.document_id, _ID_CHARS)}"
    return f"{name}, {which} {decision.rank + 1}: {decision.outcome}, {decision.reason}{because}{tokens}{found}"
