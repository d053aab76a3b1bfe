"""How the hits of a retrieval were found: alone, and as a part of the page of a context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.retrieval import Retrieved, RetrievedChunk
from ctxassembly.data.sanitize import sanitize_chunk
from ctxassembly.data.trace import Decision
from ctxassembly.safe_repr import join_first, pluralize
from ctxassembly.views.html import render, render_section
from ctxassembly.views.model import NamedDocument, name_documents
from ctxassembly.wording.metadata_labels import MetadataReader

MAX_DROPPED = 20
"""Most chunks that are listed as lost."""
MAX_WORDS = 8
"""Most words of the query that are named as those which a hit has."""


def retrieval_html(retrieved: Retrieved) -> str:
    """Return the view of a retrieval alone."""
    reader, sources = MetadataReader(MetadataKeys()), dict[str, str]()
    for rank, found in enumerate(retrieved.chunks):
        sources.setdefault(found.chunk.document_id, reader.source(sanitize_chunk(found.chunk, rank)[0]))
    head = render("query.html", query=retrieved.query, hits=len(retrieved.hits))
    return render_section("How it was found", head, retrieval_part(retrieved, name_documents(sources), None))


def retrieval_part(
    retrieved: Retrieved, documents: Mapping[str, NamedDocument], decisions: Sequence[Decision] | None
) -> str:
    """Return the hits, the steps, the chunks that they dropped, and the notes; with `decisions` what became of each."""
    outcomes = {one.chunk_id: f"{one.outcome}: {one.reason}" for one in decisions or () if not one.distance}
    hits: list[tuple[Any, ...]] = []
    for rank, found in enumerate(retrieved.chunks):
        chunk = sanitize_chunk(found.chunk, rank)[0]
        reasons = "; ".join(_rank_reasons(found, retrieved)) or "as fusion has it"
        outcome = () if decisions is None else (outcomes.get(chunk.id, "–"),)
        hits.append((found, chunk.id, documents.get(chunk.document_id), reasons, outcome))
    kept = {found.chunk.id for found in retrieved.chunks}
    lost = dict.fromkeys(one for step in reversed(retrieved.trace.steps) for one in step.ids if one not in kept)
    counts = Counter(channel for found in retrieved.chunks for channel in found.channels)
    return render(
        "retrieval.html",
        counts="; ".join(f"{pluralize(number, 'hit')} by {channel}" for channel, number in counts.items()),
        hits=hits,
        last_column=() if decisions is None else ("in the context",),
        trace=retrieved.trace,
        dropped=[retrieved.explain(chunk_id) for chunk_id in list(lost)[:MAX_DROPPED]],
        dropped_count=len(lost),
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
    if found.terms:
        count = f"{len(found.terms):,} of {pluralize(max(len(found.terms), len(retrieved.trace.terms)), 'word')}"
        yield f"has {count}: {join_first(found.terms, MAX_WORDS)}"
    ranks = retrieved.explain(found.chunk.id).ranks
    known = [(step, rank + 1) for step, rank in ranks.items() if rank is not None and step != "search"]
    moves = [*known[:1], *(after for before, after in pairwise(known) if after[1] != before[1])]
    if len(moves) > 1:
        yield "place " + " → ".join(f"{rank} ({step})" for step, rank in moves)
