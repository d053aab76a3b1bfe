"""The part of a page on how the hits were found: ranks in the channels, factors on scores, and the chunks lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.citations import ContextData
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.retrieval import SCORE_KEYS, RetrievalTrace, Retrieved, RetrievedChunk
from ctxassembly.data.sanitize import sanitize_chunk, sanitize_score
from ctxassembly.safe_repr import pluralize
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
from ctxassembly.views.names import DocumentNames, NamedDocument, name_documents
from ctxassembly.wording.metadata_labels import MetadataReader

MAX_WORDS = 8
"""Most words of the query that are named as those which a hit has."""
_NUMERIC_KEYS = SCORE_KEYS[1:]
"""Those keys whose values are numbers."""


class HitTrace(NamedTuple):
    """One hit: its ranks and scores in the channels, and the reasons for its rank. None means unknown."""

    rank: int
    """From 0."""
    chunk: Chunk
    found_by: str
    vector_rank: int | None
    keyword_rank: int | None
    """From 0, as the other rank."""
    similarity: float | None
    keyword_score: float | None
    fused_score: float | None
    score: float | None
    reasons: tuple[str, ...] = ()


class DroppedChunk(NamedTuple):
    """A chunk that was found and is no hit: the step that dropped it, and the reason."""

    chunk_id: str
    step: str
    reason: str


def hit_traces(context: ContextData | None, retrieved: Retrieved | None) -> list[HitTrace]:
    """Return the hits of `retrieved`, else the hits of `context` with metadata on how they were found; best first."""
    if retrieved is not None and retrieved.chunks:
        return [_trace_retrieved(place, found, retrieved) for place, found in enumerate(retrieved.chunks)]
    return [] if context is None else list(_traces_from_metadata(context))


def dropped_chunks(retrieved: Retrieved, max_chunks: int) -> tuple[list[DroppedChunk], int]:
    """Return at most `max_chunks` chunks that were dropped last, and the number of the others."""
    hits = {found.chunk.id for found in retrieved.chunks}
    ids = dict.fromkeys(
        chunk_id for step in reversed(retrieved.trace.steps) for chunk_id in step.ids if chunk_id not in hits
    )
    explanations = [retrieved.explain(chunk_id) for chunk_id in list(ids)[:max_chunks]]
    return [DroppedChunk(one.expected, one.lost_at or "", one.reason) for one in explanations], len(ids) - len(
        explanations
    )


def _trace_retrieved(rank: int, found: RetrievedChunk, retrieved: Retrieved) -> HitTrace:
    return HitTrace(
        rank,
        sanitize_chunk(found.chunk, rank)[0],
        " + ".join(found.channels),
        found.ranks.get("vector"),
        found.ranks.get("keyword"),
        found.similarity,
        found.keyword_score,
        found.fused_score,
        found.score,
        tuple(_rank_reasons(found, retrieved)),
    )


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
    ranks = retrieved.explain(found.chunk.id).ranks
    known = [(step, rank + 1) for step, rank in ranks.items() if rank is not None and step != "search"]
    moves = [*known[:1], *(after for before, after in pairwise(known) if after[1] != before[1])]
    if found.terms:
        rest = len(found.terms) - MAX_WORDS
        yield f"has {', '.join(found.terms[:MAX_WORDS])}" + (f" and {rest:,} more words" if rest > 0 else "")
    if len(moves) > 1:
        yield "place " + " → ".join(f"{rank} ({step})" for step, rank in moves)


def _traces_from_metadata(context: ContextData) -> Iterator[HitTrace]:
    for hit in context.hits:
        chunk, _ = sanitize_chunk(hit.chunk, hit.rank)
        metadata = chunk.metadata
        similarity, keyword, fused, vector_rank, keyword_rank = (_as_number(metadata.get(key)) for key in _NUMERIC_KEYS)
        if any(value is not None for value in (similarity, keyword, fused, vector_rank, keyword_rank)):
            yield HitTrace(
                hit.rank,
                chunk,
                str(metadata.get(SCORE_KEYS[0], "")).replace("+", " + "),
                None if vector_rank is None else int(vector_rank),
                None if keyword_rank is None else int(keyword_rank),
                similarity,
                keyword,
                fused,
                sanitize_score(hit.score)[0],
            )


def _as_number(value: Any) -> float | None:
    """Return a value of metadata, which comes from anywhere, if it is a number."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float("inf")
    return value if is_number else None


def count_by_channel(traces: Sequence[HitTrace]) -> str:
    """Return the number of hits from each channel, in words."""
    counts = Counter(name for way in traces for name in way.found_by.split(" + ") if name)
    return "; ".join(f"{pluralize(hits, 'hit')} by {name}" for name, hits in counts.items())


HITS_BYTES = 120_000
"""Bytes of the rows of the hits."""
MAX_DROPPED = 20
"""Most chunks that are listed as lost."""
_COLUMNS = ("hit", "found by", "vector", "keyword", "fused", "score", "why it is here")
_NUMERIC_COLUMNS = (2, 3, 4, 5)


