"""Odd values -> values of the types that the stages rely on, and a note on each value that was wrong.

Chunks come from other libraries and from databases: an index is a string, an id is a UUID, a text is bytes, a score is
a numpy float. No such value may cost a user the context, so nothing here raises. A value that can be read is converted;
the rest is left out, and a note for the trace says so.

Loaders put anything into metadata. A value that can't be copied (a lock, a generator, an object of a local class) is
replaced by its text. A value that refers to itself, or has no end, is cut. The result can be read, copied, pickled and
written. Nearly all metadata are flat dicts of builtins: `make_readable` recognizes these by one look at the types and
returns them as they are. Only the rest is read value by value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Chunk, ChunkOrigin, Hit
from ctxassembly.safe_repr import join_first, safe_repr, to_id

CUT_MARK = "..."
"""Replaces a value that refers to itself, and the end of one that was cut."""
MAX_LEVELS = 50
"""Most levels of containers in containers. Writers of JSON take a few hundred."""
MAX_VALUES = 20_000
"""Most values of one chunk, counted as they would be written: few bytes can hold endless text, if one list is in many
places."""
_MAX_NOTED_KEYS, _MAX_KEY_CHARS = 3, 50
"""Keys that a note names, and characters of each."""

_SCALAR_TYPES = frozenset({str, float, bool, type(None)})
_IMMUTABLE_TYPES = frozenset({*_SCALAR_TYPES, bytes, complex})
_TEXT_TYPES = frozenset({str})
_CONTAINER_TYPES = frozenset({dict, list, tuple})
_INTEGER_BOUND = 1 << 13_000  # Python writes no more than 4,300 digits
_MAX_CHECKED = 5_000
"""Most values checked at once. An embedding may be among them."""

NO_COPY = "can't be copied, replaced by its text"
NO_READING = "can't be read, left out"
NO_TEXT = "the key is no text, read as its text"
TOO_LONG = "is a number too long to write, replaced by its size"
CIRCULAR = "refers to itself, cut there"
TOO_DEEP = f"has more than {MAX_LEVELS} levels, cut there"
TOO_MANY = f"has more than {MAX_VALUES:,} values, cut there"


class Placeholder(str):
    """The text of a value that can't be copied, or was cut. Comparisons use the value behind it, `value`."""

    __slots__ = ("value",)
    value: object

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)  # the value behind it can't be pickled


