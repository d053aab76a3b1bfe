"""One decision on every candidate, read off the place where its text ended up.

Stages only drop and change candidates, and none of them reports to the trace. Once the layout is final, the text of a
candidate is looked for in this order:

- in pieces of its own: the candidate is kept, or cut or compressed if it was shortened;
- in the pieces of a chunk that overlaps it: it is contained in that chunk, unless the rest of it was cut off: then all
  that it would have added is lost, and it was dropped for the budget;
- nowhere: it was dropped, for the reason that choosing gave.

A copy shares the fate of its original. Where the original stands, the copy is a duplicate of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from ctxassembly.data.candidates import CONTAINED, EMPTY, FOR_BUDGET, Candidate, Label, LeftOut, Reason, Shortening
from ctxassembly.data.chunks import Fragment, Hit
from ctxassembly.data.trace import STANDS, Decision, Outcome, Shortened
from ctxassembly.text.matched_terms import Matches, Wanted
from ctxassembly.tracing.lineage import Lineage
from ctxassembly.wording.metadata_labels import Particulars

# The hits that a context keeps for its views.
#
# A retriever may hand in thousands of hits. A context that kept them all would be pickled, cached and sent with every
# text that was retrieved. So it keeps the hits that its views show, the copies that they count, and the names of the
# documents that are left out.


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


_OUTCOME_OF: Mapping[Shortening, Outcome] = {
    "budget": "cut",
    "max_chunk_tokens": "cut",
    "sentence": "cut",
    "extractive": "compressed",
    "llm": "compressed",
    "repeated": "cut",
}


class Settled(NamedTuple):
    """The result of choosing, once it is laid out. All maps are by the key of a candidate."""

    taken: Sequence[Candidate]
    """The candidates that the budget took. One whose text others have has no piece in `labels`."""
    labels: Sequence[Label]
    left_out: Mapping[int, LeftOut]
    """The other candidates: the reason, and the tokens that each would have added."""
    shortened: Mapping[int, Shortened]
    """The candidates that stand in part."""
    elsewhere: Mapping[int, Candidate]
    """For a candidate that lost repeated sentences: the one that has most of them."""
    worth: Mapping[int, float]
    """What each is worth for the query; none where the query had nothing to choose."""


class _Fate(NamedTuple):
    """The fields of a decision that depend on where the text ended up."""

    outcome: Outcome = "dropped"
    reason: Literal["hit", "neighbour"] | Shortening | Reason = FOR_BUDGET
    because_of: str | None = None
    stripped_chars: int = 0
    tokens: int | None = None
    shortened: Shortened | None = None


def decide(
    candidates: Sequence[Candidate],
    empty: Iterable[Candidate],
    lineage: Lineage,
    settled: Settled,
    read: Particulars,
    query: str | None,
) -> tuple[Decision, ...]:
    """One decision per candidate, in the order given, the empty ones last.

    `lineage` has the copies, and the form that each candidate has now. `read` finds the search method of a hit.
    """
    wanted = Wanted(query) if query else None
    copies = lineage.copies()
    stripped = _stripped(settled.labels)
    containers = _containers(settled, stripped)
    replaced: dict[int, list[str]] = defaultdict(list)
    for candidate in candidates if copies else ():
        if candidate.key in copies:
            replaced[copies[candidate.key][0].key].append(candidate.chunk.id)

    def decision(candidate: Candidate) -> Decision:
        original, why = copies.get(candidate.key, (candidate, None))
        now = lineage.now(original)
        if now.key in stripped:
            fate = _of_standing(original, settled, stripped[now.key])
        elif now.key in containers:
            fate = _of_contained(now, containers[now.key], settled.shortened.get(now.key))
        else:
            fate = _of_left_out(settled.left_out.get(now.key))
        if why is not None:
            fate = _of_copy(candidate, original, why, fate)
        chunk = candidate.chunk
        # A copy shows what came with it. For the others links may have told the document, or a copy a better score.
        told = now if why is None else candidate
        # In the order of the fields, without names: there may be thousands of decisions, and names take time.
        placed = (chunk.id, told.chunk.document_id, candidate.rank, candidate.distance, told.score)
        outcome, reason, because_of, chars, tokens, part = fate
        names = tuple(replaced.get(candidate.key, ()))
        method = None if candidate.distance else read.said(chunk, "search_method")
        # Matches are looked up when somebody reads them. Only a text that the context keeps may be held for that.
        known = now if outcome in STANDS else candidate if keeps(candidate) else None
        matches = Matches(wanted, known.chunk.text) if wanted and known else None
        value = settled.worth.get(now.key) if why is None else None
        return Decision(*placed, outcome, reason, because_of, names, chars, tokens, part, method, matches, value)

    return (*map(decision, candidates), *(_on_empty(candidate, read) for candidate in empty))


def _of_standing(candidate: Candidate, settled: Settled, stripped_chars: int) -> _Fate:
    """The fate of a candidate with text of its own in the context."""
    part = settled.shortened.get(candidate.key)
    if part is None:
        return _Fate("kept", "neighbour" if candidate.distance else "hit", None, stripped_chars)
    teller = settled.elsewhere.get(candidate.key)
    because_of = None if teller is None else teller.chunk.id
    return _Fate(_OUTCOME_OF[part.by], part.by, because_of, stripped_chars, None, part)


def _of_contained(candidate: Candidate, container: Candidate, part: Shortened | None) -> _Fate:
    """The fate of a candidate without text of its own. Of repeated sentences nothing is lost: others have them."""
    if part is None or part.by == "repeated":
        return _Fate("contained", CONTAINED, container.chunk.id, len(candidate.text))
    return _Fate(tokens=max(part.tokens_before - part.tokens_after, 1))


def _of_left_out(why: LeftOut | None) -> _Fate:
    return _Fate() if why is None else _Fate(reason=why.reason, tokens=why.tokens)


def _of_copy(candidate: Candidate, original: Candidate, why: Reason, fate: _Fate) -> _Fate:
    """The fate of a copy, given that of its original. Only the original counts the tokens that it would have added."""
    if fate.outcome == "dropped":
        return fate._replace(tokens=None)
    because_of = fate.because_of or original.chunk.id
    if why == CONTAINED:
        return _Fate("contained", why, because_of, len(candidate.chunk.text))
    return _Fate("duplicate", why, because_of)


def _on_empty(candidate: Candidate, read: Particulars) -> Decision:
    chunk = candidate.chunk
    placed = (chunk.id, chunk.document_id, candidate.rank, candidate.distance, candidate.score)
    return Decision(*placed, "dropped", EMPTY, search_method=read.said(chunk, "search_method"))


def _stripped(labels: Sequence[Label]) -> dict[int, int]:
    """Characters stripped from each candidate with text of its own, by key."""
    stripped: dict[int, int] = defaultdict(int)
    for label in labels:
        for passage in label.passages:
            for piece in passage:
                stripped[piece.candidate.key] += piece.shared
    return stripped


def _containers(settled: Settled, stripped: Mapping[int, int]) -> dict[int, Candidate]:
    """The candidate that has the text of each one that was taken and has none of its own, by key of the latter."""
    standing: dict[str, list[Candidate]] = defaultdict(list)
    for label in settled.labels:
        for passage in label.passages:
            for piece in passage:
                standing[piece.candidate.chunk.document_id].append(piece.candidate)
    containers: dict[int, Candidate] = {}
    for candidate in settled.taken:
        if candidate.key not in stripped and (there := standing[candidate.chunk.document_id]):
            containers[candidate.key] = _container(candidate, there)
    return containers


def _container(candidate: Candidate, standing: Sequence[Candidate]) -> Candidate:
    """The one of `standing`, all of the same document, that has the text of `candidate`.

    Text that two chunks share is written in the earlier one. With a label for each chunk it is written in the one that
    is read first. If that is the later one, the earlier chunk may be left with nothing but a blank.
    """
    before = max((other for other in standing if other.position <= candidate.position), key=_position, default=None)
    after = min((other for other in standing if other.position > candidate.position), key=_position, default=None)
    nearest = [other for other in (before, after) if other is not None]
    text = candidate.text.strip()
    return next((other for other in nearest if text in other.chunk.text), nearest[0])


def _position(candidate: Candidate) -> int:
    return candidate.position
