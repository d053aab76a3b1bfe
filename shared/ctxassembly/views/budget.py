"""The budget as a bar: tokens by document and purpose, tokens that are free, and tokens that had no room."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ctxassembly.data.candidates import EXACT, NEAR, REPEATED, SEMANTIC
from ctxassembly.data.chunks import Fragment
from ctxassembly.data.citations import Assembled
from ctxassembly.data.trace import Decision, Shortened, Trace
from ctxassembly.safe_repr import counted
from ctxassembly.tokens.counter import counter_for
from ctxassembly.views.html import Html, joined, number, share, tag
from ctxassembly.views.limits import COUNTED_CHUNKS, DOCUMENTS
from ctxassembly.views.names import Names
from ctxassembly.views.runs import shares


class Spent(NamedTuple):
    """The parts of a context's text in tokens, or in characters if the context has no counter."""

    unit: str
    documents: dict[str, int]
    """By document id, the size of its own text."""
    headers: int
    summaries: int
    supplement: int
    joints: int
    """The difference between the whole and the sum of its parts: a token may cross the boundary of two parts."""
    free: int

    @property
    def total(self) -> int:
        """The size of the whole text."""
        return sum(self.documents.values()) + self.headers + self.summaries + self.supplement + self.joints


def spent(context: Assembled) -> Spent:
    """The parts of the text of `context`. They add up exactly to its tokens."""
    count, unit = counting(context)
    documents: Tally[str] = Tally()
    headers = summaries = 0
    supplement = count(context.supplement) if context.supplement else 0
    for block, part in shares(context):
        assert block.citation is not None  # noqa: S101 - only labels have shares
        body = block.text[len(part.header) + len(part.summary) :]
        headers += count(part.header)
        summaries += count(part.summary)
        documents[block.citation.document_id] += count(body)
    whole = context.token_count if context.encoding is not None else len(context.text)
    joints = whole - sum(documents.values()) - headers - summaries - supplement
    free = context.trace.max_tokens - whole if context.encoding is not None else 0
    return Spent(unit, dict(documents), headers, summaries, supplement, joints, max(free, 0))


def funnel(trace: Trace) -> list[int]:
    """The number of chunks at the start, and after each stage that changed it."""
    numbers = [trace.stages[0].chunks_in] if trace.stages else []
    for stage in trace.stages:
        for chunks in (stage.chunks_in, stage.chunks_out):
            if chunks != numbers[-1]:
                numbers.append(chunks)
    return numbers


def counting(context: Assembled) -> tuple[Callable[[str], int], str]:
    """The function that counts texts of `context`, and its unit."""
    if context.encoding is None:
        return len, "characters"
    return counter_for(context.encoding).count, "tokens"


LEAST_LETTERED = 0.03
"""Share of the bar from which a part shows its letter; the list below the bar has all letters."""


class _Part(NamedTuple):
    name: str
    amount: int
    key: str = ""
    look: str = ""


def budget(context: Assembled, names: Names) -> Html:
    """The bar, and below it the list of its parts with their numbers."""
    spending = spent(context)
    parts = list(_parts(spending, names))
    room = max(spending.total + spending.free, 1)
    spans = [
        tag(
            "span",
            part.key if part.amount / room >= LEAST_LETTERED else "",
            class_=part.look or None,
            style=f"width:{part.amount / room:.3%}",
            title=part.name,
        )
        for part in parts
        if part.amount > 0
    ]
    said = f"{spending.total:,} {spending.unit}" + (f" of {room:,}" if spending.unit == "tokens" else "")
    bar = tag("div", *spans, class_="cxa-bar", role="img", aria_label=f"{said}; the list below has the parts")
    items = [
        tag(
            "li",
            tag("span", part.key, class_=f"cxa-key {part.look}".rstrip(), aria_hidden="true") if part.key else "",
            f" {part.name} ",
            tag("b", number(part.amount)),
            f" {share(part.amount, room)}",
        )
        for part in parts
    ]
    legend = tag("ul", *items, class_="cxa-legend", aria_label=f"What the {spending.unit} went to")
    return joined(bar, legend, _over(context.trace, room) if spending.unit == "tokens" else "")


def _over(trace: Trace, room: int) -> Html:
    """A bar for the chunks left out, on the scale of the budget and at most as long, with their cost in words."""
    if not trace.left_out:
        return Html()
    cost = trace.left_out_tokens
    chunks = counted(len(trace.left_out), "chunk")
    said = f"Left out: {chunks}, which would have cost {counted(cost, 'token')}, {_beside(cost, room)} the budget"
    bar = tag("span", class_="cxa-over", style=f"width:{min(cost / room, 1):.1%}")
    return tag("p", bar, said, class_="cxa-soft")


def _beside(cost: int, room: int) -> str:
    return f"{share(cost, room)} of" if cost < 2 * room else f"{cost / room:,.0f} times"


def _parts(spending: Spent, names: Names) -> Iterator[_Part]:
    ranked = sorted(spending.documents.items(), key=lambda entry: -entry[1])
    large = dict(ranked[:DOCUMENTS])
    for document_id, amount in spending.documents.items():
        if document_id in large:
            document = names.document(document_id)
            yield _Part(document.name, amount, document.letter, document.look)
    if rest := ranked[DOCUMENTS:]:
        yield _Part(f"{len(rest):,} more documents", sum(amount for _, amount in rest), "+")
    yield _Part("headers", spending.headers, "h")
    for name, amount, key in (
        ("page summaries", spending.summaries, "s"),
        ("supplement", spending.supplement, "x"),
        ("where parts meet", spending.joints, ""),
    ):
        if amount:
            yield _Part(name, amount, key)
    if spending.unit == "tokens":
        yield _Part("free", spending.free, "", "cxa-free")


