"""The tables of the two traces: how the hits were found, and what the assembly did with them.

On retrieval: ranks in the channels, factors on scores, and the chunks lost on the way. On assembly: excluded hits with
the settings that decide, every decision, and the stages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from ctxassembly.data import candidates
from ctxassembly.data.citations import ContextData
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.retrieval import Retrieved, RetrievedChunk, Step
from ctxassembly.data.sanitize import sanitize_chunk
from ctxassembly.data.trace import Decision, Stage
from ctxassembly.safe_repr import join_first, pluralize
from ctxassembly.tracing.retained_hits import MAX_SHOWN_HITS
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
    notes_list,
    render_section,
    table,
    tag,
    truncate,
)
from ctxassembly.views.names import DocumentNames, NamedDocument, is_excluded_hit, name_documents
from ctxassembly.wording.metadata_labels import MetadataReader

MAX_DECISIONS = 200
"""Rows of the table of decisions, and of the table of excluded hits."""

SETTINGS_BY_REASON: Mapping[str, str] = {
    candidates.OVER_BUDGET: "max_tokens, max_characters; granularity",
    candidates.TOO_SHORT: "Pipeline.min_chunk_tokens",
    candidates.BELOW_FLOOR: "Bookend.relevance_floor",
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
"""The settings that decide on each reason; none for a chunk without text."""


def _tokens(decision: Decision) -> str:
    part = decision.shortened
    return format_number(decision.tokens) if part is None else f"{part.tokens_before:,} → {part.tokens_after:,}"


def _reason(decision: Decision) -> str:
    stripped = f", {decision.stripped_chars:,} stripped" if decision.stripped_chars else ""
    sent = f" as [{decision.sent_as}]" if decision.reason == candidates.ALREADY_SENT else ""
    return truncate(decision.reason, VALUE_CHARS) + sent + stripped


DECISION_CELLS: Mapping[str, Callable[[Decision], str]] = {
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


STAGE_PURPOSES: Mapping[str, str] = {
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


MAX_DROPPED = 20
"""Most chunks that are listed as lost."""
MAX_WORDS = 8
"""Most words of the query that are named as those which a hit has."""
_COLUMNS = ("hit", "found by", "vector", "keyword", "fused", "score", "why it is here")


def dropped_chunks(retrieved: Retrieved, max_chunks: int) -> tuple[list[tuple[str, str, str]], int]:
    """Return at most `max_chunks` chunks that were dropped last, and the number of the others.

    Each has its id, the step that dropped it, and the reason.
    """
    hits = {found.chunk.id for found in retrieved.chunks}
    ids = dict.fromkeys(one for step in reversed(retrieved.trace.steps) for one in step.ids if one not in hits)
    explained = [retrieved.explain(chunk_id) for chunk_id in list(ids)[:max_chunks]]
    rows = [
        (truncate(one.expected, ID_CHARS), one.lost_at or "", truncate(one.reason, VALUE_CHARS)) for one in explained
    ]
    return rows, len(ids) - len(rows)


def count_by_channel(retrieved: Retrieved) -> str:
    """Return the number of hits from each channel, in words."""
    counts = Counter(channel for found in retrieved.chunks for channel in found.channels)
    named = (f"{pluralize(hits, 'hit')} by {channel}" for channel, hits in counts.items())
    return "; ".join(named) or "No hit says how it was found."


def retrieval_html(retrieved: Retrieved) -> Html:
    """Return the view of a retrieval alone."""
    reader = MetadataReader(MetadataKeys())
    sources: dict[str, str] = {}
    for rank, found in enumerate(retrieved.chunks):
        sources.setdefault(found.chunk.document_id, reader.source(sanitize_chunk(found.chunk, rank)[0]))
    query = tag("p", "Query: ", tag("q", truncate(retrieved.query, NOTE_CHARS), lang="")) if retrieved.query else ""
    hits = tag("b", f"{len(retrieved.hits):,} hits. ")
    summary = tag("p", hits, count_by_channel(retrieved), class_="cxa-lede")
    return render_section("How it was found", query, summary, _details(retrieved, name_documents(sources), None))


def retrieval_section(context: ContextData, names: DocumentNames) -> Html:
    """Return the part of a context's page on its retrieval; empty if it has none."""
    if context.retrieved is None:
        return Html()
    summary = tag("p", count_by_channel(context.retrieved), class_="cxa-soft")
    return join_html(tag("h3", "How it was found"), summary, _details(context.retrieved, names.documents, context))


