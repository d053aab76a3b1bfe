"""The budget as a bar: tokens by document and purpose, tokens that are free, and tokens that had no room."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ctxassembly.data.candidates import EXACT_DUPLICATE, NEAR_DUPLICATE, REPEATED, SEMANTIC_DUPLICATE
from ctxassembly.data.chunks import RetrievedFragment
from ctxassembly.data.citations import ContextData
from ctxassembly.data.trace import Decision, Shortened, Trace
from ctxassembly.safe_repr import pluralize
from ctxassembly.tokens.counter import counter_for
from ctxassembly.views.html import Html, format_number, format_share, join_html, tag
from ctxassembly.views.limits import MAX_COUNTED_CHUNKS, MAX_DOCUMENTS
from ctxassembly.views.names import DocumentNames
from ctxassembly.views.runs import block_parts


class TokenUsage(NamedTuple):
    """The parts of a context's text in tokens, or in characters if the context has no counter."""

    unit: str
    documents: dict[str, int]
    """By document id, the size of its own text."""
    headers: int
    summaries: int
    supplement: int
    joins: int
    """The difference between the whole and the sum of its parts: a token may cross the boundary of two parts."""
    free: int

    @property
    def total(self) -> int:
        """The size of the whole text."""
        return sum(self.documents.values()) + self.headers + self.summaries + self.supplement + self.joins


def token_usage(context: ContextData) -> TokenUsage:
    """The parts of the text of `context`. They add up exactly to its tokens."""
    count, unit = get_counter(context)
    documents: Tally[str] = Tally()
    headers = summaries = 0
    supplement = count(context.supplement) if context.supplement else 0
    for block, part in block_parts(context):
        assert block.citation is not None  # noqa: S101 - only labels have shares
        body = block.text[len(part.header) + len(part.summary) :]
        headers += count(part.header)
        summaries += count(part.summary)
        documents[block.citation.document_id] += count(body)
    whole = context.token_count if context.encoding is not None else len(context.text)
    joints = whole - sum(documents.values()) - headers - summaries - supplement
    free = context.trace.max_tokens - whole if context.encoding is not None else 0
    return TokenUsage(unit, dict(documents), headers, summaries, supplement, joints, max(free, 0))


def chunk_counts(trace: Trace) -> list[int]:
    """The number of chunks at the start, and after each stage that changed it."""
    numbers = [trace.stages[0].chunks_in] if trace.stages else []
    for stage in trace.stages:
        for chunks in (stage.chunks_in, stage.chunks_out):
            if chunks != numbers[-1]:
                numbers.append(chunks)
    return numbers


def get_counter(context: ContextData) -> tuple[Callable[[str], int], str]:
    """The function that counts texts of `context`, and its unit."""
    if context.encoding is None:
        return len, "characters"
    return counter_for(context.encoding).count, "tokens"


MIN_LETTERED_SHARE = 0.03
"""Share of the bar from which a part shows its letter; the list below the bar has all letters."""


class _Part(NamedTuple):
    name: str
    amount: int
    letter: str = ""
    css_class: str = ""


def budget_bar(context: ContextData, names: DocumentNames) -> Html:
    """The bar, and below it the list of its parts with their numbers."""
    spending = token_usage(context)
    parts = list(_parts(spending, names))
    room = max(spending.total + spending.free, 1)
    spans = [
        tag(
            "span",
            part.letter if part.amount / room >= MIN_LETTERED_SHARE else "",
            class_=part.css_class or None,
            style=f"width:{part.amount / room:.3%}",
            title=part.name,
        )
        for part in parts
        if part.amount > 0
    ]
    summary = f"{spending.total:,} {spending.unit}" + (f" of {room:,}" if spending.unit == "tokens" else "")
    bar = tag("div", *spans, class_="cxa-bar", role="img", aria_label=f"{summary}; the list below has the parts")
    items = [
        tag(
            "li",
            tag("span", part.letter, class_=f"cxa-key {part.css_class}".rstrip(), aria_hidden="true")
            if part.letter
            else "",
            f" {part.name} ",
            tag("b", format_number(part.amount)),
            f" {format_share(part.amount, room)}",
        )
        for part in parts
    ]
    legend = tag("ul", *items, class_="cxa-legend", aria_label=f"What the {spending.unit} went to")
    return join_html(bar, legend, _excluded_bar(context.trace, room) if spending.unit == "tokens" else "")


