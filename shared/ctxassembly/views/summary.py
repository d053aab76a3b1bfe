"""The lede of a view: what was done to the retrieved chunks, in plain words."""

from __future__ import annotations

from collections.abc import Iterator

from ctxassembly.data.citations import Assembled
from ctxassembly.data.trace import Trace
from ctxassembly.safe_repr import counted


def lede(context: Assembled) -> tuple[str, str]:
    """A phrase on what the hits became, and a sentence on what was done for it, which may be empty."""
    trace = context.trace
    hits, passages = counted(trace.hits, "retrieved chunk"), len(context.passages)
    documents = len({passage.document_id for passage in context.passages})
    became = f"{counted(passages, 'passage')} of {counted(documents, 'document')}" if passages else "nothing to read"
    done = "; ".join(_done(trace))
    return f"{hits} became {became}", f"{done[:1].upper()}{done[1:]}." if done else ""


def _done(trace: Trace) -> Iterator[str]:
    decisions = trace.decisions
    standing = [decision for decision in decisions if decision.stands]
    if copies := sum(decision.outcome == "duplicate" for decision in decisions):
        yield counted(copies, "duplicate") + " removed"
    if trace.stripped_chars:
        yield counted(trace.stripped_chars, "repeated character") + " stripped"
    if neighbours := sum(decision.distance > 0 for decision in standing):
        yield counted(neighbours, "neighbour") + " added for context"
    if shortened := len(trace.shortened):
        yield counted(shortened, "chunk") + " shortened"
    if dropped := len(trace.left_out):
        yield counted(dropped, "chunk") + f" left out, which would have cost {counted(trace.left_out_tokens, 'token')}"
