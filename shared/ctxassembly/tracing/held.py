"""The hits that a context keeps for its views.

A retriever may hand in thousands of hits. A context that kept them all would be pickled, cached and sent with every
text that was retrieved. So it keeps the hits that its views show, the copies that they count, and the names of the
documents that are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Fragment, Hit
from ctxassembly.data.trace import Decision

FRAGMENTS = 40
"""Hits that the views show with their text."""
COMPARED_CHARS = 8_000
"""Most characters of a hit that are kept, and looked up in the other hits. A longer text keeps half of them at each
end."""
NAMED_DOCUMENTS = 300
"""Most documents that the views name although nothing of them stands: as many as a table of decisions has rows."""
COUNTED_CHARS = 200_000
"""Most characters kept of the copies among the later hits. Their tokens are counted as saved; of further copies only
the number is known."""


def keeps(candidate: Candidate) -> bool:
    """True if a context keeps the whole text of `candidate`, whatever becomes of it."""
    return candidate.is_hit and candidate.rank < FRAGMENTS and len(candidate.chunk.text) <= COMPARED_CHARS


def held(hits: Sequence[Hit], decisions: Iterable[Decision], taken: Iterable[Candidate]) -> tuple[Fragment, ...]:
    """The hits that a context keeps, by rank: the first ones, later copies, and one to name each further document."""
    first = tuple([_fragment(rank, hit, shown=True) for rank, hit in enumerate(hits[:FRAGMENTS])])
    if len(hits) <= FRAGMENTS:
        return first
    beyond = {fragment.rank: fragment for fragment in _beyond(hits, decisions, taken)}
    return (*first, *(beyond[rank] for rank in sorted(beyond)))


def _beyond(hits: Sequence[Hit], decisions: Iterable[Decision], taken: Iterable[Candidate]) -> Iterator[Fragment]:
    """Copies among the later hits, and the first hit of each document that no other one names."""
    texts = {candidate.chunk.text: candidate.chunk.text for candidate in taken}
    room, named = COUNTED_CHARS, {candidate.chunk.document_id for candidate in taken}
    most = len(named) + NAMED_DOCUMENTS
    for decision in decisions:
        if decision.distance:
            continue
        hit = hits[decision.rank]
        is_later = decision.rank >= FRAGMENTS
        if is_later and decision.outcome in ("duplicate", "contained") and room > 0:
            fragment = _fragment(decision.rank, hit, shown=True)
            text = fragment.chunk.text
            if text in texts:  # the context holds this string anyway: share it
                yield fragment._replace(chunk=replace(fragment.chunk, text=texts[text]))
            else:
                room -= len(text)
                yield fragment
        elif is_later and decision.document_id not in named and len(named) < most:
            yield _fragment(decision.rank, hit, shown=False)
        if len(named) < most:
            named.add(decision.document_id)


def _fragment(rank: int, hit: Hit, *, shown: bool) -> Fragment:
    chunk, text = hit.chunk, hit.chunk.text
    if not shown:
        text = ""
    elif len(text) > COMPARED_CHARS:
        half = COMPARED_CHARS // 2
        text = text[:half] + text[-half:]
    if text is not chunk.text or chunk.vector is not None:
        chunk = replace(chunk, text=text, vector=None)
    return Fragment(rank, chunk, hit.score, len(hit.chunk.text))