def _excluded_bar(trace: Trace, max_tokens: int) -> Html:
    """A bar for the chunks left out, on the scale of the budget and at most as long, with their cost in words."""
    if not trace.excluded:
        return Html()
    cost = trace.excluded_tokens
    chunks = pluralize(len(trace.excluded), "chunk")
    relative = _relative_to_budget(cost, max_tokens)
    summary = f"Left out: {chunks}, which would have cost {pluralize(cost, 'token')}, {relative} the budget"
    bar = tag("span", class_="cxa-over", style=f"width:{min(cost / max_tokens, 1):.1%}")
    return tag("p", bar, summary, class_="cxa-soft")


def _relative_to_budget(cost: int, max_tokens: int) -> str:
    return f"{format_share(cost, max_tokens)} of" if cost < 2 * max_tokens else f"{cost / max_tokens:,.0f} times"


def _parts(spending: TokenUsage, names: DocumentNames) -> Iterator[_Part]:
    ranked = sorted(spending.documents.items(), key=lambda entry: -entry[1])
    large = dict(ranked[:MAX_DOCUMENTS])
    for document_id, amount in spending.documents.items():
        if document_id in large:
            document = names.document(document_id)
            yield _Part(document.name, amount, document.letter, document.css_class)
    if rest := ranked[MAX_DOCUMENTS:]:
        yield _Part(f"{len(rest):,} more documents", sum(amount for _, amount in rest), "+")
    yield _Part("headers", spending.headers, "h")
    for name, amount, key in (
        ("page summaries", spending.summaries, "s"),
        ("supplement", spending.supplement, "x"),
        ("where parts meet", spending.joins, ""),
    ):
        if amount:
            yield _Part(name, amount, key)
    if spending.unit == "tokens":
        yield _Part("free", spending.free, "", "cxa-free")


LEFT_OUT_RULE = "left out"
"""The rule of the budget; `exclusion_costs` has the reasons for its chunks."""


class ExclusionCost(NamedTuple):
    """The chunks left out for one reason, and the tokens that they would have added."""

    reason: str
    chunks: int
    tokens: int


class Saving(NamedTuple):
    """The chunks that one rule kept out of the context."""

    stage_index: int
    """Its place among the stages of the trace."""
    rule: str
    chunks: int
    tokens: int | None
    """None if unknown."""
    counted_chunks: int
    """The number of chunks that are in `tokens`."""


def exclusion_costs(trace: Trace) -> list[ExclusionCost]:
    """The reasons for which chunks were dropped, the most expensive first."""
    chunks: Tally[str] = Tally()
    tokens: Tally[str] = Tally()
    for decision in trace.decisions:
        if decision.outcome == "dropped":
            chunks[decision.reason] += 1
            tokens[decision.reason] += decision.tokens or 0
    found = (ExclusionCost(reason, number, tokens[reason]) for reason, number in chunks.items())
    return sorted(found, key=lambda row: (-row.tokens, -row.chunks, row.reason))


def tokens_saved(context: ContextData) -> list[Saving]:
    """The chunks that each rule kept out, stage by stage.

    The text of neighbors that were left out is no longer known, and so aren't their tokens.
    """
    stages = context.trace.stages
    expand_index = next((place for place, stage in enumerate(stages) if stage.name == "expand"), len(stages))
    rows = (
        row
        for place, stage in enumerate(stages)
        for row in (
            _duplicate_savings(context, place, place > expand_index)
            if stage.name.endswith("dedup")
            else _budget_savings(context.trace, place)
            if stage.name == "budget"
            else _repetition_savings(context, place)
            if stage.name == "repeats"
            else _overlap_savings(context, place)
            if stage.name == "render"
            else ()
        )
    )
    return [row for row in rows if row.chunks]


