"""What became of each chunk: one decision for every chunk seen, built from where the chunks ended up."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ctxassembly.types import Candidate, Decision, Label, Outcome


def decide(
    candidates: Sequence[Candidate],
    empty: Iterable[Candidate],
    stands_for: Mapping[int, Candidate],
    taken: Iterable[Candidate],
    left_out: Mapping[int, tuple[str, int]],
    labels: Sequence[Label],
) -> tuple[Decision, ...]:
    """One decision per candidate, in the order given, the empty ones last.

    `stands_for` names the original of each copy, `left_out` says why a candidate was left out and what it would have
    added, both by `id(candidate)`; `taken` are those that the budget took, of which only the ones in `labels` have text
    of their own.
    """
    stripped, container = _placed(taken, labels)
    replaced: dict[int, list[str]] = defaultdict(list)
    for candidate in candidates:
        if (original := stands_for.get(id(candidate))) is not None:
            replaced[id(original)].append(candidate.chunk.id)

    def decision(candidate: Candidate) -> Decision:
        outcome: Outcome = "dropped"
        reason, because_of, chars, tokens = "budget", None, 0, None
        original = stands_for.get(id(candidate), candidate)
        if id(original) in stripped:
            outcome, reason = ("cut", "budget") if original.cut else ("kept", "hit" if original.is_hit else "neighbour")
            chars = stripped[id(original)]
        elif id(original) in container:
            outcome = reason = "contained"
            because_of, chars = container[id(original)].chunk.id, len(original.chunk.text)
        elif id(original) in left_out:
            reason, added = left_out[id(original)]
            tokens = added if original is candidate else None
        if original is not candidate and outcome != "dropped":
            outcome = reason = "duplicate"
            because_of, chars = because_of or original.chunk.id, 0
        return _decision(candidate, outcome, reason, because_of, tuple(replaced[id(candidate)]), chars, tokens)

    return (
        *(decision(candidate) for candidate in candidates),
        *(_decision(candidate, "dropped", "empty") for candidate in empty),
    )


def _placed(taken: Iterable[Candidate], labels: Sequence[Label]) -> tuple[dict[int, int], dict[int, Candidate]]:
    """Characters stripped from each candidate that has text of its own, and who contains each of the others."""
    stripped: dict[int, int] = {}
    standing: dict[str, list[Candidate]] = defaultdict(list)
    for label in labels:
        for passage in label.passages:
            for piece in passage:
                stripped[id(piece.candidate)] = piece.shared
                standing[piece.candidate.chunk.document_id].append(piece.candidate)
    container = {
        id(candidate): max(
            (other for other in standing[candidate.chunk.document_id] if other.position <= candidate.position),
            key=lambda other: other.position,
        )
        for candidate in taken
        if id(candidate) not in stripped
    }
    return stripped, container


def _decision(
    candidate: Candidate,
    outcome: Outcome,
    reason: str,
    because_of: str | None = None,
    replaced: tuple[str, ...] = (),
    stripped_chars: int = 0,
    tokens: int | None = None,
) -> Decision:
    chunk = candidate.chunk
    return Decision(
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        rank=candidate.rank,
        distance=candidate.distance,
        score=candidate.score,
        outcome=outcome,
        reason=reason,
        because_of=because_of,
        replaced=replaced,
        stripped_chars=stripped_chars,
        tokens=tokens,
    )
