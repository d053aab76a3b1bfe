"""The lede of a view: what was done to the retrieved chunks, in plain words."""

from __future__ import annotations

from collections.abc import Iterator

from ctxassembly.data.citations import ContextData
from ctxassembly.data.trace import Trace
from ctxassembly.safe_repr import pluralize


def summarize(context: ContextData) -> tuple[str, str]:
    """A phrase on what the hits became, and a sentence on what was done for it, which may be empty."""
    trace = context.trace
    hits, passages = pluralize(trace.hits, "retrieved chunk"), len(context.passages)
    documents = len({passage.document_id for passage in context.passages})
    outcome = (
        f"{pluralize(passages, 'passage')} of {pluralize(documents, 'document')}" if passages else "nothing to read"
    )
    changes = "; ".join(_list_changes(trace))
    return f"{hits} became {outcome}", f"{changes[:1].upper()}{changes[1:]}." if changes else ""


def _list_changes(trace: Trace) -> Iterator[str]:
    decisions = trace.decisions
    included = [decision for decision in decisions if decision.is_in_context]
    if copies := sum(decision.outcome == "duplicate" for decision in decisions):
        yield pluralize(copies, "duplicate") + " removed"
    if trace.stripped_chars:
        yield pluralize(trace.stripped_chars, "repeated character") + " stripped"
    if neighbors := sum(decision.distance > 0 for decision in included):
        yield pluralize(neighbors, "neighbor") + " added for context"
    if shortened := len(trace.shortened):
        yield pluralize(shortened, "chunk") + " shortened"
    if dropped := len(trace.excluded):
        yield (
            pluralize(dropped, "chunk")
            + f" left out, which would have cost {pluralize(trace.excluded_tokens, 'token')}"
        )
