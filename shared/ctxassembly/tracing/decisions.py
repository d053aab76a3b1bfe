"""What became of each chunk: one decision for every chunk seen, built from where the chunks ended up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from ctxassembly.data.candidates import Candidate, LeftOut, Shortening
from ctxassembly.data.pieces import Label
from ctxassembly.data.reasons import CONTAINED, EMPTY, FOR_BUDGET, REPEATED, Reason
from ctxassembly.data.trace import STANDS, Decision, Outcome, Shortened
from ctxassembly.text.matches import Matches, Wanted
from ctxassembly.wording.particulars import Particulars

_OUTCOME_OF: Mapping[Shortening, Outcome] = {
    "budget": "cut",
    "max_chunk_tokens": "cut",
    "sentence": "cut",
    "extractive": "compressed",
    "llm": "compressed",
    "repeated": "cut",
}


def decide(
    candidates: Sequence[Candidate],
    empty: Iterable[Candidate],
    copies: Mapping[int, tuple[Candidate, Reason]],
    present: Callable[[Candidate], Candidate],
    taken: Iterable[Candidate],
    left_out: Mapping[int, LeftOut],
    labels: Sequence[Label],
    shortened: Mapping[int, Shortened],
    elsewhere: Mapping[int, Candidate],
    read: Particulars,
    query: str | None,
    keeps: Callable[[Candidate], bool],
) -> tuple[Decision, ...]:
    """One decision per candidate, in the order given, the empty ones last.

    All maps are by key. `copies` names the original of each copy and why it is one; `present` says what a candidate has
    become on its way to the budget, `left_out` why it was left out and what it would have added; `taken` are those that
    the budget took, of which only the ones in `labels` have text of their own; `shortened` says which of them stand in
    part, and `elsewhere` who has the sentences taken out of some; `read` says how the retriever found a hit, and
    `keeps` whether a candidate's text stays at hand although it doesn't stand.
    """
    wanted = Wanted(query) if query else None
    stripped, container = _placed(taken, labels)
    replaced: dict[int, list[str]] = defaultdict(list)
    for candidate in candidates if copies else ():
        if candidate.key in copies:
            replaced[copies[candidate.key][0].key].append(candidate.chunk.id)

    def decision(candidate: Candidate) -> Decision:
        outcome: Outcome = "dropped"
        reason: Literal["hit", "neighbour"] | Shortening | Reason = FOR_BUDGET
        because_of, chars, tokens, part = None, 0, None, None
        original, why = copies.get(candidate.key, (candidate, None))
        now = present(original)
        key = now.key
        if key in stripped:
            outcome, reason = "kept", "neighbour" if candidate.distance else "hit"
            if part := shortened.get(key):
                outcome, reason = _OUTCOME_OF[part.by], part.by
                because_of = elsewhere[key].chunk.id if key in elsewhere else None
            chars = stripped[key]
        elif key in container:
            outcome, reason = "contained", CONTAINED
            because_of, chars = container[key].chunk.id, len(now.text)
        elif key in elsewhere:
            outcome, reason, because_of = "duplicate", REPEATED, elsewhere[key].chunk.id
        elif key in left_out:
            reason, added = left_out[key]
            tokens = None if why else added
        if why and outcome != "dropped":
            outcome, reason = "contained" if why == CONTAINED else "duplicate", why
            chars = len(candidate.chunk.text) if why == CONTAINED else 0
            because_of, part = because_of or original.chunk.id, None
        chunk = candidate.chunk
        score = candidate.score if why else now.score
        names = tuple(replaced.get(candidate.key, ()))
        # In the order of the fields, since there may be thousands of them and names take time.
        document_id = chunk.document_id if why else now.chunk.document_id  # links may have told it
        placed = (chunk.id, document_id, candidate.rank, candidate.distance, score)
        method = None if candidate.distance else read.said(chunk, "search_method")
        known = now if outcome in STANDS else candidate if keeps(candidate) else None
        matches = Matches(wanted, known.chunk.text) if wanted and known else None
        return Decision(*placed, outcome, reason, because_of, names, chars, tokens, part, method, matches)

    return (*map(decision, candidates), *(_empty(each, read) for each in empty))


def _empty(candidate: Candidate, read: Particulars) -> Decision:
    chunk = candidate.chunk
    placed = (chunk.id, chunk.document_id, candidate.rank, candidate.distance, candidate.score)
    return Decision(*placed, "dropped", EMPTY, search_method=read.said(chunk, "search_method"))


def _placed(taken: Iterable[Candidate], labels: Sequence[Label]) -> tuple[dict[int, int], dict[int, Candidate]]:
    """Characters stripped from each candidate that has text of its own, and who contains each of the others."""
    stripped: dict[int, int] = defaultdict(int)
    standing: dict[str, list[Candidate]] = defaultdict(list)
    for label in labels:
        for passage in label.passages:
            for piece in passage:
                stripped[piece.candidate.key] += piece.shared
                standing[piece.candidate.chunk.document_id].append(piece.candidate)
    container: dict[int, Candidate] = {}
    for candidate in taken:
        if candidate.key not in stripped and (there := standing[candidate.chunk.document_id]):
            container[candidate.key] = _container(candidate, there)
    return stripped, container


def _container(candidate: Candidate, standing: Sequence[Candidate]) -> Candidate:
    """The one of `standing`, which are of its document, that has the text of `candidate`.

    Joined, chunks have what they share in the first one. With a label for each chunk the one that is read first has it:
    if that is the later chunk, the earlier one may be left with nothing but a blank.
    """
    before = max((other for other in standing if other.position <= candidate.position), key=_position, default=None)
    after = min((other for other in standing if other.position > candidate.position), key=_position, default=None)
    nearest = [other for other in (before, after) if other is not None]
    text = candidate.text.strip()
    return next((other for other in nearest if text in other.chunk.text), nearest[0])


def _position(candidate: Candidate) -> int:
    return candidate.position
