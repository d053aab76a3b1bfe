"""The hits that a context keeps for its views."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Hit, RetrievedFragment

MAX_SHOWN_HITS = 40
"""Hits that the views show with their text."""
MAX_HIT_CHARS = 8_000
"""Most characters of a hit that are kept, and looked up in the other hits. A longer text keeps half of them at each
end."""
MAX_NAMED_DOCUMENTS = 300
"""Most documents that the views name although nothing of them is included: as many as a table of decisions has rows."""


def is_retained(candidate: Candidate) -> bool:
    """Return True if a context keeps the whole text of `candidate`, whatever becomes of it."""
    return candidate.is_hit and candidate.rank < MAX_SHOWN_HITS and len(candidate.chunk.text) <= MAX_HIT_CHARS


def retain_hits(hits: Sequence[Hit], selected: Iterable[Candidate]) -> tuple[RetrievedFragment, ...]:
    """Return the hits that a context keeps for its views, by rank.

    A retriever may find thousands of hits. A context that kept them all would be pickled, cached and sent with every
    text that was retrieved. So it keeps the hits that its views show, and one without its text for each further
    document that they name.
    """
    kept = [_fragment(rank, hit, hit.chunk.text) for rank, hit in enumerate(hits[:MAX_SHOWN_HITS])]
    if len(hits) <= MAX_SHOWN_HITS:
        return tuple(kept)
    named = {chunk.document_id for chunk in (*(one.chunk for one in selected), *(one.chunk for one in kept))}
    max_named = len(named) + MAX_NAMED_DOCUMENTS
    for rank, hit in enumerate(hits[MAX_SHOWN_HITS:], MAX_SHOWN_HITS):
        if hit.chunk.document_id not in named and len(named) < max_named:
            named.add(hit.chunk.document_id)
            kept.append(_fragment(rank, hit, ""))
    return tuple(kept)


def _fragment(rank: int, hit: Hit, text: str) -> RetrievedFragment:
    """Return a hit without its vector, and of a long text only the two ends."""
    chunk = hit.chunk
    if len(text) > MAX_HIT_CHARS:
        half = MAX_HIT_CHARS // 2
        text = text[:half] + text[-half:]
    if text is not chunk.text or chunk.vector is not None:
        chunk = replace(chunk, text=text, vector=None)
    return RetrievedFragment(rank, chunk, hit.score, len(hit.chunk.text))