def make_readable(metadata: Mapping[Any, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return metadata that can be used, and a note for each kind of issue with its keys.

    If no value is wrong, `metadata` itself is returned.

    >>> make_readable({"page": 3, 7: "seven"})
    ({'page': 3, '7': 'seven'}, ("metadata '7': the key is no text, read as its text",))
    """
    if type(metadata) is dict and (_has_only_scalars(metadata) or _is_plain(metadata, MAX_LEVELS, [_MAX_CHECKED])):
        return metadata, ()
    reader = _MetadataReader(should_copy=False)
    result = reader.read(metadata)
    notes = (f"metadata {join_first(keys, _MAX_NOTED_KEYS)}: {odd}" for odd, keys in reader.issues.items())
    return result, tuple(notes)


def copy_metadata(metadata: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a copy of `metadata` that shares no mutable value with them. Odd values are replaced as above."""
    flat = type(metadata) is dict and _has_only_scalars(metadata)
    return dict(metadata) if flat else _MetadataReader(should_copy=True).read(metadata)


def _has_only_scalars(metadata: dict[Any, Any]) -> bool:
    """Return True if all keys are text and all values are plain: no containers, no long integers."""
    for key, value in [*metadata.items()]:  # a copy, since another thread may change them meanwhile
        kind = type(value)
        if type(key) is not str or not (
            kind in _SCALAR_TYPES or (kind is int and -_INTEGER_BOUND < value < _INTEGER_BOUND)
        ):
            return False
    return True


def _is_plain(values: Any, levels: int, checks_left: list[int]) -> bool:
    """Return True if a dict, list or tuple has only plain values, on any level. `checks_left` counts down."""
    checks_left[0] -= len(values)
    if checks_left[0] < 0 or not levels:
        return False
    if type(values) is dict:
        if not {*map(type, values)} <= _TEXT_TYPES:
            return False
        values = list(values.values())
    for value in values:
        kind = type(value)
        if kind in _CONTAINER_TYPES:
            if not _is_plain(value, levels - 1, checks_left):
                return False
        elif not (kind in _SCALAR_TYPES or (kind is int and _is_short(value))):
            return False
    return True


def _is_short(number: int) -> bool:
    return -_INTEGER_BOUND < number < _INTEGER_BOUND


class _MetadataReader:
    """Reads the metadata of one chunk, and notes wrong values by their key."""

    def __init__(self, *, should_copy: bool) -> None:
        self._should_copy = should_copy
        self.issues: dict[str, list[str]] = {}
        self._key: str | None = None
        """The key that is being read; None for the metadata themselves."""
        self._type_name = ""
        """The name of the metadata in a note without a key."""
        self._values_left = MAX_VALUES
        self._open_containers: set[int] = set()
        """The ids of the containers around the value that is being read. It refers to itself if it is among them."""

    def read(self, metadata: Mapping[Any, Any]) -> dict[str, Any]:
        """Return a copy of the metadata. Its keys have to be text."""
        self._open_containers.add(id(metadata))
        self._type_name = "of " + type(metadata).__name__
        found: dict[str, Any] = {}
        others: list[tuple[str, Any]] = []
        for key, value in self._read_pairs(metadata):
            if type(key) is str:
                self._key = key
                found[key] = self._read_value(value)
            else:
                others.append((to_id(key) or safe_repr(key), value))
        for name, value in others:  # last, since a key that is text has the better claim to its name
            self._key = name
            self._note(NO_TEXT)
            found.setdefault(name, self._read_value(value))
        return found

    def _note(self, issue: str) -> None:
        keys = self.issues.setdefault(issue, [])
        name = self._type_name if self._key is None else safe_repr(self._key, _MAX_KEY_CHARS)
        if name not in keys[-1:]:
            keys.append(name)

    def _read_pairs(self, mapping: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
        """Return the readable entries of `mapping`, which may be of any class and may change meanwhile."""
        if type(mapping) is dict:
            return list(mapping.items())
        pairs = []
        try:
            keys = list(islice(iter(mapping), MAX_VALUES + 1))
        except Exception:  # noqa: BLE001 - a class of somebody's own may raise anything
            keys = []
            self._note(NO_READING)
        if len(keys) > MAX_VALUES:
            self._note(TOO_MANY)
        # A note names the key of the metadata. For a key deeper down that is the one above it.
        parent_key = self._key
        for key in keys[:MAX_VALUES]:
            try:
                pairs.append((key, mapping[key]))
            except Exception:  # noqa: BLE001 - see above
                self._key = parent_key or to_id(key) or safe_repr(key)
                self._note(NO_READING)
        self._key = parent_key
        return pairs

    def _read_value(self, value: Any) -> Any:
        kind = type(value)
        self._values_left -= 1
        if kind in _IMMUTABLE_TYPES or kind is Placeholder:
            return str(value) if self._should_copy and kind is Placeholder else value
        if kind is int:
            if _is_short(value):
                return value
            self._note(TOO_LONG)
            return _placeholder_for(safe_repr(value), value)
        try:
            if kind in (list, tuple, set, frozenset) or issubclass(type(value), Mapping):
                return self._read_container(value)
            # A context is copied, cached and sent to other processes: what pickles takes all of that.
            copy = _copy_by_pickle(value)
        except Exception:  # noqa: BLE001 - see above
            self._note(NO_COPY)
            return _placeholder_for(safe_repr(value), value)
        return copy if self._should_copy else value

    def _read_container(self, value: Any) -> Any:
        kind = type(value)
        # Embeddings and lists of tags in one step: value by value they take far longer.
        if kind in (list, tuple) and len(value) <= self._values_left and _are_scalars(value):
            self._values_left -= len(value)
            return kind(value)
        if id(value) in self._open_containers:
            self._note(CIRCULAR)
            return _placeholder_for(CUT_MARK, value)
        if len(self._open_containers) > MAX_LEVELS:
            self._note(TOO_DEEP)
            return _placeholder_for(CUT_MARK, value)
        self._open_containers.add(id(value))
        try:
            if not issubclass(type(value), Mapping):
                # tuple() first: another thread may change a list meanwhile.
                return kind([self._read_value(item) for item in tuple(value) if self._has_room()])
            return {
                _inner_key(key): self._read_value(item) for key, item in self._read_pairs(value) if self._has_room()
            }
        finally:
            self._open_containers.discard(id(value))

    def _has_room(self) -> bool:
        if self._values_left <= 0:
            self._note(TOO_MANY)
        return self._values_left > 0


def _placeholder_for(text: str, value: object) -> Placeholder:
    placeholder = Placeholder(text)
    placeholder.value = value
    return placeholder


def _copy_by_pickle(value: Any) -> Any:
    import pickle  # here, so that importing the engine stays light

    return pickle.loads(pickle.dumps(value))  # noqa: S301 - a copy of what is in memory anyway


def _are_scalars(values: Sequence[Any]) -> bool:
    kinds = set(map(type, values))
    # Of integers alone the smallest and the largest show whether any is too long to write.
    return kinds <= _SCALAR_TYPES or (kinds == {int} and _is_short(min(values)) and _is_short(max(values)))


def _inner_key(key: Any) -> Any:
    return key if type(key) in _IMMUTABLE_TYPES or type(key) is int else to_id(key) or safe_repr(key)


MAX_POSITION = 2**53
"""The largest index or offset. Up to here JSON, floats and databases hold every whole number exactly."""
_MAX_VALUE_CHARS = 50
"""Most characters of an odd value in a note."""
_ARRAYS = frozenset({"numpy", "array", "torch"})
"""Modules whose arrays hold numbers alone, so that nobody has to look at each value."""


class Issue(NamedTuple):
    """A note on a value that was wrong, and on what became of it."""

    kind: str
    """Every chunk may have an issue of the same kind; notes of one kind are reported together."""
    note: str


def sanitize_chunk(chunk: Chunk, position: int) -> tuple[Chunk, list[Issue]]:
    """Return the chunk as the stages read it, and a note on each wrong value; `position` replaces a missing id.

    Each value of the result has the type that `Chunk` declares. Strings are plain: a subclass of str could do anything.
    """
    given_metadata = chunk.metadata
    # Types are asked for with type(), here and below: isinstance() reads `__class__`, which an odd class may fake. A
    # dict is looked for first because that is fast.
    is_mapping = type(given_metadata) is dict or issubclass(type(given_metadata), Mapping)
    metadata, metadata_notes = make_readable(given_metadata) if is_mapping else ({}, ())
    if metadata is given_metadata and _is_valid(chunk):
        return chunk, []
    issues: list[Issue] = []
    index = _valid_position("index", chunk.index, issues)
    document_id = _valid_id("document id", chunk.document_id, issues)
    chunk_id = _valid_id("id", chunk.id, issues)
    if not chunk_id:
        chunk_id = f"{document_id}#{index}" if document_id and index is not None else f"hit-{position}"
        issues.append(Issue("missing ids", "no id, named by its place"))
    if not document_id:
        # Its index would place it among the chunks of a document that nobody knows.
        document_id, index = chunk_id, None
        issues.append(Issue("missing document ids", "no document id, treated as a document of its own"))
    if not is_mapping and given_metadata is not None:
        shown = safe_repr(given_metadata, _MAX_VALUE_CHARS)
        issues.append(Issue("metadata", f"metadata {shown} is no mapping, left out"))
    issues += [Issue("metadata", note) for note in metadata_notes]
    sanitized = Chunk(
        chunk_id,
        document_id,
        _valid_text(chunk.text, issues),
        index,
        _valid_position("start", chunk.start, issues),
        _valid_link("prev_id", chunk.prev_id, chunk_id, issues),
        _valid_link("next_id", chunk.next_id, chunk_id, issues),
        metadata,
        _valid_vector(chunk.vector),
        chunk.origin if type(chunk.origin) is ChunkOrigin else None,
        chunk.hidden_from_model if type(chunk.hidden_from_model) is frozenset else frozenset(),
        chunk.hidden_from_header if type(chunk.hidden_from_header) is frozenset else frozenset(),
    )
    return sanitized, issues


def _is_valid(chunk: Chunk) -> bool:
    """Return True if all values but the metadata are valid. Nearly all chunks are, so this is one expression."""
    return (
        type(chunk.id) is str
        and chunk.id != ""
        and type(chunk.document_id) is str
        and chunk.document_id != ""
        and type(chunk.text) is str
        and (chunk.index is None or (type(chunk.index) is int and 0 <= chunk.index <= MAX_POSITION))
        and (chunk.start is None or (type(chunk.start) is int and 0 <= chunk.start <= MAX_POSITION))
        and (chunk.prev_id is None or (type(chunk.prev_id) is str and chunk.prev_id not in ("", chunk.id)))
        and (chunk.next_id is None or (type(chunk.next_id) is str and chunk.next_id not in ("", chunk.id)))
        and (chunk.vector is None or _is_vector(chunk.vector))
        and (chunk.origin is None or type(chunk.origin) is ChunkOrigin)
    )


def _valid_id(name: str, value: Any, issues: list[Issue]) -> str:
    """Return the value of the field `name`, which is an id, as text; empty if it is none."""
    text = to_id(value)
    if text is None and value is not None and type(value) is not str:
        issues.append(Issue(f"{name}s", f"{name} {safe_repr(value, _MAX_VALUE_CHARS)} is no name, left out"))
    return text or ""


def _valid_link(name: str, value: Any, chunk_id: str, issues: list[Issue]) -> str | None:
    linked = _valid_id(name, value, issues) or None
    if linked == chunk_id:
        issues.append(Issue("links", f"{name} is its own id, left out"))
        return None
    return linked


def _valid_text(value: Any, issues: list[Issue]) -> str:
    """Return the text as a plain string. A subclass of str gives its characters, not its own `__str__`."""
    if issubclass(type(value), str):
        return str.__str__(value)
    if issubclass(type(value), (bytes, bytearray)):
        issues.append(Issue("texts", "its text is bytes, read as UTF-8"))
        return bytes(value).decode("utf-8", "replace")
    issues.append(Issue("texts", f"text {safe_repr(value, _MAX_VALUE_CHARS)} is no string, left out"))
    return ""


def _valid_position(name: str, value: Any, issues: list[Issue]) -> int | None:
    """Return 7 for 7, "7" and 7.0; None for anything negative, fractional or not a number."""
    if value is None or (type(value) is int and 0 <= value <= MAX_POSITION):
        return value
    if not issubclass(type(value), bool):
        try:
            number = int(value)
            if 0 <= number <= MAX_POSITION and float(value) == number:
                return number
        except Exception:  # noqa: BLE001 - a class of somebody's own may raise anything
            number = None
        if name == "start" and number == -1:  # splitters say so if they don't find their text again: no oddity
            return None
    shown_value = safe_repr(value, _MAX_VALUE_CHARS)
    issues.append(Issue("places", f"{name} {shown_value} is not a whole number from 0, left out"))
    return None


def _is_vector(value: Any) -> bool:
    """Return True if the vector can be kept as it is. Its numbers are checked where vectors are compared."""
    if type(value) in (list, tuple):
        return {float, int, str, type(None)}.issuperset(map(type, value))
    return type(value) in (str, bytes) or (
        type(value).__module__ in _ARRAYS and getattr(getattr(value, "dtype", None), "kind", "f") != "O"
    )


def _valid_vector(value: Any) -> Any:
    """Return the vector as numbers; an empty one if that fails."""
    if value is None or _is_vector(value):
        return value
    try:
        return tuple(map(float, value)) if len(value) else ()
    except Exception:  # noqa: BLE001 - see above
        return ()


def sanitize_hit(hit: Hit, position: int) -> Hit:
    """Return `hit` as the stages read it, so that it can be written to a message or a cache, and read back."""
    chunk, _ = sanitize_chunk(hit.chunk, position)
    score, _ = sanitize_score(hit.score)
    return hit if chunk is hit.chunk and score is hit.score else Hit(chunk, score)


def sanitize_score(value: Any) -> tuple[float | None, list[Issue]]:
    """Return the score as a finite number, or None, and a note if the score was wrong."""
    if value is None or (type(value) is float and math.isfinite(value)):
        return value, []
    try:
        score = float(value)
    except OverflowError:
        return None, [Issue("scores", "score is too large for a float, left out")]
    except Exception:  # noqa: BLE001 - see above
        return None, [Issue("scores", f"score {safe_repr(value, _MAX_VALUE_CHARS)} is not a number, left out")]
    return (score, []) if math.isfinite(score) else (None, [Issue("scores", f"score {score} is not finite, left out")])