def _details(retrieved: Retrieved, documents: Mapping[str, NamedDocument], context: ContextData | None) -> Html:
    """Return the hits, the steps, the chunks that they dropped, and the notes."""
    trace = retrieved.trace
    dropped, rest = dropped_chunks(retrieved, MAX_DROPPED)
    total = len(dropped) + rest
    columns = ("chunk", "lost at", "reason")
    losses = table("Those that came the farthest first", columns, dropped, total, "chunks")
    return join_html(
        _hits_table(retrieved, documents, context) if retrieved.chunks else "",
        tag("p", trace.summary, class_="cxa-soft"),
        fold("The steps of retrieval", stages_table("From the query to the hits", trace.steps)) if trace.steps else "",
        fold(f"Found and lost: {total:,} chunks", losses) if dropped else "",
        notes_list(trace.notes),
    )


def _hits_table(retrieved: Retrieved, documents: Mapping[str, NamedDocument], context: ContextData | None) -> Html:
    """Return the hits with their ranks and reasons, and if there is a context with the decision on each."""
    decisions = context.trace.decisions if context else ()
    outcomes = {one.chunk_id: f"{one.outcome}: {one.reason}" for one in decisions if not one.distance}

    def cells(rank: int, found: RetrievedChunk) -> Iterator[str]:
        chunk = sanitize_chunk(found.chunk, rank)[0]
        document = documents.get(chunk.document_id)
        name = (document.letter_tag, f" {document.name}") if document else ()
        yield join_html(f"{rank + 1}. ", tag("b", truncate(chunk.id, ID_CHARS)), " ", *name)
        yield tag("span", truncate(" + ".join(found.channels), ID_CHARS) or "–", class_="cxa-whole")
        yield _channel_cell(found.ranks.get("vector"), found.similarity)
        yield _channel_cell(found.ranks.get("keyword"), found.keyword_score)
        yield format_score(found.fused_score)
        yield format_score(found.score)
        reasons = "; ".join(_rank_reasons(found, retrieved)) or "as fusion has it"
        yield tag("div", truncate(reasons, 2 * VALUE_CHARS), class_="cxa-why")
        if context is not None:
            yield outcomes.get(chunk.id, "–")

    return table(
        "Vector and keyword: the rank in that channel, and the similarity or score there",
        _COLUMNS if context is None else (*_COLUMNS, "in the context"),
        (list(cells(rank, found)) for rank, found in enumerate(retrieved.chunks)),
        len(retrieved.chunks),
        "hits",
    )


def _channel_cell(rank: int | None, value: float | None) -> Html:
    """Return the rank in a channel with its score; the score alone, if the channel scored it without finding it."""
    if rank is None and value is None:
        return Html("–")
    return join_html("–" if rank is None else f"{rank + 1}.", " ", tag("span", format_score(value), class_="cxa-does"))


def _rank_reasons(found: RetrievedChunk, retrieved: Retrieved) -> Iterator[str]:
    """Yield the reasons for a rank: boosts, the factors on the score, the words, and the steps that moved the chunk."""
    words = ", ".join(f"“{word}”" for word in found.because_of)
    if "rescue" in found.channels:
        yield f"rescued: no better chunk has {words}" if words else "rescued"
    elif not {"entities", "list"}.isdisjoint(found.channels):
        yield f"placed by the taxonomy for {words}" if words else "placed by the taxonomy"
    if found.published_score is not None:
        yield f"published score {found.published_score:g}"
    if found.raised_by is not None:
        yield f"raised by its neighbor {found.raised_by}"
    if found.rerank_score is not None:
        yield f"reranker {found.rerank_score:.3g}"
    yield from (f"{name} × {factor:g}" for name, factor in found.factors)
    if found.terms:
        count = f"{len(found.terms):,} of {pluralize(max(len(found.terms), len(retrieved.trace.terms)), 'word')}"
        yield f"has {count}: {join_first(found.terms, MAX_WORDS)}"
    ranks = retrieved.explain(found.chunk.id).ranks
    known = [(step, rank + 1) for step, rank in ranks.items() if rank is not None and step != "search"]
    moves = [*known[:1], *(after for before, after in pairwise(known) if after[1] != before[1])]
    if len(moves) > 1:
        yield "place " + " → ".join(f"{rank} ({step})" for step, rank in moves)
