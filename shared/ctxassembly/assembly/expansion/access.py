"""Chunks that a caller may read: without a filter, a neighbor has to share its hit's metadata.

A neighbor is fetched past the search that found its hit, so the filter of that search doesn't apply to it. One of three
rules does:

1. There is a filter (`filter=`): the store applies it, and nothing here is asked.
2. `neighbors="unfiltered"`: everybody may read everything. `neighbors="filtered"`: nothing runs without a filter.
3. Neither: a neighbor must equal its hit under every metadata key, but for the names in `varying_keys.py`,
   `AssemblyConfig.varying_keys`, and the caller's own names of places (`MetadataKeys`).

Metadata are compared leaf by leaf, so a tenant in a nested mapping counts. A key missing on one side is a difference;
None is as good as missing, since Chroma drops it. Lists are sets, as access lists are. A neighbor is compared with the
hit itself, not with the chunk between: agreement in steps could drift from one tenant to the next.

Whoever filters by a title, a section or a page has to give the filter: these vary within a document.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from ctxassembly.assembly.expansion.varying_keys import (
    NESTED_NUMBERS,
    PLACE_CONTAINERS,
    VARYING_NUMBERS,
    VARYING_VALUES,
)
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MAX_DEPTH, is_number, normalize_key
from ctxassembly.safe_repr import to_id

SharedValues = frozenset[tuple[str, Hashable]]
"""The values that chunks have to share, each with its path."""
MAX_COMPARED = 8
"""Hits that a chunk is compared with, to name the keys by which it differs from the nearest."""
_SCALARS = frozenset((str, int, float, bool))
_NAN = ("NaN",)
_OWN_NUMBERS = ("index", "start", "score", "row_number", "start_line")
_OWN_VALUES = ("title", "section", "headings", "sheet", "page", "keep_whole")
"""The particulars of `MetadataKeys` whose values may vary, as numbers and freely, under whatever names they have."""


class MetadataAccess:
    """The judge of which chunks share the metadata of a hit of their document, and the count of those that don't."""

    def __init__(self, config: AssemblyConfig) -> None:
        keys = config.keys
        self._may_vary = {*config.varying_keys, *config.summary_key}
        self._own_numbers = {key for name in _OWN_NUMBERS for key in getattr(keys, name)}
        self._own_values = {key for name in _OWN_VALUES for key in getattr(keys, name)}
        self._own_ids = {*keys.document_id, *keys.lookup_id}
        self._kinds: dict[str, str] = {}
        self._shared: dict[int, tuple[Chunk, SharedValues]] = {}
        """By the `id` of the chunk. The chunk is kept with it, so that no other one gets the same."""
        self._hits: dict[str, set[SharedValues]] = {}
        self.differing_keys: dict[str, None] = {}
        """The keys by which chunks were left out, in the order in which they were met; an ordered set."""
        self.excluded_count = 0
        """The number of chunks left out."""

    def add_hits(self, hits: Iterable[Chunk]) -> None:
        """Admit chunks that agree with any of `hits`, too."""
        for hit in hits:
            self._hits.setdefault(hit.document_id, set()).add(self.shared_values(hit))

    def allows(self, chunk: Chunk) -> bool:
        """Return True if `chunk` agrees with any hit of its document; else it is counted as left out."""
        hits = self._hits.get(chunk.document_id, ())
        if (shared := self.shared_values(chunk)) in hits:
            return True
        self._record_exclusion(shared, hits)
        return False

    def filter_agreeing(self, chunk: Chunk, near: Sequence[Candidate]) -> list[Candidate]:
        """Return the hits in `near` that `chunk` agrees with. If there are none, it is counted as left out."""
        shared = self.shared_values(chunk)
        found = [hit for hit in near if self.shared_values(hit.chunk) == shared]
        if not found:
            self._record_exclusion(shared, (self.shared_values(hit.chunk) for hit in near))
        return found

    def shared_values(self, chunk: Chunk) -> SharedValues:
        """Return the metadata that neighbors of `chunk` have to share with it."""
        found = self._shared.get(id(chunk))
        if found is None:
            shared = dict[str, Hashable]()
            self._collect(chunk.metadata, "", MAX_DEPTH, shared)
            # All neighbors are of the hit's document, whether or not their metadata has its id.
            for path in self._own_ids & shared.keys():
                if to_id(shared[path]) == chunk.document_id:
                    del shared[path]
            found = self._shared[id(chunk)] = chunk, frozenset(shared.items())
        return found[1]

    def _record_exclusion(self, shared: SharedValues, hits: Iterable[SharedValues]) -> None:
        self.excluded_count += 1
        nearest = min((shared ^ other for other in islice(hits, MAX_COMPARED)), key=len, default=SharedValues())
        self.differing_keys |= dict.fromkeys(sorted({path for path, _ in nearest}))

    def _collect(self, metadata: Mapping[Any, Any], prefix: str, depth: int, shared: dict[str, Hashable]) -> None:
        """Enter each value that has to be shared in `shared`, by its path."""
        for key, value in metadata.items():
            path = prefix + key if type(key) is str else f"{prefix}{key!r}"
            kind = self._kinds.get(path) or self._kind(path, key)
            if type(value) in _SCALARS:  # nearly all are, and asking whether one is a Mapping takes its time
                if kind == "shared" or (kind == "number" and not is_number(value)):
                    shared[path] = value if value == value else _NAN  # noqa: PLR0124 - NaN isn't itself
            elif value is None:  # as good as missing
                continue
            elif depth and type(value) is dict:
                self._collect(value, f"{path}.", depth - 1, shared)
            elif kind == "shared" or (kind == "number" and not is_number(value)):
                shared[path] = _to_hashable(value, MAX_DEPTH)

    def _kind(self, path: str, key: Any) -> str:
        """Return whether the values under a key may vary ("free"), vary as numbers ("number"), or are "shared"."""
        kind = "shared"
        if type(key) is str:
            *parents, last = path.removeprefix("@search.").split(".")
            # The id of a tenant is no id of a chunk: below any other key few names count, or whole paths.
            is_place = all(normalize_key(parent) in PLACE_CONTAINERS for parent in parents)
            name, own = normalize_key(last), {path, key} if is_place else {path}
            if not self._may_vary.isdisjoint((path, key)) or (is_place and name in VARYING_VALUES):
                kind = "free"
            elif own & self._own_numbers or name in (VARYING_NUMBERS if is_place else NESTED_NUMBERS):
                kind = "number"
            elif own & self._own_values:
                kind = "free"
        self._kinds[path] = kind
        return kind


def _to_hashable(value: Any, depth: int) -> Hashable:
    """Return an equal hashable for equal values: lists are sets, NaN is NaN; an unknown object equals only itself."""
    if type(value) in _SCALARS:
        return value if value == value else _NAN  # noqa: PLR0124 - see above
    try:
        if isinstance(value, Mapping) and depth:
            return frozenset(
                (_to_hashable(key, depth - 1), _to_hashable(inner, depth - 1)) for key, inner in value.items()
            )
        if isinstance(value, (list, tuple, set, frozenset)) and depth:
            return frozenset(_to_hashable(item, depth - 1) for item in value)
        hash(value)
    except Exception:  # noqa: BLE001 - metadata may contain any object; one that can't be hashed matches only itself
        return ("object", id(value))
    shared: Hashable = value
    return shared
