"""What a context keeps of the hits that went in: what its views show or count, not all that was retrieved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Fragment, Hit
from ctxassembly.data.trace import Decision

FRAGMENTS = 40
"""Hits that are shown as they came."""
COMPARED_CHARS = 8_000
"""Characters of each that are kept, and looked up in the others; of longer ones half of them at each end."""
NAMED_DOCUMENTS = 300
"""Documents that the views name although nothing of them stands: as many as there are decisions in the table."""
COUNTED_CHARS = 200_000
"""Of the repeated hits beyond the first, whose tokens are counted as what was saved. The others are counted as hits."""


def keeps(candidate: Candidate) -> bool:
    """Whether all the text of `candidate` stays at hand, whatever becomes of it."""
    return candidate.is_hit and candidate.rank < FRAGMENTS and len(candidate.chunk.text) <= COMPARED_CHARS


def held(hits: Sequence[Hit], decisions: Iterable[Decision], taken: Iterable[Candidate]) -> tuple[Fragment, ...]:
    """The first hits, those that repeat others, and one of each further document, which has its name; by rank."""
    first = tuple([_fragment(rank, hit, shown=True) for rank, hit in enumerate(hits[:FRAGMENTS])])
    if len(hits) <= FRAGMENTS:
        return first
    beyond = {each.rank: each for each in _beyond(hits, decisions, taken)}
    return (*first, *(beyond[rank] for rank in sorted(beyond)))


def _beyond(hits: Sequence[Hit], decisions: Iterable[Decision], taken: Iterable[Candidate]) -> Iterator[Fragment]:
    texts = {candidate.chunk.text: candidate.chunk.text for candidate in taken}
    room, named = COUNTED_CHARS, {candidate.chunk.document_id for candidate in taken}
    most = len(named) + NAMED_DOCUMENTS
    for each in decisions:
        if each.distance:
            continue
        hit = hits[each.rank]
        if each.rank >= FRAGMENTS and each.outcome in ("duplicate", "contained") and room > 0:
            fragment = _fragment(each.rank, hit, shown=True)
            text = fragment.chunk.text
            if text in texts:  # what stands is kept anyway, and once
                yield fragment._replace(chunk=replace(fragment.chunk, text=texts[text]))
            else:
                room -= len(text)
                yield fragment
        elif each.rank >= FRAGMENTS and each.document_id not in named and len(named) < most:
            yield _fragment(each.rank, hit, shown=False)
        if len(named) < most:
            named.add(each.document_id)


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
