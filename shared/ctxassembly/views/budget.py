"""What the budget is used for, by document and purpose, and a summary of what was done."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ctxassembly.data.citations import ContextData
from ctxassembly.data.trace import Trace
from ctxassembly.safe_repr import pluralize
from ctxassembly.tokens.counter import counter_for
from ctxassembly.views.model import NamedDocument
from ctxassembly.views.runs import block_parts

MAX_DOCUMENTS = 8
"""Documents with a line of their own; the others share one."""


class UsagePart(NamedTuple):
    """A part of the budget: a document, the headers, what is unused, ..."""

    name: str
    amount: int
    letter: str = ""
    css_class: str = ""


def usage_parts(context: ContextData, names: Mapping[str, NamedDocument]) -> tuple[str, list[UsagePart]]:
    """Return the unit and the parts of the budget, the unused one last. They add up exactly.

    The unit is tokens, or characters if the context has no counter: then the budget is the text.
    """
    counts_tokens = context.encoding is not None
    count = counter_for(context.encoding).count if context.encoding is not None else len
    documents: Tally[str] = Tally()
    headers = summaries = 0
    supplement = count(context.supplement) if context.supplement else 0
    for block in block_parts(context):
        if block.citation is not None:
            headers += count(block.header)
            summaries += count(block.summary)
            documents[block.citation.document_id] += count("".join(run.text for run in block.runs))
    total = context.token_count if counts_tokens else len(context.text)
    largest = dict(documents.most_common(MAX_DOCUMENTS))
    rest = documents.total() - sum(largest.values())
    named = [(names[one], amount) for one, amount in documents.items() if one in largest]
    optional = (
        UsagePart(f"{len(documents) - MAX_DOCUMENTS:,} more documents", rest, "+"),
        UsagePart("headers", headers, "h"),
        UsagePart("page summaries", summaries, "s"),
        UsagePart("supplement", supplement, "x"),
        # A token may cross the boundary of two parts.
        UsagePart("where parts meet", total - documents.total() - headers - summaries - supplement),
    )
    return "tokens" if counts_tokens else "characters", [
        *(UsagePart(document.name, amount, document.letter, document.css_class) for document, amount in named),
        *(part for part in optional if part.amount),
        UsagePart("free", max(context.trace.max_tokens - total, 0) if counts_tokens else 0, "", "cxa-free"),
    ]


def chunk_counts(trace: Trace) -> list[int]:
    """Return the number of chunks at the start, and after each stage that changed it."""
    numbers = [trace.stages[0].chunks_in] if trace.stages else []
    for stage in trace.stages:
        for chunks in (stage.chunks_in, stage.chunks_out):
            if chunks != numbers[-1]:
                numbers.append(chunks)
    return numbers


def summarize(context: ContextData) -> tuple[str, str]:
    """Return what the hits became, and a sentence on what was done for it, which may be empty."""
    hits, passages = pluralize(context.trace.hits, "retrieved chunk"), len(context.passages)
    documents = len({passage.document_id for passage in context.passages})
    outcome = (
        f"{pluralize(passages, 'passage')} of {pluralize(documents, 'document')}" if passages else "nothing to read"
    )
    changes = "; ".join(_list_changes(context.trace))
    return f"{hits} became {outcome}", f"{changes[:1].upper()}{changes[1:]}." if changes else ""


def _list_changes(trace: Trace) -> Iterator[str]:
    if copies := sum(decision.outcome == "duplicate" for decision in trace.decisions):
        yield pluralize(copies, "duplicate") + " removed"
    if trace.stripped_chars:
        yield pluralize(trace.stripped_chars, "repeated character") + " stripped"
    if neighbors := sum(decision.is_in_context and decision.distance > 0 for decision in trace.decisions):
        yield pluralize(neighbors, "neighbor") + " added for context"
    if shortened := len(trace.shortened):
        yield pluralize(shortened, "chunk") + " shortened"
    if dropped := len(trace.excluded):
        tokens = pluralize(trace.excluded_tokens, "token")
        yield f"{pluralize(dropped, 'chunk')} left out, which would have cost {tokens}"
