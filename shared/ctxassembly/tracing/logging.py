"""The trace for the logger "ctxassembly": one line for an assembly at INFO, one line for each chunk at DEBUG.

No text of a document is logged, and no query: logs are kept elsewhere, and read by others.
"""

from __future__ import annotations

import sys

from ctxassembly.data.citations import ContextData
from ctxassembly.data.trace import Decision
from ctxassembly.safe_repr import safe_repr

LOGGER_NAME = "ctxassembly"
_ID_CHARS = 80


def log_context(context: ContextData) -> None:
    """Log the summary of the trace with the reasons for leaving out, and at DEBUG the decision on each chunk."""
    logging = sys.modules.get("logging")  # not imported here: if nobody has, nobody listens
    if logging is None or not (logger := logging.getLogger(LOGGER_NAME)).isEnabledFor(logging.INFO):
        return
    trace = context.trace
    reasons: dict[str, int] = {}
    for decision in trace.decisions:
        if decision.outcome == "dropped":
            reasons[decision.reason] = reasons.get(decision.reason, 0) + 1
    why = "; ".join(f"{number:,} {reason}" for reason, number in reasons.items())
    logger.info("%s%s", trace.summary, f" (left out: {why})" if why else "")
    if logger.isEnabledFor(logging.DEBUG):
        for decision in trace.decisions:
            logger.debug("%s", _format_decision(decision))


def _format_decision(decision: Decision) -> str:
    """Return `'a1' of 'A', hit 1: dropped, budget, 73 tokens`."""
    which = "neighbor of hit" if decision.distance else "hit"
    because = f", because of {safe_repr(decision.because_of, _ID_CHARS)}" if decision.because_of is not None else ""
    tokens = f", {decision.tokens:,} tokens" if decision.tokens is not None else ""
    found = f", found by {safe_repr(decision.search_method, _ID_CHARS)}" if decision.search_method else ""
    name = f"{safe_repr(decision.chunk_id, _ID_CHARS)} of {safe_repr(decision.document_id, _ID_CHARS)}"
    return f"{name}, {which} {decision.rank + 1}: {decision.outcome}, {decision.reason}{because}{tokens}{found}"
