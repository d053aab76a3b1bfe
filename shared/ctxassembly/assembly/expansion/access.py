"""Chunks that a caller may read: where the filter is unknown, a neighbor has to agree with its hit on metadata.

A search is filtered by the metadata of a tenant, an access group or a version, and a neighbor is fetched past that
search. A known filter is part of the store's own query. An unknown one may be on any key, so a neighbor
has to agree with its hit on every key but those that `varying_keys.py` knows to vary within a document: else another
tenant's text could be read.

Metadata are compared leaf by leaf, so a tenant in a nested mapping counts. A key missing on one side is disagreement;
None is as good as missing, since Chroma drops it. Lists are sets, as access lists are. A neighbor is compared with the
hit itself, not with the chunk between: agreement in steps could drift from one tenant to the next.

Over 63 pipelines of the field the rule wrongly leaves out 5 of 1,248 ordinary neighbors, and of 8,911 whose tenant,
group, owner or publicity differs it lets none through. Whoever filters by a title, a section or a date has to give the
filter: these vary within a document.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import islice
from typing import Any

from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MAX_DEPTH, KeyCategory, is_known_word, is_number, key_category
from ctxassembly.data.sanitize import Placeholder
from ctxassembly.data.trace import Trace
from ctxassembly.errors import FilterNotSeenWarning, NothingToJoinWarning
from ctxassembly.safe_repr import to_id
from ctxassembly.user_warnings import with_remedy

FixedValues = frozenset[tuple[str, Hashable]]
"""The values that chunks have to share, each with its path."""
MAX_COMPARED = 8
"""Hits that a chunk is compared with, to name the keys by which it differs from the nearest."""
_SCALARS = frozenset((str, int, float, bool))
_NAN = ("NaN",)
_NUMBER_FIELDS = ("index", "start", "score", "row_number", "start_line")
"""The particulars of `MetadataKeys` that are numbers."""
_FIXED_FIELDS = ("source", "url", "page_base")
"""The particulars that all chunks of a document share, and `page_base`, which is no key. All others may vary freely."""


Signature = tuple[FixedValues, "float | None"]
"""The metadata that the neighbors of a chunk have to share, and the number under `rank`, if it has one. A retriever
writes that into its hits, so it may be missing on one side."""
NearHit = tuple[int, Candidate]
"""A hit, and the steps from it to a chunk."""


class MetadataAccess:
    """The judge of which chunks agree with a hit of their document, and the count of those that don't."""

    def __init__(self, config: AssemblyConfig) -> None:
        keys = config.keys
        self._own_categories: dict[str, KeyCategory] = {
            key: "number" if name in _NUMBER_FIELDS else "document" if name in ("document_id", "lookup_id") else "free"
            for name in (field.name for field in fields(keys))
            if name not in _FIXED_FIELDS
            for key in getattr(keys, name)
            if key_category(key) == "fixed"
        }
        """The kinds of the caller's own keys, which the list of the field doesn't know."""
        self._own_categories |= dict.fromkeys((*config.varying_keys, *config.summary_key), "free")
        self._categories: dict[str, KeyCategory] = {}
        self._signatures: dict[int, tuple[Chunk, Signature]] = {}
        """By the `id` of the chunk. The chunk is kept with it, so that no other one gets the same."""
        self._hit_signatures: dict[str, dict[FixedValues, set[float | None]]] = {}
        self.differing_keys: dict[str, None] = {}
        """The keys by which chunks were left out, in the order in which they were met; an ordered set."""
        self.excluded_count = 0
        """The number of chunks left out."""

    def add_hits(self, hits: Iterable[Chunk]) -> None:
        """Admit chunks that agree with any of `hits`, too."""
        for hit in hits:
            fixed, rank = self.signature(hit)
            self._hit_signatures.setdefault(hit.document_id, {}).setdefault(fixed, set()).add(rank)

    def allows(self, chunk: Chunk) -> bool:
        """Return True if `chunk` agrees with any hit of its document; else it is counted as left out."""
        hits = self._hit_signatures.get(chunk.document_id, {})
        fixed, rank = self.signature(chunk)
        ranks = hits.get(fixed)
        if ranks is not None and (rank is None or None in ranks or rank in ranks):
            return True
        self._record_exclusion(fixed, hits)
        return False

    def filter_agreeing(self, chunk: Chunk, near: Sequence[NearHit]) -> list[NearHit]:
        """Return the hits in `near` that `chunk` agrees with. If there are none, it is counted as left out."""
        fixed, rank = self.signature(chunk)
        found: list[NearHit] = []
        for steps, hit in near:
            other, other_rank = self.signature(hit.chunk)
            if fixed == other and (rank is None or other_rank is None or rank == other_rank):
                found.append((steps, hit))
        if not found:
            self._record_exclusion(fixed, (self.signature(hit.chunk)[0] for _, hit in near))
        return found

    def signature(self, chunk: Chunk) -> Signature:
        """Return the metadata that neighbors of `chunk` have to share with it."""
        found = self._signatures.get(id(chunk))
        if found is None:
            found = self._signatures[id(chunk)] = chunk, self._make_signature(chunk)
        return found[1]

    def _record_exclusion(self, fixed: FixedValues, hits: Iterable[FixedValues]) -> None:
        self.excluded_count += 1
        nearest = min((fixed ^ other for other in islice(hits, MAX_COMPARED)), key=len, default=FixedValues())
        self.differing_keys |= dict.fromkeys(sorted({path for path, _ in nearest} or {"rank"}))

    def _make_signature(self, chunk: Chunk) -> Signature:
        fixed: dict[str, Hashable] = {}
        special: dict[KeyCategory, Any] = {}
        self._collect(chunk.metadata, "", MAX_DEPTH, chunk.document_id, fixed, special)
        if "parent" in special and "element" not in special:
            fixed |= special["parent"]
        return frozenset(fixed.items()), special.get("rank")

    def _collect(
        self,
        metadata: Mapping[Any, Any],
        prefix: str,
        depth: int,
        document_id: str,
        fixed: dict[str, Hashable],
        special: dict[KeyCategory, Any],
    ) -> None:
        """Enter each value that has to be shared in `fixed`, by its path, and elements, parents and ranks in `special`.

        None is as good as missing.
        """
        categories = self._categories
        for key, value in metadata.items():
            path = prefix + key if type(key) is str else f"{prefix}{key!r}"
            kind = categories.get(path) or self._category(path, key)
            if type(value) in _SCALARS:  # nearly all are, and asking whether one is a Mapping takes its time
                if kind == "fixed":
                    fixed[path] = value if value == value else _NAN  # noqa: PLR0124 - NaN isn't itself
                    continue
            elif value is None:
                continue
            elif depth and isinstance(value, Mapping):
                self._collect(value, f"{path}.", depth - 1, document_id, fixed, special)
                continue
            if kind == "free" or (kind == "number" and is_number(value)):
                continue
            if kind == "element" or (kind == "rank" and isinstance(value, (int, float))):
                special[kind] = value
            elif kind == "parent":
                special.setdefault(kind, {})[path] = _to_hashable(value, MAX_DEPTH)
            elif not (
                (kind == "words" and is_known_word(key, value)) or (kind == "document" and to_id(value) == document_id)
            ):
                fixed[path] = _to_hashable(value, MAX_DEPTH)

    def _category(self, path: str, key: Any) -> KeyCategory:
        kind = self._own_categories.get(path) or (
            self._own_categories.get(key) or key_category(key) if type(key) is str else "fixed"
        )
        if kind == "fixed" and path.startswith("loc."):
            kind = "number"
        self._categories[path] = kind
        return kind