def _duplicate_savings(context: ContextData, stage_index: int, is_after_expansion: bool) -> Iterator[Saving]:
    copies = [decision for decision in context.trace.decisions if decision.outcome == "duplicate"]
    if context.trace.stages[stage_index].name == "dedup":
        found = [
            decision
            for decision in copies
            if decision.reason == EXACT_DUPLICATE and (decision.distance > 0) is is_after_expansion
        ]
        yield _make_saving(context, stage_index, "exact duplicates", len(found), _available_fragments(context, found))
    else:
        for reason in (NEAR_DUPLICATE, SEMANTIC_DUPLICATE):
            found = [decision for decision in copies if decision.reason == reason]
            yield _make_saving(context, stage_index, f"{reason}s", len(found), _available_fragments(context, found))


def _budget_savings(trace: Trace, stage_index: int) -> Iterator[Saving]:
    dropped = trace.excluded
    yield _shortening_saving(stage_index, "cut or compressed", [one for one in trace.shortened if one.by != REPEATED])
    yield Saving(stage_index, LEFT_OUT_RULE, len(dropped), trace.excluded_tokens, len(dropped))


def _repetition_savings(context: ContextData, stage_index: int) -> Iterator[Saving]:
    yield _shortening_saving(
        stage_index, "without sentences repeated", [e for e in context.trace.shortened if e.by == REPEATED]
    )
    removed = [
        decision
        for decision in context.trace.decisions
        if decision.outcome == "duplicate" and decision.reason == REPEATED
    ]
    yield _make_saving(
        context, stage_index, "repeated sentences alone", len(removed), _available_fragments(context, removed)
    )


def _shortening_saving(stage_index: int, rule: str, shortenings: Sequence[Shortened]) -> Saving:
    return Saving(
        stage_index,
        rule,
        len(shortenings),
        sum(shortened.tokens_before - shortened.tokens_after for shortened in shortenings),
        len(shortenings),
    )


def _overlap_savings(context: ContextData, stage_index: int) -> Iterator[Saving]:
    contained = [decision for decision in context.trace.decisions if decision.outcome == "contained"]
    yield _make_saving(
        context, stage_index, "contained in another", len(contained), _available_fragments(context, contained)
    )
    overlaps = [
        piece.candidate.chunk.text[max(piece.start - piece.overlap, 0) : piece.start]
        for passage in context.passages
        for piece in passage.pieces
        if piece.overlap
    ]
    count, unit = get_counter(context)
    tokens = sum(map(count, overlaps)) if overlaps and unit == "tokens" else None
    yield Saving(stage_index, "overlap stripped", len(overlaps), tokens, len(overlaps))


def _available_fragments(context: ContextData, decisions: Iterable[Decision]) -> list[RetrievedFragment]:
    fragments = {fragment.rank: fragment for fragment in context.hits}
    kept = (fragments[decision.rank] for decision in decisions if not decision.distance and decision.rank in fragments)
    return list(islice((fragment for fragment in kept if fragment.chunk.text), MAX_COUNTED_CHUNKS))


def _make_saving(
    context: ContextData, stage_index: int, rule: str, chunks: int, fragments: Sequence[RetrievedFragment]
) -> Saving:
    count, unit = get_counter(context)
    # Of a long text the ends stand for the whole.
    tokens = sum(
        round(count(fragment.chunk.text) * fragment.characters / len(fragment.chunk.text)) for fragment in fragments
    )
    return Saving(stage_index, rule, chunks, tokens if fragments and unit == "tokens" else None, len(fragments))
