"""The duplicates of one assembly: exact copies, near ones by words, close ones by vectors, found in this order.

Each rule costs more than the one before and sees only what that left over. Exact copies go even before neighbours are
fetched, near and close ones after. When the budget leaves out a chunk, its near duplicates get a second chance, for
nothing says their content any more; exact copies don't, since they are just as long.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Iterable, Sequence
from typing import Any

from ctxassembly.assembly.dedup.exact import DateOf, collapse_exact, collapse_similar, shared_hashes, undated
from ctxassembly.assembly.dedup.near import NearIndex
from ctxassembly.assembly.dedup.semantic import Vector, VectorIndex, unit
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import EXACT, NEAR, SEMANTIC, Candidate, Reason
from ctxassembly.data.requests import EmbedTexts
from ctxassembly.errors import ConfigError, InputError, StoreError
from ctxassembly.safe_repr import counted, failure, shown
from ctxassembly.tracing.lineage import Lineage

Candidates = tuple[Candidate, ...]
Rule = Callable[[Candidates, DateOf], dict[int, Candidate]]
"""A function to the candidate that stands for each duplicate, by the duplicate's key."""


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

    def exact(self, candidates: Candidates) -> Candidates:
        """`candidates` without exact copies."""
        if self._config.prefer == "newest":
            self._read_dates(candidates)
        return self.lineage.collapse(candidates, collapse_exact(candidates, self._date_of), EXACT)

    def note_hashes(self, candidates: Candidates) -> None:
        """Note the chunks whose content hash is no sign of their text: a file may have one hash for all its chunks."""
        if shared := shared_hashes(candidates, self._config.keys):
            which = counted(shared, "chunk has", "chunks have")
            self._note(f"dedup: {which} the content hash of another text, compared by the texts alone")

    def similar(self, candidates: Candidates) -> Generator[EmbedTexts, Sequence[Sequence[float]], Candidates]:
        """`candidates` that are not near to a better one, nor close to one in meaning if that is asked for."""
        kept = self.lineage.collapse(candidates, self._near(candidates, self._date_of), NEAR)
        if self._config.dedup == "semantic" and len(kept) > 1:
            yield from self._find_vectors(kept)
            kept = self.lineage.collapse(kept, self._semantic(kept, self._date_of), SEMANTIC)
        return kept

    def second_chances(
        self, candidates: Iterable[Candidate], taken: Candidates, left_out: Container[int]
    ) -> Candidates:
        """The duplicates of candidates that the budget left out, unless they repeat one that it took.

        `candidates` are all of them as they came, `left_out` has the keys of those left out. Exact copies don't count.
        """
        waiting = self.lineage.unserved(candidates, left_out)
        if not waiting:
            return ()
        self.lineage.revive(waiting)
        rules: list[tuple[Rule, Reason]] = [(self._near, NEAR)]
        if self._config.dedup == "semantic":
            rules.append((self._semantic, SEMANTIC))
        for rule, why in rules:
            # What was taken comes first and is in the text already: only what waits can be dropped.
            found = rule((*taken, *waiting), undated)
            self.lineage.drop(waiting, found, why)
            waiting = tuple(candidate for candidate in waiting if candidate.key not in found)
        return waiting

    def _near(self, candidates: Candidates, date_of: DateOf) -> dict[int, Candidate]:
        index = NearIndex([candidate.chunk.text for candidate in candidates], self._config.near_threshold)
        return collapse_similar(candidates, index, date_of)

    def _semantic(self, candidates: Candidates, date_of: DateOf) -> dict[int, Candidate]:
        vectors = [self._vectors.get(candidate.key) for candidate in candidates]
        return collapse_similar(candidates, VectorIndex(vectors, self._config.semantic_threshold), date_of)

    def _date_of(self, candidate: Candidate) -> float | None:
        return self._dates.get(candidate.key)

    def _read_dates(self, candidates: Iterable[Candidate]) -> None:
        from ctxassembly.text.dates import moment  # here, so that importing the engine stays light

        notes: dict[str, None] = {}  # a chunk may have been retrieved twice
        for candidate in candidates:
            if candidate.key not in self._dates:
                value = self._config.keys.read(candidate.chunk.metadata, "updated_at")
                self._dates[candidate.key] = moment(value)
                if value is not None and moment(value) is None:
                    notes[f"{_named(candidate)}: updated_at {shown(value, 50)} is not a date, left out"] = None
        for note in notes:
            self._note(note)

    def _find_vectors(self, candidates: Candidates) -> Generator[EmbedTexts, Sequence[Sequence[float]], None]:
        """Keep the vectors that came with the chunks, and ask for those of all others in one request."""
        for candidate in candidates:
            handed_in = candidate.chunk.vector
            if handed_in is not None:
                self._keep_vector(candidate, handed_in)
                if candidate.key not in self._vectors:
                    self._note(f"{_named(candidate)}: its vector is no list of finite numbers, left out")
        # All others in one batch; on failure words alone decide, as `dedup="near"` would.
        missing = [candidate for candidate in candidates if candidate.key not in self._vectors]
        if missing and self._can_embed:
            try:
                answer = yield EmbedTexts(tuple(candidate.chunk.text for candidate in missing))
                for candidate, vector in zip(missing, _one_each(answer, len(missing)), strict=True):
                    self._keep_vector(candidate, vector)
            except Exception as error:
                if self._config.on_store_error == "raise":
                    raise StoreError(f"texts could not be embedded: {failure(error)}") from error
                self._note(f"embeddings: no vectors ({failure(error)}), compared by words alone")
        found = [self._vectors[candidate.key] for candidate in candidates if candidate.key in self._vectors]
        if len(found) < len(candidates):
            self._note(f"semantic dedup: {len(candidates) - len(found)} of {len(candidates)} chunks have no vector")
        dimensions = sorted({len(vector) for vector in found})
        if len(dimensions) > 1:
            sizes = " and ".join(map(str, dimensions))
            self._note(f"semantic dedup: vectors of {sizes} dimensions are not compared with each other")

    def _keep_vector(self, candidate: Candidate, value: Any) -> None:
        if (vector := unit(value)) is not None:
            self._vectors[candidate.key] = vector


def check_vectors(candidates: Sequence[Candidate]) -> None:
    """Check that there are vectors to compare, or no candidates.

    Raises:
        ConfigError: none of the `candidates` has a vector.
    """
    if candidates and all(candidate.chunk.vector is None for candidate in candidates):
        allowed = "'exact', 'near' or 'none' where neither `embeddings` is given nor `vector` in any chunk"
        raise ConfigError("dedup", allowed, "semantic")


def _one_each(answer: Any, texts: int) -> list[Any]:
    if isinstance(answer, (str, bytes)) or not hasattr(answer, "__len__") or len(answer) != texts:
        raise InputError(f"the embeddings must return one vector for each of {texts} texts, got {shown(answer)}")
    return list(answer)


def _named(candidate: Candidate) -> str:
    return f"{'hit' if candidate.is_hit else 'neighbour'} {shown(candidate.chunk.id, 80)}"
