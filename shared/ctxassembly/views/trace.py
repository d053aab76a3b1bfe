"""The tables of the trace: excluded hits with the settings that decide, every decision, and the stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ctxassembly.data import candidates
from ctxassembly.data.citations import ContextData
from ctxassembly.data.retrieval import Step
from ctxassembly.data.trace import Decision, Stage
from ctxassembly.safe_repr import pluralize
from ctxassembly.tracing.decisions import MAX_SHOWN_HITS
from ctxassembly.views.html import (
    ID_CHARS,
    VALUE_CHARS,
    Html,
    fold,
    format_number,
    format_score,
    join_html,
    meter,
    table,
    tag,
    truncate,
)
from ctxassembly.views.names import DocumentNames, is_excluded_hit

MAX_DECISIONS = 200
"""Rows of the table of decisions, and of the table of excluded hits."""

SETTINGS_BY_REASON: Mapping[str, str] = MappingProxyType(
    {
        candidates.OVER_BUDGET: "max_tokens, max_characters; granularity",
        candidates.TOO_SHORT: "min_chunk_tokens",
        candidates.BELOW_FLOOR: "relevance_floor",
        candidates.IRRELEVANT: "compress",
        candidates.BELOW_CUTOFF: "min_relevance, fill",
        candidates.OUTSIDE_WINDOW: "window, candidate_window",
        candidates.EMPTY: "",
        candidates.EXACT_DUPLICATE: "dedup",
        candidates.NEAR_DUPLICATE: "dedup, near_threshold",
        candidates.SEMANTIC_DUPLICATE: "dedup, semantic_threshold",
        candidates.CONTAINED: "min_overlap_chars",
        candidates.REPEATED: "dedup_sentences",
        candidates.ALREADY_SENT: "repeat",
    }
)
"""The settings that decide on each reason; none for a chunk without text."""


def _tokens(decision: Decision) -> str:
    part = decision.shortened
    return format_number(decision.tokens) if part is None else f"{part.tokens_before:,} → {part.tokens_after:,}"


def _reason(decision: Decision) -> str:
    stripped = f", {decision.stripped_chars:,} stripped" if decision.stripped_chars else ""
    sent = f" as [{decision.sent_as}]" if decision.reason == candidates.ALREADY_SENT else ""
    return truncate(decision.reason, VALUE_CHARS) + sent + stripped


DECISION_CELLS: Mapping[str, Callable[[Decision], str]] = MappingProxyType(
    {
        "chunk": lambda one: truncate(one.chunk_id, ID_CHARS),
        "rank": lambda one: f"{one.rank + 1}",
        "distance": lambda one: f"{one.distance}",
        "score": lambda one: format_score(one.score),
        "outcome": lambda one: one.outcome,
        "reason": _reason,
        "because of": lambda one: truncate(one.because_of or "–", ID_CHARS),
        "tokens": _tokens,
        "relevance": lambda one: format_score(one.value),
        "found by": lambda one: truncate(one.search_method or "–", VALUE_CHARS),
        "has of the query": lambda one: truncate(", ".join(one.matches or ()) or "–", VALUE_CHARS),
        "setting": lambda one: SETTINGS_BY_REASON[one.reason] or "–",
    }
)
"""What a table shows of a decision, by column."""
_MAIN_COLUMNS = ("chunk", "document", "rank", "distance", "score", "outcome", "reason", "because of", "tokens")
_OPTIONAL_COLUMNS = ("relevance", "found by", "has of the query")
"""Columns shown only if a query scored the chunks, if a retriever says how it searched, or if there is a query."""


def excluded_hits(context: ContextData, names: DocumentNames) -> Html:
    """Return a table of the excluded hits by rank, each with the setting that decides; empty if there are none."""
    excluded = [decision for decision in names.decisions if is_excluded_hit(decision)]
    if not excluded:
        return Html()

    def cell(column: str, decision: Decision) -> str:
        text = DECISION_CELLS[column](decision)
        if column != "chunk":
            return text
        has_fragment = decision.rank < MAX_SHOWN_HITS
        row = names.decision_link(decision.chunk_id, decision.rank, 0)
        link = tag("a", text, href=f"#{names.anchor}-f{decision.rank}" if has_fragment else row)
        return join_html(names.documents[decision.document_id].letter_tag, " ", link)

    columns = ("rank", "chunk", "score", "relevance", "reason", "tokens", "setting")
    rows = ([cell(column, one) for column in columns] for one in excluded[:MAX_DECISIONS])
    free = pluralize(max(context.trace.max_tokens - context.trace.token_count, 0), "token")
    caption = f"By rank; unused part of the budget: {free}"
    content = table(caption, columns, rows, len(excluded), "hits")
    title = tag("h3", f"Left out: {pluralize(len(excluded), 'hit')} that the model doesn’t read")
    return join_html(title, tag("div", content, class_="cxa-losses"))


def decisions_table(names: DocumentNames) -> Html:
    """Return the folded table of all decisions."""
    shown = names.decisions[:MAX_DECISIONS]
    optional = [name for name in _OPTIONAL_COLUMNS if any(DECISION_CELLS[name](one) != "–" for one in shown)]
    columns = (*_MAIN_COLUMNS, *optional)

    def cell(column: str, decision: Decision) -> str:
        if column != "document":
            return DECISION_CELLS[column](decision)
        document = names.documents[decision.document_id]
        return join_html(document.letter_tag, " ", document.name)

    content = table(
        "Hits by rank, excluded ones first, then the chunks that were fetched around them",
        columns,
        ([cell(column, one) for column in columns] for one in shown),
        len(names.decisions),
        "decisions",
        f"{names.anchor}-r",
    )
    return fold(f"All {len(names.decisions):,} decisions", content)


STAGE_PURPOSES: Mapping[str, str] = MappingProxyType(
    {
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
)
"""The purpose of each stage of an assembly."""


def stages_table(caption: str, stages: Sequence[Stage | Step]) -> Html:
    """Return a table of stages with the number of chunks before and after each, and the time."""
    max_chunks = max((max(stage.chunks_in, stage.chunks_out) for stage in stages), default=0) or 1
    rows = (
        (
            join_html(stage.name, " ", tag("span", STAGE_PURPOSES.get(stage.name, ""), class_="cxa-does")),
            f"{stage.chunks_in:,} → {stage.chunks_out:,}",
            meter(stage.chunks_out / max_chunks),
            format_number(stage.elapsed_ms, 2),
        )
        for stage in stages
    )
    return table(caption, ("stage", "chunks", "what is left", "ms"), rows)
