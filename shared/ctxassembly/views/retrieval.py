"""The part of a page on how the hits were found: ranks in the channels, factors on scores, and the chunks lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.citations import Assembled
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.retrieval import SCORE_KEYS, Found, RetrievalTrace, Retrieved
from ctxassembly.data.sanitize import mended_chunk, mended_score
from ctxassembly.safe_repr import counted
from ctxassembly.views.html import Html, fold, joined, meter, more, number, row, score, shortened, table, tag, within
from ctxassembly.views.limits import ID_CHARS, NOTE_CHARS, VALUE_CHARS
from ctxassembly.views.names import Named, Names, named
from ctxassembly.wording.metadata_labels import Particulars

WORDS = 8
"""Most words of the query that are named as those which a hit has."""
_SCORES = SCORE_KEYS[1:]
"""Those keys whose values are numbers."""


class Way(NamedTuple):
    """One hit: its places and scores in the channels, and why it is where it is. None for what is unknown."""

    place: int
    """From 0."""
    chunk: Chunk
    by: str
    vector_rank: int | None
    keyword_rank: int | None
    """From 0, as the other rank."""
    similarity: float | None
    keyword_score: float | None
    fused_score: float | None
    score: float | None
    why: tuple[str, ...] = ()


class Lost(NamedTuple):
    """A chunk that was found and is no hit: the step after which it wasn't there, and the reason."""

    chunk_id: str
    step: str
    reason: str


def ways(context: Assembled | None, retrieved: Retrieved | None) -> list[Way]:
    """The hits of `retrieved`, else those of `context` whose metadata say how they were found; best first."""
    if retrieved is not None and retrieved.found:
        return [_of_found(place, found, retrieved) for place, found in enumerate(retrieved.found)]
    return [] if context is None else list(_by_metadata(context))


def lost(retrieved: Retrieved, most: int) -> tuple[list[Lost], int]:
    """The chunks that came the farthest without becoming hits, `most` of them at most, and the number of the others."""
    hits = {found.chunk.id for found in retrieved.found}
    ids = dict.fromkeys(
        chunk_id for step in reversed(retrieved.trace.steps) for chunk_id in step.ids if chunk_id not in hits
    )
    told = [retrieved.explain(chunk_id) for chunk_id in list(ids)[:most]]
    return [Lost(one.expect, one.lost_at or "", one.reason) for one in told], len(ids) - len(told)


def _of_found(place: int, found: Found, retrieved: Retrieved) -> Way:
    return Way(
        place,
        mended_chunk(found.chunk, place)[0],
        " + ".join(found.channels),
        found.ranks.get("vector"),
        found.ranks.get("keyword"),
        found.similarity,
        found.keyword_score,
        found.fused_score,
        found.score,
        tuple(_why(found, retrieved)),
    )


def _why(found: Found, retrieved: Retrieved) -> Iterator[str]:
    """The reasons for its place: what raised it, the factors on its score, its words, and the steps that moved it."""
    words = ", ".join(f"“{word}”" for word in found.because_of)
    if "rescue" in found.channels:
        yield f"rescued: no better chunk has {words}" if words else "rescued"
    elif not {"entities", "list"}.isdisjoint(found.channels):
        yield f"placed by the taxonomy for {words}" if words else "placed by the taxonomy"
    if found.published_score is not None:
        yield f"published score {found.published_score:g}"
    if found.raised_by is not None:
        yield f"raised by its neighbour {found.raised_by}"
    if found.rerank_score is not None:
        yield f"reranker {found.rerank_score:.3g}"
    yield from (f"{name} × {factor:g}" for name, factor in found.factors)
    ranks = retrieved.explain(found.chunk.id).ranks
    known = [(step, rank + 1) for step, rank in ranks.items() if rank is not None and step != "search"]
    moves = [*known[:1], *(after for before, after in pairwise(known) if after[1] != before[1])]
    if found.terms:
        rest = len(found.terms) - WORDS
        yield f"has {', '.join(found.terms[:WORDS])}" + (f" and {rest:,} more words" if rest > 0 else "")
    if len(moves) > 1:
        yield "place " + " → ".join(f"{rank} ({step})" for step, rank in moves)


def _by_metadata(context: Assembled) -> Iterator[Way]:
    for hit in context.hits:
        chunk, _ = mended_chunk(hit.chunk, hit.rank)
        metadata = chunk.metadata
        similarity, keyword, fused, vector_rank, keyword_rank = (_number(metadata.get(key)) for key in _SCORES)
        if any(value is not None for value in (similarity, keyword, fused, vector_rank, keyword_rank)):
            yield Way(
                hit.rank,
                chunk,
                str(metadata.get(SCORE_KEYS[0], "")).replace("+", " + "),
                None if vector_rank is None else int(vector_rank),
                None if keyword_rank is None else int(keyword_rank),
                similarity,
                keyword,
                fused,
                mended_score(hit.score)[0],
            )


