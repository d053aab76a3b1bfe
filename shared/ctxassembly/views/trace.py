"""The table of decisions, one row each, and the notes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from types import MappingProxyType

from ctxassembly.data import candidates
from ctxassembly.data.citations import ContextData
from ctxassembly.data.trace import Decision, Trace
from ctxassembly.safe_repr import pluralize
from ctxassembly.views.budget import LEFT_OUT_RULE, Saving, chunk_counts, exclusion_costs, tokens_saved
from ctxassembly.views.html import (
    Html,
    byte_size,
    fold,
    format_number,
    format_score,
    join_html,
    meter,
    more_line,
    row,
    table,
    tag,
    take_fitting,
    truncate,
)
from ctxassembly.views.limits import (
    DECISIONS_BYTES,
    EXCLUDED_HITS_BYTES,
    ID_CHARS,
    MAX_DECISIONS,
    NOTE_CHARS,
    NOTES_BYTES,
    VALUE_CHARS,
)
from ctxassembly.views.links import css_class
from ctxassembly.views.names import DocumentNames

SETTINGS_BY_REASON: Mapping[str, str] = MappingProxyType(
    {
        candidates.OVER_BUDGET: "max_tokens, max_characters; granularity",
        candidates.TOO_SHORT: "min_chunk_tokens",
        candidates.BELOW_FLOOR: "relevance_floor",
        candidates.IRRELEVANT: "compress",
        candidates.BELOW_CUTOFF: "min_relevance",
        candidates.OUTSIDE_WINDOW: "window, candidate_window",
        candidates.EMPTY: "",
        candidates.EXACT_DUPLICATE: "dedup",
        candidates.NEAR_DUPLICATE: "dedup, near_threshold",
        candidates.SEMANTIC_DUPLICATE: "dedup, semantic_threshold",
        candidates.CONTAINED: "min_overlap_chars",
        candidates.REPEATED: "dedup_sentences",
    }
)
"""The settings that decide on each reason; none for a chunk without text."""
_LOST_COLUMNS = ("hit", "chunk", "score", "lost for", "tokens it needs", "what beat it", "setting")
_LOST_NUMBERS = (0, 2, 4)
_MAX_NAMED = 5
"""Most hits named that stand although they rank below."""
MAX_UNFOLDED = 6
"""Most hits of one reason that are shown before the reader asks for the others."""


def is_excluded_hit(decision: Decision) -> bool:
    """True for a hit of which nothing is read, here or in another chunk."""
    return decision.outcome == "dropped" and not decision.distance


def excluded_hits(context: ContextData, names: DocumentNames) -> Html:
    """A table of the first hits that were lost for each reason, by rank, and the others folded; empty if none was."""
    excluded = [decision for decision in context.trace.decisions if is_excluded_hit(decision)]
    if not excluded:
        return Html()
    outranked_by = OutrankedBy(context.trace, has_query=context.query is not None)
    first, others = _split_by_reason(excluded)
    rows = take_fitting((_hit_row(decision, outranked_by, names) for decision in first), EXCLUDED_HITS_BYTES)
    caption = f"By rank; left of the budget: {pluralize(_free_tokens(context.trace), 'token')}"
    room, folded = EXCLUDED_HITS_BYTES - sum(map(byte_size, rows)), []
    for reason, rest in others.items():
        shown = take_fitting((_hit_row(decision, outranked_by, names) for decision in rest[:MAX_DECISIONS]), room)
        room -= sum(map(byte_size, shown))
        whole = table(f"By rank, after the first {MAX_UNFOLDED}", _LOST_COLUMNS, shown, _LOST_NUMBERS)
        summary = f"{pluralize(len(rest), 'more hit')} lost for the same reason: {reason}"
        folded.append(fold(summary, whole, more_line(len(rest) - len(shown), "hits")))
    title = tag("h3", f"Lost: {pluralize(len(excluded), 'hit')} that the model doesn’t read")
    content = table(caption, _LOST_COLUMNS, rows, _LOST_NUMBERS), more_line(len(first) - len(rows), "hits"), *folded
    return join_html(title, tag("div", *content, class_="cxa-losses"))


class OutrankedBy:
    """The chunks in the place of hits that had no room, in words."""

    def __init__(self, trace: Trace, *, has_query: bool) -> None:
        included = [decision for decision in trace.decisions if decision.is_in_context]
        self._has_query = has_query
        self._hit_ranks = sorted(decision.rank for decision in included if not decision.distance)
        self._neighbor_count = len(included) - len(self._hit_ranks)
        scored = ((decision.value, decision) for decision in included if decision.value is not None)
        self._least_relevant = min(scored, key=lambda one: one[0], default=None)

    def describe(self, decision: Decision) -> str:
        """What beat a hit: by the query what it is worth and the least that stands, else rank.

        Nothing if it was lost for another reason than the budget.
        """
        if decision.reason != candidates.OVER_BUDGET:
            return "" if decision.value is None else f"worth {format_score(decision.value)}"
        return "; ".join(self._compare_relevance(decision) or self._compare_ranks(decision))

    def _compare_relevance(self, decision: Decision) -> list[str]:
        if decision.value is None or self._least_relevant is None:
            return []
        value, least = self._least_relevant
        fits = ", but fits" if value < decision.value else ""
        name = truncate(least.chunk_id, ID_CHARS)
        return [
            f"worth {format_score(decision.value)}",
            f"the least that stands is worth {format_score(value)} ({name}){fits}",
        ]

    def _compare_ranks(self, decision: Decision) -> Iterator[str]:
        above = sum(rank < decision.rank for rank in self._hit_ranks)
        below = [f"{rank + 1}" for rank in self._hit_ranks if rank > decision.rank]
        if above:
            yield f"{pluralize(above, 'hit')} ranked above it"
        if below:
            more = f" and {len(below) - _MAX_NAMED:,} more" if len(below) > _MAX_NAMED else ""
            why = "which the query chose or which fit" if self._has_query else "which fit"
            yield f"hit {', '.join(below[:_MAX_NAMED])}{more} from below it, {why}"
        if self._neighbor_count:
            yield pluralize(self._neighbor_count, "neighbor")
        if not (self._hit_ranks or self._neighbor_count):
            yield "nothing"


def _split_by_reason(excluded: Iterable[Decision]) -> tuple[Sequence[Decision], dict[str, list[Decision]]]:
    """The first hits of each reason, and the others by reason. One alone is not worth a fold."""
    excluded = list(excluded)
    counts = Counter(decision.reason for decision in excluded)
    seen: Counter[str] = Counter()
    first: list[Decision] = []
    others: dict[str, list[Decision]] = defaultdict(list)
    for decision in excluded:
        seen[decision.reason] += 1
        is_first = seen[decision.reason] <= MAX_UNFOLDED or counts[decision.reason] == MAX_UNFOLDED + 1
        (first if is_first else others[decision.reason]).append(decision)
    return first, others


def _free_tokens(trace: Trace) -> int:
    return max(trace.max_tokens - trace.token_count, 0)


def _hit_row(decision: Decision, outranked_by: OutrankedBy, names: DocumentNames) -> Html:
    document = names.document(decision.document_id)
    name = truncate(decision.chunk_id, ID_CHARS)
    address = names.links.fragment_link(decision.rank) or names.decision_link(decision.chunk_id, decision.rank, 0)
    css_classes = css_class([decision.rank], isolates_fragments=names.links.fragment_link(decision.rank) is not None)
    return row(
        f"{decision.rank + 1}",
        join_html(document.letter_tag, " ", tag("a", name, href=address, class_=css_classes) if address else name),
        format_score(decision.score),
        decision.reason,
        format_number(decision.tokens),
        outranked_by.describe(decision) or "–",
        SETTINGS_BY_REASON[decision.reason] or "–",
        numeric_columns=_LOST_NUMBERS,
    )


_COLUMNS = ("chunk", "document", "rank", "distance", "score", "outcome", "reason", "because of", "tokens")
_NUMBERS = (2, 3, 4, 8)
_OPTIONAL_COLUMNS = ("worth", "found by", "has of the query")
"""Columns shown only if the query weighed the chunks, if a retriever says how it searched, or if there is a query."""


def decisions_table(context: ContextData, names: DocumentNames) -> Html:
    """The folded table. From then on `names` links to the rows that have room in it."""
    ordered = sorted(
        context.trace.decisions, key=lambda decision: not is_excluded_hit(decision)
    )  # the others keep their order
    shown = ordered[:MAX_DECISIONS]
    has_optional = (
        any(one.value is not None for one in shown),
        any(one.search_method for one in shown),
        any(one.matches for one in shown),
    )
    columns = (*_COLUMNS, *compress(_OPTIONAL_COLUMNS, has_optional))
    rows = take_fitting(_decision_rows(shown, names, has_optional), DECISIONS_BYTES)
    names.show_decisions(ordered[: len(rows)])
    whole = table(
        "Hits by rank, those that were lost first, then what was fetched around them", columns, rows, _NUMBERS
    )
    return fold(f"All {len(ordered):,} decisions", whole, more_line(len(ordered) - len(rows), "decisions"))


def notes_list(context: ContextData) -> Html:
    """The notes of the trace, on fallbacks and mended values; empty if there are none."""
    trace_notes = context.trace.notes
    if not trace_notes:
        return Html()
    lines = take_fitting((tag("li", truncate(note, NOTE_CHARS)) for note in trace_notes), NOTES_BYTES)
    return join_html(
        tag("h4", "Notes"), tag("ul", *lines, class_="cxa-notes"), more_line(len(trace_notes) - len(lines), "notes")
    )


def _decision_rows(
    decisions: Sequence[Decision], names: DocumentNames, has_optional: tuple[bool, ...]
) -> Iterator[Html]:
    for place, decision in enumerate(decisions):
        document = names.document(decision.document_id)
        optional_cells = (
            format_score(decision.value),
            decision.search_method or "–",
            ", ".join(decision.matches or ()) or "–",
        )
        yield row(
            truncate(decision.chunk_id, ID_CHARS),
            join_html(document.letter_tag, " ", document.name),
            f"{decision.rank + 1}",
            f"{decision.distance}",
            format_score(decision.score),
            decision.outcome,
            truncate(decision.reason, VALUE_CHARS)
            + (f", {decision.stripped_chars:,} stripped" if decision.stripped_chars else ""),
            truncate(decision.because_of or "–", ID_CHARS),
            _format_tokens(decision),
            *(truncate(cell, VALUE_CHARS) for cell in compress(optional_cells, has_optional)),
            numeric_columns=_NUMBERS,
            id_=f"{names.anchor}-r{place}",
        )


def _format_tokens(decision: Decision) -> str:
    if decision.shortened is not None:
        return f"{decision.shortened.tokens_before:,} → {decision.shortened.tokens_after:,}"
    return format_number(decision.tokens)


STAGE_PURPOSES = {
    "admit": "checks what was retrieved",
    "dedup": "removes exact copies",
    "expand": "fetches neighbors",
    "near dedup": "removes what is nearly the same",
    "semantic dedup": "removes what means the same",
    "score": "asks a scorer about sentences",
    "budget": "keeps what has room",
    "repeats": "says once what passages share",
    "render": "joins, labels, writes",
}
"""The purpose of each stage."""


def stages_table(context: ContextData) -> Html:
    """A table of the stages, and tables of the tokens saved and of the chunks left out."""
    trace = context.trace
    max_chunks = max((max(stage.chunks_in, stage.chunks_out) for stage in trace.stages), default=0) or 1
    savings = tokens_saved(context)
    rows = [
        row(
            join_html(stage.name, " ", tag("span", STAGE_PURPOSES.get(stage.name, ""), class_="cxa-does")),
            f"{stage.chunks_in:,} → {stage.chunks_out:,}",
            meter(stage.chunks_out / max_chunks),
            format_number(_stage_tokens(savings, place)),
            format_number(stage.elapsed_ms, 2),
            numeric_columns=(1, 3, 4),
        )
        for place, stage in enumerate(trace.stages)
    ]
    chunk_path = " → ".join(map(format_number, chunk_counts(trace))) or "0"
    columns = ("stage", "chunks", "what is left", "tokens saved", "ms")
    steps = table(f"{chunk_path} chunks", columns, rows, (1, 3, 4))
    return tag(
        "div",
        steps,
        tag(
            "div",
            _savings_table([saving for saving in savings if saving.rule != LEFT_OUT_RULE]),
            _exclusions_table(context),
        ),
        class_="cxa-halves",
    )


def _stage_tokens(savings: list[Saving], stage_index: int) -> int | None:
    """Tokens that the stage at `stage_index` saved; None if it saved none, or nobody knows."""
    known = [saving.tokens for saving in savings if saving.stage_index == stage_index and saving.tokens is not None]
    return sum(known) if known else None


def _savings_table(savings: list[Saving]) -> Html:
    if not savings:
        return tag("p", "Nothing was there to be saved.", class_="cxa-soft")
    rows = []
    for saving in savings:
        partly = (
            ""
            if saving.tokens is None or saving.counted_chunks == saving.chunks
            else f" (of {saving.counted_chunks:,} chunks)"
        )
        rows.append(
            row(
                saving.rule, format_number(saving.chunks), format_number(saving.tokens) + partly, numeric_columns=(1, 2)
            )
        )
    return table("What the model needn’t read", ("rule", "chunks", "tokens saved"), rows, (1, 2))


def _exclusions_table(context: ContextData) -> Html:
    found = exclusion_costs(context.trace)
    if not found:
        return tag("p", "Nothing was left out.", class_="cxa-soft")
    rows = [
        row(rule.reason, format_number(rule.chunks), format_number(rule.tokens or None), numeric_columns=(1, 2))
        for rule in found
    ]
    return table("What was left out, and what it would have cost", ("reason", "chunks", "tokens"), rows, (1, 2))