def retrieval_html(retrieved: Retrieved) -> Html:
    """Return the view of a retrieval alone, without the style sheet."""
    traces = hit_traces(None, retrieved)
    documents = _name_documents(traces)
    query_line = (
        tag("p", "Query: ", tag("q", truncate(retrieved.query, NOTE_CHARS), lang="")) if retrieved.query else ""
    )
    content = _hits_table(traces, lambda chunk: documents[chunk.document_id], None), _retrieval_details(retrieved)
    title = tag("h2", "How it was found")
    summary = tag("p", tag("b", f"{len(retrieved.hits):,} hits. "), count_by_channel(traces), class_="cxa-lede")
    return tag("section", title, query_line, summary, *content, class_="cxa", lang="en", aria_label="How it was found")


def retrieval_section(context: ContextData, names: DocumentNames) -> Html:
    """Return the part of a context's page: from its retrieval, else from its hits' metadata; empty if both lack it."""
    retrieved = context.retrieved
    traces = hit_traces(context, retrieved)
    if not traces and retrieved is None:
        return Html()
    known = set(names.document_ids)
    unknown = _name_documents([way for way in traces if way.chunk.document_id not in known])

    def document_of(chunk: Chunk) -> NamedDocument:
        if chunk.document_id in known:
            return names.document(chunk.document_id)
        return unknown[chunk.document_id]._replace(letter="–", css_class="")

    title, summary = tag("h3", "How it was found"), tag("p", count_by_channel(traces), class_="cxa-soft")
    hits = _hits_table(traces, document_of, context)
    return join_html(title, summary, hits, _retrieval_details(retrieved) if retrieved is not None else "")


def _hits_table(
    traces: Sequence[HitTrace], document_of: Callable[[Chunk], NamedDocument], context: ContextData | None
) -> Html:
    if not traces:
        return tag("p", "No hit says how it was found.", class_="cxa-soft")
    decision_by_chunk = (
        {} if context is None else {one.chunk_id: one for one in context.trace.decisions if not one.distance}
    )
    rows = []
    for way in traces:
        chunk, document = way.chunk, document_of(way.chunk)
        decision = decision_by_chunk.get(chunk.id)
        cells = (
            join_html(
                f"{way.rank + 1}. ",
                tag("b", truncate(chunk.id, ID_CHARS)),
                " ",
                document.letter_tag,
                f" {document.name}",
            ),
            tag("span", truncate(way.found_by, ID_CHARS) or "–", class_="cxa-whole"),
            _channel_cell(way.vector_rank, way.similarity),
            _channel_cell(way.keyword_rank, way.keyword_score),
            format_score(way.fused_score),
            format_score(way.score),
            tag("div", truncate("; ".join(way.reasons) or "as fusion has it", 2 * VALUE_CHARS), class_="cxa-why"),
            *(() if context is None else (f"{decision.outcome}: {decision.reason}" if decision else "–",)),
        )
        rows.append(row(*cells, numeric_columns=_NUMERIC_COLUMNS))
    fitting = take_fitting(rows, HITS_BYTES)
    caption = "Vector and keyword: the rank in that channel, and the similarity or score there"
    columns = _COLUMNS if context is None else (*_COLUMNS, "in the context")
    return join_html(table(caption, columns, fitting, _NUMERIC_COLUMNS), more_line(len(rows) - len(fitting), "hits"))


def _channel_cell(rank: int | None, value: float | None) -> Html:
    """Return the rank in a channel with its score; the score alone, if the channel scored it without finding it."""
    if rank is None and value is None:
        return join_html("–")
    return join_html("–" if rank is None else f"{rank + 1}.", " ", tag("span", format_score(value), class_="cxa-does"))


def _retrieval_details(retrieved: Retrieved) -> Html:
    """Return the steps, the chunks that they dropped, and the notes."""
    trace = retrieved.trace
    parts = [tag("p", trace.summary, class_="cxa-soft")]
    if trace.steps:
        parts.append(_steps_table(trace))
    dropped, rest = dropped_chunks(retrieved, MAX_DROPPED)
    if dropped:
        rows = [row(truncate(one.chunk_id, ID_CHARS), one.step, truncate(one.reason, VALUE_CHARS)) for one in dropped]
        listed = table("Those that came the farthest first", ("chunk", "lost at", "reason"), rows)
        parts.append(fold(f"Found and lost: {len(dropped) + rest:,} chunks", listed, more_line(rest, "chunks")))
    if trace.notes:
        notes = (tag("li", truncate(note, NOTE_CHARS)) for note in trace.notes)
        parts.append(tag("ul", *notes, class_="cxa-notes"))
    return join_html(*parts)


def _steps_table(trace: RetrievalTrace) -> Html:
    max_chunks = max(max(step.chunks_in, step.chunks_out) for step in trace.steps) or 1
    rows = [
        row(
            step.name,
            f"{step.chunks_in:,} → {step.chunks_out:,}",
            meter(step.chunks_out / max_chunks),
            format_number(step.elapsed_ms, 2),
            numeric_columns=(1, 3),
        )
        for step in trace.steps
    ]
    columns = ("step", "chunks", "what is left", "ms")
    return fold("The steps of retrieval", table("From the query to the hits", columns, rows, (1, 3)))


def _name_documents(traces: Sequence[HitTrace]) -> dict[str, NamedDocument]:
    """Return a name, a letter and a look for each document, in the order of the hits."""
    read = MetadataReader(MetadataKeys())
    sources: dict[str, str] = {}
    for way in traces:
        sources.setdefault(way.chunk.document_id, read.source(way.chunk) or way.chunk.document_id)
    return name_documents(sources)