LEFT_OUT = "left out"
"""The rule of the budget; `left_out` has the reasons for its chunks."""


class LeftOut(NamedTuple):
    """The chunks left out for one reason, and the tokens that they would have added."""

    reason: str
    chunks: int
    tokens: int


class Saved(NamedTuple):
    """The chunks that one rule kept out of the context."""

    stage: int
    """Its place among the stages of the trace."""
    rule: str
    chunks: int
    tokens: int | None
    """None if unknown."""
    counted: int
    """The number of chunks that are in `tokens`."""


def left_out(trace: Trace) -> list[LeftOut]:
    """The reasons for which chunks were dropped, the most expensive first."""
    chunks: Tally[str] = Tally()
    tokens: Tally[str] = Tally()
    for decision in trace.decisions:
        if decision.outcome == "dropped":
            chunks[decision.reason] += 1
            tokens[decision.reason] += decision.tokens or 0
    found = (LeftOut(reason, number, tokens[reason]) for reason, number in chunks.items())
    return sorted(found, key=lambda row: (-row.tokens, -row.chunks, row.reason))


def saved(context: Assembled) -> list[Saved]:
    """The chunks that each rule kept out, stage by stage.

    The text of neighbours that were left out is no longer known, and so aren't their tokens.
    """
    stages = context.trace.stages
    expand = next((place for place, stage in enumerate(stages) if stage.name == "expand"), len(stages))
    rows = (
        row
        for place, stage in enumerate(stages)
        for row in (
            _duplicates(context, place, place > expand)
            if stage.name.endswith("dedup")
            else _for_budget(context.trace, place)
            if stage.name == "budget"
            else _repeated(context, place)
            if stage.name == "repeats"
            else _joined(context, place)
            if stage.name == "render"
            else ()
        )
    )
    return [row for row in rows if row.chunks]


def _duplicates(context: Assembled, place: int, of_neighbours: bool) -> Iterator[Saved]:
    copies = [decision for decision in context.trace.decisions if decision.outcome == "duplicate"]
    if context.trace.stages[place].name == "dedup":
        found = [
            decision for decision in copies if decision.reason == EXACT and (decision.distance > 0) is of_neighbours
        ]
        yield _row(context, place, "exact duplicates", len(found), _at_hand(context, found))
    else:
        for reason in (NEAR, SEMANTIC):
            found = [decision for decision in copies if decision.reason == reason]
            yield _row(context, place, f"{reason}s", len(found), _at_hand(context, found))


def _for_budget(trace: Trace, place: int) -> Iterator[Saved]:
    dropped = trace.left_out
    yield _shortened(place, "cut or compressed", [one for one in trace.shortened if one.by != REPEATED])
    yield Saved(place, LEFT_OUT, len(dropped), trace.left_out_tokens, len(dropped))


def _repeated(context: Assembled, place: int) -> Iterator[Saved]:
    yield _shortened(place, "without sentences repeated", [e for e in context.trace.shortened if e.by == REPEATED])
    gone = [
        decision
        for decision in context.trace.decisions
        if decision.outcome == "duplicate" and decision.reason == REPEATED
    ]
    yield _row(context, place, "repeated sentences alone", len(gone), _at_hand(context, gone))


def _shortened(place: int, rule: str, found: Sequence[Shortened]) -> Saved:
    return Saved(
        place,
        rule,
        len(found),
        sum(shortened.tokens_before - shortened.tokens_after for shortened in found),
        len(found),
    )


def _joined(context: Assembled, place: int) -> Iterator[Saved]:
    contained = [decision for decision in context.trace.decisions if decision.outcome == "contained"]
    yield _row(context, place, "contained in another", len(contained), _at_hand(context, contained))
    overlaps = [
        piece.candidate.chunk.text[max(piece.start - piece.shared, 0) : piece.start]
        for passage in context.passages
        for piece in passage.pieces
        if piece.shared
    ]
    count, unit = counting(context)
    tokens = sum(map(count, overlaps)) if overlaps and unit == "tokens" else None
    yield Saved(place, "overlap stripped", len(overlaps), tokens, len(overlaps))


def _at_hand(context: Assembled, found: Iterable[Decision]) -> list[Fragment]:
    fragments = {fragment.rank: fragment for fragment in context.hits}
    kept = (fragments[decision.rank] for decision in found if not decision.distance and decision.rank in fragments)
    return list(islice((fragment for fragment in kept if fragment.chunk.text), COUNTED_CHUNKS))


def _row(context: Assembled, place: int, rule: str, chunks: int, texts: Sequence[Fragment]) -> Saved:
    count, unit = counting(context)
    # Of a long text the ends stand for the whole.
    tokens = sum(
        round(count(fragment.chunk.text) * fragment.characters / len(fragment.chunk.text)) for fragment in texts
    )
    return Saved(place, rule, chunks, tokens if texts and unit == "tokens" else None, len(texts))
