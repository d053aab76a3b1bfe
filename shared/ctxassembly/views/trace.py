"""The table of decisions, one row each, and the notes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from types import MappingProxyType

from ctxassembly.data import candidates
from ctxassembly.data.citations import Assembled
from ctxassembly.data.trace import Decision, Trace
from ctxassembly.safe_repr import counted
from ctxassembly.views.budget import LEFT_OUT, Saved, funnel, left_out, saved
from ctxassembly.views.html import (
    Html,
    fold,
    joined,
    meter,
    more,
    number,
    row,
    score,
    shortened,
    size,
    table,
    tag,
    within,
)
from ctxassembly.views.limits import (
    DECISIONS,
    DECISIONS_BYTES,
    ID_CHARS,
    LOST_BYTES,
    NOTE_CHARS,
    NOTES_BYTES,
    VALUE_CHARS,
)
from ctxassembly.views.links import lit
from ctxassembly.views.names import Names

SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        candidates.FOR_BUDGET: "max_tokens, max_characters; granularity",
        candidates.TOO_SHORT: "min_chunk_tokens",
        candidates.BELOW_FLOOR: "relevance_floor",
        candidates.IRRELEVANT: "compress",
        candidates.STOPPED: "stop_below",
        candidates.BEYOND: "window, pool_window",
        candidates.EMPTY: "",
        candidates.EXACT: "dedup",
        candidates.NEAR: "dedup, near_threshold",
        candidates.SEMANTIC: "dedup, semantic_threshold",
        candidates.CONTAINED: "min_overlap_chars",
        candidates.REPEATED: "dedup_sentences",
    }
)
"""The settings that decide on each reason; none for a chunk without text."""
_LOST_COLUMNS = ("hit", "chunk", "score", "lost for", "tokens it needs", "what beat it", "setting")
_LOST_NUMBERS = (0, 2, 4)
_NAMED = 5
"""Most hits named that stand although they rank below."""
OPEN = 6
"""Most hits of one reason that are shown before the reader asks for the others."""


def is_lost(decision: Decision) -> bool:
    """True for a hit of which nothing is read, here or in another chunk."""
    return decision.outcome == "dropped" and not decision.distance


def lost(context: Assembled, names: Names) -> Html:
    """A table of the first hits that were lost for each reason, by rank, and the others folded; empty if none was."""
    found = [decision for decision in context.trace.decisions if is_lost(decision)]
    if not found:
        return Html()
    beaten = Beaten(context.trace, asked=context.query is not None)
    first, others = _parted(found)
    rows = within((_row(decision, beaten, names) for decision in first), LOST_BYTES)
    caption = f"By rank; left of the budget: {counted(_free(context.trace), 'token')}"
    room, folded = LOST_BYTES - sum(map(size, rows)), []
    for reason, rest in others.items():
        shown = within((_row(decision, beaten, names) for decision in rest[:DECISIONS]), room)
        room -= sum(map(size, shown))
        whole = table(f"By rank, after the first {OPEN}", _LOST_COLUMNS, shown, _LOST_NUMBERS)
        summary = f"{counted(len(rest), 'more hit')} lost for the same reason: {reason}"
        folded.append(fold(summary, whole, more(len(rest) - len(shown), "hits")))
    title = tag("h3", f"Lost: {counted(len(found), 'hit')} that the model doesn’t read")
    inside = table(caption, _LOST_COLUMNS, rows, _LOST_NUMBERS), more(len(first) - len(rows), "hits"), *folded
    return joined(title, tag("div", *inside, class_="cxa-losses"))


class Beaten:
    """The chunks in the place of hits that had no room, in words."""

    def __init__(self, trace: Trace, *, asked: bool) -> None:
        standing = [decision for decision in trace.decisions if decision.stands]
        self._asked = asked
        self._hits = sorted(decision.rank for decision in standing if not decision.distance)
        self._beside = len(standing) - len(self._hits)
        weighed = ((decision.value, decision) for decision in standing if decision.value is not None)
        self._least = min(weighed, key=lambda one: one[0], default=None)

    def by(self, decision: Decision) -> str:
        """What beat a hit: by the query what it is worth and the least that stands, else rank.

        Nothing if it was lost for another reason than the budget.
        """
        if decision.reason != candidates.FOR_BUDGET:
            return "" if decision.value is None else f"worth {score(decision.value)}"
        return "; ".join(self._worth(decision) or self._ranked(decision))

    def _worth(self, decision: Decision) -> list[str]:
        if decision.value is None or self._least is None:
            return []
        value, least = self._least
        fits = ", but fits" if value < decision.value else ""
        name = shortened(least.chunk_id, ID_CHARS)
        return [f"worth {score(decision.value)}", f"the least that stands is worth {score(value)} ({name}){fits}"]

    def _ranked(self, decision: Decision) -> Iterator[str]:
        above = sum(rank < decision.rank for rank in self._hits)
        below = [f"{rank + 1}" for rank in self._hits if rank > decision.rank]
        if above:
            yield f"{counted(above, 'hit')} ranked above it"
        if below:
            more_of_them = f" and {len(below) - _NAMED:,} more" if len(below) > _NAMED else ""
            why = "which the query chose or which fit" if self._asked else "which fit"
            yield f"hit {', '.join(below[:_NAMED])}{more_of_them} from below it, {why}"
        if self._beside:
            yield counted(self._beside, "neighbour")
        if not (self._hits or self._beside):
            yield "nothing"


def _parted(found: Iterable[Decision]) -> tuple[Sequence[Decision], dict[str, list[Decision]]]:
    """The first hits of each reason, and the others by reason. One alone is not worth a fold."""
    found = list(found)
    all_of = Counter(decision.reason for decision in found)
    seen: Counter[str] = Counter()
    first: list[Decision] = []
    others: dict[str, list[Decision]] = defaultdict(list)
    for decision in found:
        seen[decision.reason] += 1
        is_first = seen[decision.reason] <= OPEN or all_of[decision.reason] == OPEN + 1
        (first if is_first else others[decision.reason]).append(decision)
    return first, others


def _free(trace: Trace) -> int:
    return max(trace.max_tokens - trace.token_count, 0)


def _row(decision: Decision, beaten: Beaten, names: Names) -> Html:
    document = names.document(decision.document_id)
    name = shortened(decision.chunk_id, ID_CHARS)
    address = names.links.fragment(decision.rank) or names.row(decision.chunk_id, decision.rank, 0)
    look = lit([decision.rank], leads=names.links.fragment(decision.rank) is not None)
    return row(
        f"{decision.rank + 1}",
        joined(document.key, " ", tag("a", name, href=address, class_=look) if address else name),
        score(decision.score),
        decision.reason,
        number(decision.tokens),
        beaten.by(decision) or "–",
        SETTINGS[decision.reason] or "–",
        numbers=_LOST_NUMBERS,
    )


_COLUMNS = ("chunk", "document", "rank", "distance", "score", "outcome", "reason", "because of", "tokens")
_NUMBERS = (2, 3, 4, 8)
_KNOWN = ("worth", "found by", "has of the query")
"""Columns shown only if the query weighed the chunks, if a retriever says how it searched, or if there is a query."""


def decisions(context: Assembled, names: Names) -> Html:
    """The folded table. From then on `names` links to the rows that have room in it."""
    found = sorted(context.trace.decisions, key=lambda decision: not is_lost(decision))  # the others keep their order
    first = found[:DECISIONS]
    known = (
        any(one.value is not None for one in first),
        any(one.search_method for one in first),
        any(one.matches for one in first),
    )
    columns = (*_COLUMNS, *compress(_KNOWN, known))
    rows = within(_rows(first, names, known), DECISIONS_BYTES)
    names.lead_to(found[: len(rows)])
    whole = table(
        "Hits by rank, those that were lost first, then what was fetched around them", columns, rows, _NUMBERS
    )
    return fold(f"All {len(found):,} decisions", whole, more(len(found) - len(rows), "decisions"))


def notes(context: Assembled) -> Html:
    """The notes of the trace, on fallbacks and mended values; empty if there are none."""
    found = context.trace.notes
    if not found:
        return Html()
    lines = within((tag("li", shortened(note, NOTE_CHARS)) for note in found), NOTES_BYTES)
    return joined(tag("h4", "Notes"), tag("ul", *lines, class_="cxa-notes"), more(len(found) - len(lines), "notes"))


def _rows(found: Sequence[Decision], names: Names, known: tuple[bool, ...]) -> Iterator[Html]:
    for place, decision in enumerate(found):
        document = names.document(decision.document_id)
        searched = (score(decision.value), decision.search_method or "–", ", ".join(decision.matches or ()) or "–")
        yield row(
            shortened(decision.chunk_id, ID_CHARS),
            joined(document.key, " ", document.name),
            f"{decision.rank + 1}",
            f"{decision.distance}",
            score(decision.score),
            decision.outcome,
            shortened(decision.reason, VALUE_CHARS)
            + (f", {decision.stripped_chars:,} stripped" if decision.stripped_chars else ""),
            shortened(decision.because_of or "–", ID_CHARS),
            _tokens(decision),
            *(shortened(cell, VALUE_CHARS) for cell in compress(searched, known)),
            numbers=_NUMBERS,
            id_=f"{names.anchor}-r{place}",
        )


def _tokens(decision: Decision) -> str:
    if decision.shortened is not None:
        return f"{decision.shortened.tokens_before:,} → {decision.shortened.tokens_after:,}"
    return number(decision.tokens)


DOES = {
    "admit": "checks what was retrieved",
    "dedup": "removes exact copies",
    "expand": "fetches neighbours",
    "near dedup": "removes what is nearly the same",
    "semantic dedup": "removes what means the same",
    "score": "asks a scorer about sentences",
    "budget": "keeps what has room",
    "repeats": "says once what passages share",
    "render": "joins, labels, writes",
}
"""The purpose of each stage."""


def stages(context: Assembled) -> Html:
    """A table of the stages, and tables of the tokens saved and of the chunks left out."""
    trace = context.trace
    most = max((max(stage.chunks_in, stage.chunks_out) for stage in trace.stages), default=0) or 1
    savings = saved(context)
    rows = [
        row(
            joined(stage.name, " ", tag("span", DOES.get(stage.name, ""), class_="cxa-does")),
            f"{stage.chunks_in:,} → {stage.chunks_out:,}",
            meter(stage.chunks_out / most),
            number(_tokens_saved(savings, place)),
            number(stage.elapsed_ms, 2),
            numbers=(1, 3, 4),
        )
        for place, stage in enumerate(trace.stages)
    ]
    way = " → ".join(map(number, funnel(trace))) or "0"
    columns = ("stage", "chunks", "what is left", "tokens saved", "ms")
    steps = table(f"{way} chunks", columns, rows, (1, 3, 4))
    return tag(
        "div",
        steps,
        tag("div", _saved([saving for saving in savings if saving.rule != LEFT_OUT]), _left_out(context)),
        class_="cxa-halves",
    )


def _tokens_saved(savings: list[Saved], place: int) -> int | None:
    """Tokens that the stage at `place` saved; None if it saved none, or nobody knows."""
    known = [saving.tokens for saving in savings if saving.stage == place and saving.tokens is not None]
    return sum(known) if known else None


def _saved(savings: list[Saved]) -> Html:
    if not savings:
        return tag("p", "Nothing was there to be saved.", class_="cxa-soft")
    rows = []
    for saving in savings:
        partly = "" if saving.tokens is None or saving.counted == saving.chunks else f" (of {saving.counted:,} chunks)"
        rows.append(row(saving.rule, number(saving.chunks), number(saving.tokens) + partly, numbers=(1, 2)))
    return table("What the model needn’t read", ("rule", "chunks", "tokens saved"), rows, (1, 2))


def _left_out(context: Assembled) -> Html:
    found = left_out(context.trace)
    if not found:
        return tag("p", "Nothing was left out.", class_="cxa-soft")
    rows = [row(rule.reason, number(rule.chunks), number(rule.tokens or None), numbers=(1, 2)) for rule in found]
    return table("What was left out, and what it would have cost", ("reason", "chunks", "tokens"), rows, (1, 2))