HIDDEN_FILTER = "The filter of the search can't be seen"


def neighbor_warnings(trace: Trace, call: str, fact: str | None = HIDDEN_FILTER) -> tuple[Warning | None, ...]:
    """Return the warnings of a run whose filter an adapter couldn't see, or whose hits or their store lack something.

    `call` is the line to write for the filter; without a `fact` nothing is said of it.
    """
    joining = None if trace.missing is None else NothingToJoinWarning(trace.missing)
    if trace.unscoped is None or fact is None:
        return None, joining
    excluded = f"; chunks with another {' or '.join(map(repr, trace.unscoped))} are left out" if trace.unscoped else ""
    message = with_remedy(
        f"{fact}{excluded}",
        "Adjacent chunks are added only if their metadata matches; pass the filter, or 'unfiltered' if everybody may "
        "read everything",
        call,
    )
    return FilterNotSeenWarning(message), joining


def _to_hashable(value: Any, depth: int) -> Hashable:
    """Return an equal hashable for equal values: lists are sets, NaN is NaN; an unknown object equals only itself."""
    if type(value) in _SCALARS:
        return value if value == value else _NAN  # noqa: PLR0124 - see above
    if type(value) is Placeholder:
        return ("object", id(value.value))
    try:
        if isinstance(value, Mapping) and depth:
            return frozenset(
                (_to_hashable(key, depth - 1), _to_hashable(inner, depth - 1)) for key, inner in value.items()
            )
        if isinstance(value, (list, tuple, set, frozenset)) and depth:
            return frozenset(_to_hashable(item, depth - 1) for item in value)
        hash(value)
    except Exception:  # noqa: BLE001 - metadata may contain any object; one that can't be compared matches only itself
        return ("object", id(value))
    return _SafeEquality(value)


class _SafeEquality:
    """A value whose comparison may raise; if it does, the two differ."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        try:
            return isinstance(other, _SafeEquality) and (self.value is other.value or bool(self.value == other.value))
        except Exception:  # noqa: BLE001 - see above
            return False
