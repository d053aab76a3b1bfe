"""The chunks that a context is chosen from, in reading order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk


class Pool(NamedTuple):
    """Hits and neighbors by document, the document of the best hit first, and within it in reading order."""

    candidates: Sequence[Candidate]
    documents: Sequence[int]
    """The number of the first candidate of each document."""
    unread: Sequence[Candidate] = ()
    """Chunks without any text that a model reads."""
    copies: Mapping[int, Sequence[Chunk]] = {}
    """The copies of a candidate's text, which were left out, by its key."""


def make_pool(candidates: Iterable[Candidate], *, by_document: bool = True) -> Pool:
    """Return the pool of `candidates`; unless `by_document`, of hits that are each read on their own, best first."""
    if not by_document:
        ranked = sorted(candidates, key=lambda candidate: candidate.rank)
        return Pool(ranked, range(len(ranked)))
    members: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        members[candidate.chunk.document_id].append(candidate)
    ordered, firsts = list[Candidate](), list[int]()
    best_ranks = [(min(map(attrgetter("rank"), some)), name) for name, some in members.items()]
    for _, name in sorted(best_ranks):
        firsts.append(len(ordered))
        ordered += sorted(members[name], key=attrgetter("position", "rank"))
    return Pool(ordered, firsts)
