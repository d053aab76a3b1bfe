"""The tables of the trace: excluded hits with the settings that decide, every decision, the stages, and the notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from types import MappingProxyType

from ctxassembly.data import candidates
from ctxassembly.data.citations import ContextData
from ctxassembly.data.trace import Decision
from ctxassembly.safe_repr import pluralize
from ctxassembly.views.budget import chunk_counts
from ctxassembly.views.html import (
    ID_CHARS,
    NOTE_CHARS,
    VALUE_CHARS,
    Html,
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
from ctxassembly.views.names import DocumentNames

DECISIONS_BYTES = 200_000
"""Bytes of the rows in the table of decisions."""
EXCLUDED_HITS_BYTES = 100_000
"""Bytes of the rows in the table of excluded hits."""
NOTES_BYTES = 30_000
"""Bytes of the notes."""
MAX_DECISIONS = 300
"""Rows of the table of decisions, and of the table of excluded hits."""

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


def is_excluded_hit(decision: Decision) -> bool:
    """Return True for a hit without any text in the context, its own or another chunk's."""
    return decision.outcome == "dropped" and not decision.distance


_EXCLUDED_COLUMNS = ("hit", "chunk", "score", "relevance", "reason", "tokens it needs", "setting")
_EXCLUDED_NUMBERS = (0, 2, 3, 5)


def excluded_hits(context: ContextData, names: DocumentNames) -> Html:
    """Return a table of the excluded hits by rank, each with the setting that decides; empty if there are none."""
    excluded = [decision for decision in context.trace.decisions if is_excluded_hit(decision)]
    if not excluded:
        return Html()
    rows = take_fitting((_excluded_row(one, names) for one in excluded[:MAX_DECISIONS]), EXCLUDED_HITS_BYTES)
    free = pluralize(max(context.trace.max_tokens - context.trace.token_count, 0), "token")
    content = table(f"By rank; unused part of the budget: {free}", _EXCLUDED_COLUMNS, rows, _EXCLUDED_NUMBERS)
    rest = more_line(len(excluded) - len(rows), "hits")
    title = tag("h3", f"Left out: {pluralize(len(excluded), 'hit')} that the model doesn’t read")
    return join_html(title, tag("div", content, rest, class_="cxa-losses"))


def _excluded_row(decision: Decision, names: DocumentNames) -> Html:
    letter, name = names.document(decision.document_id).letter_tag, truncate(decision.chunk_id, ID_CHARS)
    address = names.fragment_link(decision.rank) or names.decision_link(decision.chunk_id, decision.rank, 0)
    return row(
        f"{decision.rank + 1}",
        join_html(letter, " ", tag("a", name, href=address) if address else name),
        format_score(decision.score),
        format_score(decision.value),
        decision.reason,
        format_number(decision.tokens),
        SETTINGS_BY_REASON[decision.reason] or "–",
        numeric_columns=_EXCLUDED_NUMBERS,
    )


_COLUMNS = ("chunk", "document", "rank", "distance", "score", "outcome", "reason", "because of", "tokens")
_NUMERIC_COLUMNS = (2, 3, 4, 8)
_OPTIONAL_COLUMNS = ("relevance", "found by", "has of the query")
"""Columns shown only if a query scored the chunks, if a retriever says how it searched, or if there is a query."""


def decisions_table(context: ContextData, names: DocumentNames) -> Html:
    """Return the folded table of all decisions. From then on `names` links to the rows that fit."""
    ordered = sorted(context.trace.decisions, key=lambda one: not is_excluded_hit(one))  # the others keep their order
    shown = ordered[:MAX_DECISIONS]
    optional = (
        any(one.value is not None for one in shown),
        any(one.search_method for one in shown),
        any(one.matches for one in shown),
    )
    rows = take_fitting(_decision_rows(shown, names, optional), DECISIONS_BYTES)
    names.show_decisions(ordered[: len(rows)])
    columns = (*_COLUMNS, *compress(_OPTIONAL_COLUMNS, optional))
    caption = "Hits by rank, excluded ones first, then the chunks that were fetched around them"
    whole = table(caption, columns, rows, _NUMERIC_COLUMNS)
    return fold(f"All {len(ordered):,} decisions", whole, more_line(len(ordered) - len(rows), "decisions"))


def _decision_rows(decisions: Sequence[Decision], names: DocumentNames, optional: Sequence[bool]) -> Iterator[Html]:
    for number, decision in enumerate(decisions):
        document = names.document(decision.document_id)
        cells = (format_score(decision.value), decision.search_method or "–", ", ".join(decision.matches or ()) or "–")
        stripped = f", {decision.stripped_chars:,} stripped" if decision.stripped_chars else ""
        yield row(
            truncate(decision.chunk_id, ID_CHARS),
            join_html(document.letter_tag, " ", document.name),
            f"{decision.rank + 1}",
            f"{decision.distance}",
            format_score(decision.score),
            decision.outcome,
            truncate(decision.reason, VALUE_CHARS) + stripped,
            truncate(decision.because_of or "–", ID_CHARS),
            format_number(decision.tokens)
            if decision.shortened is None
            else f"{decision.shortened.tokens_before:,} → {decision.shortened.tokens_after:,}",
            *(truncate(cell, VALUE_CHARS) for cell in compress(cells, optional)),
            numeric_columns=_NUMERIC_COLUMNS,
            id_=f"{names.anchor}-r{number}",
        )


STAGE_PURPOSES = {
    "admit": "checks the retrieved chunks",
    "dedup": "removes exact copies",
    "expand": "fetches neighbors",
    "near dedup": "removes near-duplicates",
    "semantic dedup": "removes paraphrases",
    "score": "calls the scorer for sentences",
    "budget": "selects what fits the budget",
    "repeats": "removes repeated sentences",
    "render": "joins, labels, writes",
}
"""The purpose of each stage."""


def stages_table(context: ContextData) -> Html:
    """Return a table of the stages with the number of chunks before and after, and the time."""
    stages = context.trace.stages
    max_chunks = max((max(stage.chunks_in, stage.chunks_out) for stage in stages), default=0) or 1
    rows = [
        row(
            join_html(stage.name, " ", tag("span", STAGE_PURPOSES.get(stage.name, ""), class_="cxa-does")),
            f"{stage.chunks_in:,} → {stage.chunks_out:,}",
            meter(stage.chunks_out / max_chunks),
            format_number(stage.elapsed_ms, 2),
            numeric_columns=(1, 3),
        )
        for stage in stages
    ]
    path = " → ".join(map(format_number, chunk_counts(context.trace))) or "0"
    return table(f"{path} chunks", ("stage", "chunks", "what is left", "ms"), rows, (1, 3))


def notes_list(context: ContextData) -> Html:
    """Return the notes of the trace, on fallbacks and repaired values; empty if there are none."""
    notes = context.trace.notes
    if not notes:
        return Html()
    lines = take_fitting((tag("li", truncate(note, NOTE_CHARS)) for note in notes), NOTES_BYTES)
    rest = more_line(len(notes) - len(lines), "notes")
    return join_html(tag("h4", "Notes"), tag("ul", *lines, class_="cxa-notes"), rest)
