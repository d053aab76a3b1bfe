"""The duplicates of one assembly: exact copies, near ones by words, close ones by vectors, found in this order.

Each rule costs more than the one before and sees only what that one kept. Exact copies go even before neighbors are
fetched, near and close ones after. A duplicate shares the fate of its original: if the budget leaves that out, the
trace says so of both.

A copy has the whole text of another chunk, outer white space apart. Beginnings, ids and content hashes prove nothing:
chunks begin alike, splitters copy ids and hashes from the document to all its chunks, and stores count from 0 again.
The better-ranked one is kept, or by date the newest; it inherits the best rank and score of those it represents.

A text may be in several documents: each manual says how to reset its device. For a question all are candidates, and
what is next to each of them, until it is known which of the documents the question names; the copy there is kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Sequence
from typing import Any

from ctxassembly.assembly.dedup.named import document_fits
from ctxassembly.assembly.dedup.near import compare_wording, find_near
from ctxassembly.assembly.dedup.semantic import find_close, request_vectors
from ctxassembly.assembly.dedup.similar import find_similar, is_newer
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import EXACT_DUPLICATE, NEAR_DUPLICATE, SEMANTIC_DUPLICATE, Candidate, Reason
from ctxassembly.data.requests import Request
from ctxassembly.errors import ConfigError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tracing import TraceRecorder, count_by_reason

Candidates = tuple[Candidate, ...]
Originals = dict[int, Candidate]
"""The candidate that represents each copy, by the copy's key."""


class Duplicates:
    """The finder of duplicates, and the record of them. Candidates come and go best first."""

    def __init__(self, config: AssemblyConfig, log: TraceRecorder, *, can_embed: bool) -> None:
        self._config, self._log, self._can_embed = config, log, can_embed
        self._dates: dict[int, float | None] = {}
        """The date of the last update by key, if it decides which of two copies stays."""
        self._originals: dict[int, tuple[Candidate, Reason]] = {}
        self.unnamed = set[str]()
        """The ids of documents of which copies alone were found, of texts in another one that the query names."""

    def originals(self) -> dict[int, tuple[Candidate, Reason]]:
        """Return for each copy, by key, the candidate that represents it in the end, and the reason.

        The reason is the last one on the way there: an exact copy of a near duplicate is a near duplicate.
        """
        ends: dict[int, tuple[Candidate, Reason]] = {}
        for copy, (original, reason) in self._originals.items():
            end, why = original, reason
            while end.key in self._originals:
                end, why = self._originals[end.key]
            ends[copy] = end, why
        return ends

    def drop(self, candidates: Candidates, originals: Originals, why: Reason) -> Candidates:
        """Record the copies among `candidates`; return the others, each with what it inherits from its copies.

        A candidate gets the best score, and the rank and distance of the best, among itself and its copies.
        """
        if not originals:
            return candidates
        self._originals |= {key: (original, why) for key, original in originals.items()}
        groups: dict[int, list[Candidate]] = {}
        for candidate in candidates:
            groups.setdefault(originals.get(candidate.key, candidate).key, []).append(candidate)
        return tuple([_heir(key, group) if len(group) > 1 else group[0] for key, group in groups.items()])

    def drop_exact(
        self, candidates: Candidates, query: str | None = None, *, apart: bool = False
    ) -> Generator[Request, Any, Candidates]:
        """Return `candidates` without exact copies; if `apart`, copies in other documents stay.

        Of all copies of a text the newest is kept, if dates decide, else the one whose document `query` names, else the
        first one.
        """
        yield from self._log.begin("dedup", len(candidates))
        if self._config.prefer_version == "newest":
            self._read_dates(candidates)
        by_text: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
        for candidate in candidates:
            by_text[candidate.chunk.text.strip(), candidate.chunk.document_id if apart else ""].append(candidate)
        groups = [group for group in by_text.values() if len(group) > 1]
        fits = document_fits(candidates, groups, query, self._config.keys) if query and groups else {}
        originals: dict[int, Candidate] = {}
        for group in groups:
            first, *others = sorted(group, key=lambda one: -fits[one.chunk.document_id].whole if fits else 0)
            original = first
            for candidate in others:
                if is_newer(self._dates.get(candidate.key), self._dates.get(original.key)):
                    original = candidate
            originals |= {candidate.key: original for candidate in group if candidate is not original}
        kept = self.drop(candidates, originals, EXACT_DUPLICATE)
        standing = {one.chunk.document_id for one in kept if one.is_hit}
        best = max((fit.name for name, fit in fits.items() if name in standing), default=0.0)
        self.unnamed = {name for name, fit in fits.items() if name not in standing and fit.name < best}
        yield from self._log.end(len(kept), lambda: count_by_reason([EXACT_DUPLICATE] * len(originals)))
        return kept

    def drop_similar(self, candidates: Candidates) -> Generator[Request, Any, Candidates]:
        """Return `candidates` that are not near to a better one, nor close to one in meaning if that is asked for."""
        yield from self._log.begin(f"{self._config.dedup} dedup", len(candidates))
        texts = [candidate.chunk.text for candidate in candidates]
        found = find_near(texts, self._config.near_threshold)
        near = find_similar(candidates, found, self._dates, compare_wording(texts))
        kept, close = self.drop(candidates, near, NEAR_DUPLICATE), Originals()
        if self._config.dedup == "semantic" and len(kept) > 1:
            raises, notes = self._config.on_store_error == "raise", self._log.notes
            vectors = yield from request_vectors(kept, notes, can_embed=self._can_embed, raises=raises)
            own = [vectors.get(one.key) for one in kept]
            found = find_close([one.chunk.text for one in kept], own, self._config.semantic_threshold)
            close = find_similar(kept, found, self._dates)
            kept = self.drop(kept, close, SEMANTIC_DUPLICATE)
        dropped: dict[Reason, int] = {NEAR_DUPLICATE: len(near), SEMANTIC_DUPLICATE: len(close)}
        yield from self._log.end(len(kept), lambda: count_by_reason(Counter(dropped).elements()))
        return kept

    def _read_dates(self, candidates: Iterable[Candidate]) -> None:
        from ctxassembly.text.dates import parse_date  # here, so that importing the engine stays light

        notes: dict[str, None] = {}  # a chunk may have been retrieved twice
        for candidate in candidates:
            if candidate.key not in self._dates:
                value = self._config.keys.read(candidate.chunk.metadata, "updated_at")
                date = self._dates[candidate.key] = parse_date(value)
                if value is not None and date is None:
                    which = f"{'neighbor' if candidate.distance else 'hit'} {safe_repr(candidate.chunk.id, 80)}"
                    notes[f"{which}: updated_at {safe_repr(value, 50)} is not a date, left out"] = None
        self._log.notes += notes


def check_vectors(candidates: Sequence[Candidate]) -> None:
    """Check that there are vectors to compare, or no candidates.

    Raises:
        ConfigError: none of the `candidates` has a vector.
    """
    if candidates and all(candidate.chunk.vector is None for candidate in candidates):
        raise ConfigError.missing("embeddings", "dedup='semantic'", "embeddings or hits with vectors", "dedup='near'")


def _heir(key: int, group: Sequence[Candidate]) -> Candidate:
    """Return the candidate with that `key`, with the best of all in its `group`, which is best first."""
    original = next(candidate for candidate in group if candidate.key == key)
    score = max((candidate.score for candidate in group if candidate.score is not None), default=None)
    return original._replace(rank=group[0].rank, distance=group[0].distance, score=score)