def _number(value: Any) -> float | None:
    """A value of metadata, which come from anywhere, if it is a number."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float("inf")
    return value if is_number else None


def searched(ways: Sequence[Way]) -> str:
    """The number of hits from each channel, in words."""
    found = Counter(name for way in ways for name in way.by.split(" + ") if name)
    return "; ".join(f"{counted(hits, 'hit')} by {name}" for name, hits in found.items())


WAYS_BYTES = 120_000
"""Bytes of the rows of the hits."""
LOST = 20
"""Most chunks that are listed as lost."""
_COLUMNS = ("hit", "found by", "vector", "keyword", "fused", "score", "why it is here")
_NUMBERS = (2, 3, 4, 5)


def found_how(retrieved: Retrieved) -> Html:
    """The view of a retrieval alone, without the style sheet."""
    found = ways(None, retrieved)
    documents = _documents(found)
    asked = tag("p", "Query: ", tag("q", shortened(retrieved.query, NOTE_CHARS), lang="")) if retrieved.query else ""
    inside = _hits(found, lambda chunk: documents[chunk.document_id], None), _around(retrieved)
    title = tag("h2", "How it was found")
    said = tag("p", tag("b", f"{len(retrieved.hits):,} hits. "), searched(found), class_="cxa-lede")
    return tag("section", title, asked, said, *inside, class_="cxa", lang="en", aria_label="How it was found")


def retrieval(context: Assembled, names: Names) -> Html:
    """The part of a context's page: from its retrieval, else as far as its hits' metadata tell; empty if they don't."""
    retrieved = context.retrieved
    found = ways(context, retrieved)
    if not found and retrieved is None:
        return Html()
    known = set(names.ids)
    strange = _documents([way for way in found if way.chunk.document_id not in known])

    def document_of(chunk: Chunk) -> Named:
        if chunk.document_id in known:
            return names.document(chunk.document_id)
        return strange[chunk.document_id]._replace(letter="–", look="")

    title, said = tag("h3", "How it was found"), tag("p", searched(found), class_="cxa-soft")
    hits = _hits(found, document_of, context)
    return joined(title, said, hits, _around(retrieved) if retrieved is not None else "")


def _hits(found: Sequence[Way], document_of: Callable[[Chunk], Named], context: Assembled | None) -> Html:
    if not found:
        return tag("p", "No hit says how it was found.", class_="cxa-soft")
    made = {} if context is None else {one.chunk_id: one for one in context.trace.decisions if not one.distance}
    rows = []
    for way in found:
        chunk, document = way.chunk, document_of(way.chunk)
        decision = made.get(chunk.id)
        cells = (
            joined(
                f"{way.place + 1}. ", tag("b", shortened(chunk.id, ID_CHARS)), " ", document.key, f" {document.name}"
            ),
            tag("span", shortened(way.by, ID_CHARS) or "–", class_="cxa-whole"),
            _channel(way.vector_rank, way.similarity),
            _channel(way.keyword_rank, way.keyword_score),
            score(way.fused_score),
            score(way.score),
            tag("div", shortened("; ".join(way.why) or "as fusion has it", 2 * VALUE_CHARS), class_="cxa-why"),
            *(() if context is None else (f"{decision.outcome}: {decision.reason}" if decision else "–",)),
        )
        rows.append(row(*cells, numbers=_NUMBERS))
    fitting = within(rows, WAYS_BYTES)
    said = "Vector and keyword: the rank in that channel, and the similarity or score there"
    columns = _COLUMNS if context is None else (*_COLUMNS, "in the context")
    return joined(table(said, columns, fitting, _NUMBERS), more(len(rows) - len(fitting), "hits"))


def _channel(rank: int | None, value: float | None) -> Html:
    """The rank in a channel with the score below it; the score alone, if the channel scored it without finding it."""
    if rank is None and value is None:
        return joined("–")
    return joined("–" if rank is None else f"{rank + 1}.", " ", tag("span", score(value), class_="cxa-does"))


def _around(retrieved: Retrieved) -> Html:
    """The steps, the chunks that they lost, and the notes."""
    trace = retrieved.trace
    parts = [tag("p", trace.summary, class_="cxa-soft")]
    if trace.steps:
        parts.append(_steps(trace))
    missed, rest = lost(retrieved, LOST)
    if missed:
        rows = [row(shortened(one.chunk_id, ID_CHARS), one.step, shortened(one.reason, VALUE_CHARS)) for one in missed]
        listed = table("Those that came the farthest first", ("chunk", "lost at", "reason"), rows)
        parts.append(fold(f"Found and lost: {len(missed) + rest:,} chunks", listed, more(rest, "chunks")))
    if trace.notes:
        notes = (tag("li", shortened(note, NOTE_CHARS)) for note in trace.notes)
        parts.append(tag("ul", *notes, class_="cxa-notes"))
    return joined(*parts)


def _steps(trace: RetrievalTrace) -> Html:
    most = max(max(step.chunks_in, step.chunks_out) for step in trace.steps) or 1
    rows = [
        row(
            step.name,
            f"{step.chunks_in:,} → {step.chunks_out:,}",
            meter(step.chunks_out / most),
            number(step.elapsed_ms, 2),
            numbers=(1, 3),
        )
        for step in trace.steps
    ]
    columns = ("step", "chunks", "what is left", "ms")
    return fold("The steps of retrieval", table("From the query to the hits", columns, rows, (1, 3)))


def _documents(found: Sequence[Way]) -> dict[str, Named]:
    """A name, a letter and a look for each document, in the order of the hits."""
    read = Particulars(MetadataKeys())
    sources: dict[str, str] = {}
    for way in found:
        sources.setdefault(way.chunk.document_id, read.source(way.chunk) or way.chunk.document_id)
    return named(sources)
