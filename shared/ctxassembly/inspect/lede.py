"""What was done to the retrieved chunks, in plain words: the first thing that a view says."""

from __future__ import annotations

from collections.abc import Iterator

from ctxassembly.data.assembled import Assembled
from ctxassembly.data.trace import Trace


def lede(context: Assembled) -> tuple[str, str]:
    """What became of the hits, and what was done for it: a phrase and a sentence; the latter may be empty."""
    trace = context.trace
    hits, passages = counted(trace.hits, "retrieved chunk"), len(context.passages)
    documents = len({passage.document_id for passage in context.passages})
    became = f"{counted(passages, 'passage')} of {counted(documents, 'document')}" if passages else "nothing to read"
    done = "; ".join(_done(trace))
    return f"{hits} became {became}", f"{done[:1].upper()}{done[1:]}." if done else ""


def counted(number: int, one: str) -> str:
    """A number and what it counts, which takes an s."""
    return f"{number:,} {one}" if number == 1 else f"{number:,} {one}s"


def _done(trace: Trace) -> Iterator[str]:
    decisions = trace.decisions
    standing = [each for each in decisions if each.stands]
    if copies := sum(each.outcome == "duplicate" for each in decisions):
        yield counted(copies, "duplicate") + " removed"
    if trace.stripped_chars:
        yield counted(trace.stripped_chars, "repeated character") + " stripped"
    if neighbours := sum(each.distance > 0 for each in standing):
        yield counted(neighbours, "neighbour") + " added for context"
    if shortened := len(trace.shortened):
        yield counted(shortened, "chunk") + " shortened"
    if dropped := len(trace.left_out):
        yield counted(dropped, "chunk") + f" left out, which would have cost {counted(trace.left_out_tokens, 'token')}"
