"""How the hits were found: ranks in the channels, factors on scores, and the chunks lost on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from ctxassembly.data.citations import ContextData
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.retrieval import Retrieved, RetrievedChunk
from ctxassembly.data.sanitize import sanitize_chunk
from ctxassembly.safe_repr import pluralize
from ctxassembly.views.html import (
    ID_CHARS,
    NOTE_CHARS,
    VALUE_CHARS,
    Html,
    fold,
    format_score,
    join_html,
    notes_list,
    render_section,
    table,
    tag,
    truncate,
)
from ctxassembly.views.names import DocumentNames, NamedDocument, name_documents
from ctxassembly.views.trace import stages_table
from ctxassembly.wording.metadata_labels import MetadataReader

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
        rest = len(found.terms) - MAX_WORDS
        count = f"{len(found.terms):,} of {pluralize(max(len(found.terms), len(retrieved.trace.terms)), 'word')}"
        words = ", ".join(found.terms[:MAX_WORDS])
        yield f"has {count}: {words}" + (f" and {rest:,} more" if rest > 0 else "")
    ranks = retrieved.explain(found.chunk.id).ranks
    known = [(step, rank + 1) for step, rank in ranks.items() if rank is not None and step != "search"]
    moves = [*known[:1], *(after for before, after in pairwise(known) if after[1] != before[1])]
    if len(moves) > 1:
        yield "place " + " → ".join(f"{rank} ({step})" for step, rank in moves)
