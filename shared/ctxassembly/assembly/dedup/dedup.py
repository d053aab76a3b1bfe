"""The duplicates of one assembly: exact copies, near ones by words, close ones by vectors, found in this order.

Each rule costs more than the one before and sees only what that one kept. Exact copies go even before neighbors are
fetched, near and close ones after. A duplicate shares the fate of its original: if the budget leaves that out, the
trace says so of both.

A copy has the whole text of another chunk, outer white space apart. Beginnings, ids and content hashes prove nothing:
chunks begin alike, splitters copy ids and hashes from the document to all its chunks, and stores count from 0 again.
The better-ranked one is kept, or by date the newest; it inherits the best rank and score of those it represents.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Sequence
from operator import attrgetter
from typing import Any

from ctxassembly.assembly.dedup.facts import compare_facts
from ctxassembly.assembly.dedup.near import find_near
from ctxassembly.assembly.dedup.semantic import Vector, find_close, unit_vector
from ctxassembly.assembly.dedup.similar import find_similar, is_newer
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import EXACT_DUPLICATE, NEAR_DUPLICATE, SEMANTIC_DUPLICATE, Candidate, Reason
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.requests import EmbedTexts, Request
from ctxassembly.errors import ConfigError, InputError, StoreError
from ctxassembly.safe_repr import describe_error, pluralize, safe_repr, to_id
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

    def drop_exact(self, candidates: Candidates) -> Generator[Request, Any, Candidates]:
        """Return `candidates` without exact copies. Of all copies of a text the first one is kept, or a newer one."""
        yield from self._log.begin("dedup", len(candidates))
        if self._config.prefer_version == "newest":
            self._read_dates(candidates)
        texts = [candidate.chunk.text.strip() for candidate in candidates]
        lengths = Counter(map(len, texts))  # hashing whole texts would take longer than all the rest
        by_text: dict[str, list[Candidate]] = defaultdict(list)
        for text, candidate in zip(texts, candidates, strict=True):
            if lengths[len(text)] > 1:
                by_text[text].append(candidate)
        originals: dict[int, Candidate] = {}
        for group in by_text.values():
            if len(group) > 1:
                original = group[0]
                for candidate in group:
                    if is_newer(self._dates.get(candidate.key), self._dates.get(original.key)):
                        original = candidate
                originals |= {candidate.key: original for candidate in group if candidate is not original}
        kept = self.drop(candidates, originals, EXACT_DUPLICATE)
        if not max(map(attrgetter("distance"), kept), default=0):  # of hits alone
            self._log.notes += shared_hashes_note(kept, self._config.keys)
        yield from self._log.end(len(kept), lambda: count_by_reason([EXACT_DUPLICATE] * len(originals)))
        return kept

    def drop_similar(self, candidates: Candidates) -> Generator[Request, Any, Candidates]:
        """Return `candidates` that are not near to a better one, nor close to one in meaning if that is asked for."""
        yield from self._log.begin(f"{self._config.dedup} dedup", len(candidates))
        texts = [candidate.chunk.text for candidate in candidates]
        found = find_near(texts, self._config.near_threshold)
        near = find_similar(candidates, found, self._dates, compare_facts(texts))
        kept, close = self.drop(candidates, near, NEAR_DUPLICATE), Originals()
        if self._config.dedup == "semantic" and len(kept) > 1:
            vectors = yield from self._find_vectors(kept)
            found = find_close([one.chunk.text for one in kept], vectors, self._config.semantic_threshold)
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
                    notes[f"{_describe(candidate)}: updated_at {safe_repr(value, 50)} is not a date, left out"] = None
        for note in notes:
            self._log.notes.append(note)

    def _find_vectors(
        self, candidates: Candidates
    ) -> Generator[EmbedTexts, Sequence[Sequence[float]], list[Vector | None]]:
        """Return the vectors that chunks already have, and request the missing vectors in one call."""
        vectors = [unit_vector(candidate.chunk.vector) for candidate in candidates]
        for candidate, vector in zip(candidates, vectors, strict=True):
            if vector is None and candidate.chunk.vector is not None:
                self._log.notes.append(f"{_describe(candidate)}: its vector is no list of finite numbers, left out")
        # All others in one batch; on failure words alone decide, as `dedup="near"` would.
        missing = [place for place, vector in enumerate(vectors) if vector is None]
        if missing and self._can_embed:
            try:
                answer = yield EmbedTexts(tuple(candidates[place].chunk.text for place in missing))
                for place, given in zip(missing, _check_vector_count(answer, len(missing)), strict=True):
                    vectors[place] = unit_vector(given)
            except Exception as error:
                if self._config.on_store_error == "raise":
                    raise StoreError(f"texts could not be embedded: {describe_error(error)}") from error
                self._log.notes.append(f"embeddings: no vectors ({describe_error(error)}), compared by words alone")
        if lacking := vectors.count(None):
            self._log.notes.append(f"semantic dedup: {lacking} of {len(candidates)} chunks have no vector")
        dimensions = sorted({len(vector) for vector in vectors if vector is not None})
        if len(dimensions) > 1:
            sizes = " and ".join(map(str, dimensions))
            self._log.notes.append(f"semantic dedup: vectors of {sizes} dimensions are not compared with each other")
        return vectors


def shared_hashes_note(candidates: Iterable[Candidate], keys: MetadataKeys) -> list[str]:
    """Return a note if a content hash is no sign of the text: a file may have one hash for all its chunks."""
    texts: dict[str, str] = {}
    shared = 0
    for candidate in candidates:
        value = keys.read(candidate.chunk.metadata, "content_hash")
        content_hash = None if value is None or (type(value) is int and not value) else to_id(value)
        if content_hash is not None:  # an empty hash, or 0, is none
            text = candidate.chunk.text.strip()
            shared += texts.setdefault(content_hash, text) != text
    which = pluralize(shared, "chunk has", "chunks have")
    return [f"dedup: {which} the content hash of another text, compared by the texts alone"] if shared else []


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


def _check_vector_count(answer: Any, texts: int) -> list[Any]:
    if isinstance(answer, (str, bytes)) or not hasattr(answer, "__len__") or len(answer) != texts:
        raise InputError(f"the embeddings must return one vector for each of {texts} texts, got {safe_repr(answer)}")
    return list(answer)


def _describe(candidate: Candidate) -> str:
    return f"{'neighbor' if candidate.distance else 'hit'} {safe_repr(candidate.chunk.id, 80)}"
