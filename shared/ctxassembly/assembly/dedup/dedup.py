"""The duplicates of one assembly: exact copies, near ones by words, close ones by vectors, found in this order.

Each rule costs more than the one before and sees only what that one kept. Exact copies go even before neighbors are
fetched, near and close ones after. A duplicate shares the fate of its original: if the budget leaves that out, the
trace says so of both.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from ctxassembly.assembly.dedup.exact import dedup_exact, dedup_similar, shared_hashes
from ctxassembly.assembly.dedup.facts import compare_facts
from ctxassembly.assembly.dedup.near import NearIndex
from ctxassembly.assembly.dedup.semantic import Vector, VectorIndex, unit_vector
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import EXACT_DUPLICATE, NEAR_DUPLICATE, SEMANTIC_DUPLICATE, Candidate
from ctxassembly.data.requests import EmbedTexts
from ctxassembly.errors import ConfigError, InputError, StoreError
from ctxassembly.safe_repr import describe_error, pluralize, safe_repr
from ctxassembly.tracing import Lineage

Candidates = tuple[Candidate, ...]


class Duplicates:
    """The finder of duplicates, which it enters in `lineage`. Candidates come and go best first."""

    def __init__(
        self, config: AssemblyConfig, lineage: Lineage, note: Callable[[str], None], *, can_embed: bool
    ) -> None:
        self.lineage = lineage
        self._config = config
        self._note = note
        self._can_embed = can_embed
        self._dates: dict[int, float | None] = {}
        self._vectors: dict[int, Vector] = {}

    def drop_exact(self, candidates: Candidates) -> Candidates:
        """Return `candidates` without exact copies."""
        if self._config.prefer_version == "newest":
            self._read_dates(candidates)
        return self.lineage.merge_duplicates(candidates, dedup_exact(candidates, self._date_of), EXACT_DUPLICATE)

    def note_shared_hashes(self, candidates: Candidates) -> None:
        """Note the chunks whose content hash is no sign of their text: a file may have one hash for all its chunks."""
        if shared := shared_hashes(candidates, self._config.keys):
            which = pluralize(shared, "chunk has", "chunks have")
            self._note(f"dedup: {which} the content hash of another text, compared by the texts alone")

    def drop_similar(self, candidates: Candidates) -> Generator[EmbedTexts, Sequence[Sequence[float]], Candidates]:
        """Return `candidates` that are not near to a better one, nor close to one in meaning if that is asked for."""
        kept = self.lineage.merge_duplicates(candidates, self._find_near(candidates), NEAR_DUPLICATE)
        if self._config.dedup == "semantic" and len(kept) > 1:
            yield from self._collect_vectors(kept)
            kept = self.lineage.merge_duplicates(kept, self._find_semantic(kept), SEMANTIC_DUPLICATE)
        return kept

    def _find_near(self, candidates: Candidates) -> dict[int, Candidate]:
        texts = [candidate.chunk.text for candidate in candidates]
        index = NearIndex(texts, self._config.near_threshold)
        return dedup_similar(candidates, index, self._date_of, compare_facts(texts))

    def _find_semantic(self, candidates: Candidates) -> dict[int, Candidate]:
        texts = [candidate.chunk.text for candidate in candidates]
        vectors = [self._vectors.get(candidate.key) for candidate in candidates]
        return dedup_similar(candidates, VectorIndex(texts, vectors, self._config.semantic_threshold), self._date_of)

    def _date_of(self, candidate: Candidate) -> float | None:
        return self._dates.get(candidate.key)

    def _read_dates(self, candidates: Iterable[Candidate]) -> None:
        from ctxassembly.text.dates import parse_date  # here, so that importing the engine stays light

        notes: dict[str, None] = {}  # a chunk may have been retrieved twice
        for candidate in candidates:
            if candidate.key not in self._dates:
                value = self._config.keys.read(candidate.chunk.metadata, "updated_at")
                self._dates[candidate.key] = parse_date(value)
                if value is not None and parse_date(value) is None:
                    notes[f"{_describe(candidate)}: updated_at {safe_repr(value, 50)} is not a date, left out"] = None
        for note in notes:
            self._note(note)

    def _collect_vectors(self, candidates: Candidates) -> Generator[EmbedTexts, Sequence[Sequence[float]], None]:
        """Use the vectors that chunks already have, and request the missing vectors in one call."""
        for candidate in candidates:
            given_vector = candidate.chunk.vector
            if given_vector is not None:
                self._set_vector(candidate, given_vector)
                if candidate.key not in self._vectors:
                    self._note(f"{_describe(candidate)}: its vector is no list of finite numbers, left out")
        # All others in one batch; on failure words alone decide, as `dedup="near"` would.
        missing = [candidate for candidate in candidates if candidate.key not in self._vectors]
        if missing and self._can_embed:
            try:
                answer = yield EmbedTexts(tuple(candidate.chunk.text for candidate in missing))
                for candidate, vector in zip(missing, _check_vector_count(answer, len(missing)), strict=True):
                    self._set_vector(candidate, vector)
            except Exception as error:
                if self._config.on_store_error == "raise":
                    raise StoreError(f"texts could not be embedded: {describe_error(error)}") from error
                self._note(f"embeddings: no vectors ({describe_error(error)}), compared by words alone")
        found = [self._vectors[candidate.key] for candidate in candidates if candidate.key in self._vectors]
        if len(found) < len(candidates):
            self._note(f"semantic dedup: {len(candidates) - len(found)} of {len(candidates)} chunks have no vector")
        dimensions = sorted({len(vector) for vector in found})
        if len(dimensions) > 1:
            sizes = " and ".join(map(str, dimensions))
            self._note(f"semantic dedup: vectors of {sizes} dimensions are not compared with each other")

    def _set_vector(self, candidate: Candidate, value: Any) -> None:
        if (vector := unit_vector(value)) is not None:
            self._vectors[candidate.key] = vector


def check_vectors(candidates: Sequence[Candidate]) -> None:
    """Check that there are vectors to compare, or no candidates.

    Raises:
        ConfigError: none of the `candidates` has a vector.
    """
    if candidates and all(candidate.chunk.vector is None for candidate in candidates):
        raise ConfigError.missing("embeddings", "dedup='semantic'", "embeddings or hits with vectors", "dedup='near'")


def _check_vector_count(answer: Any, texts: int) -> list[Any]:
    if isinstance(answer, (str, bytes)) or not hasattr(answer, "__len__") or len(answer) != texts:
        raise InputError(f"the embeddings must return one vector for each of {texts} texts, got {safe_repr(answer)}")
    return list(answer)


def _describe(candidate: Candidate) -> str:
    return f"{'hit' if candidate.is_hit else 'neighbor'} {safe_repr(candidate.chunk.id, 80)}"
