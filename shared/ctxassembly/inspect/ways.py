"""The way of each hit through retrieval: from the retrieval itself, or as far as the hits' metadata tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.citations import Assembled
from ctxassembly.data.retrieval import SCORE_KEYS, Found, Retrieved
from ctxassembly.data.sanitize import mended_chunk, mended_score
from ctxassembly.safe_repr import counted

WORDS = 8
"""Most words of the query that are named as those which a hit has."""
_NUMBERS = SCORE_KEYS[1:]
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
        similarity, keyword, fused, vector_rank, keyword_rank = (_number(metadata.get(key)) for key in _NUMBERS)
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
