"""Odd values -> values of the types that the stages rely on, and a note on each value that was wrong.

Chunks come from other libraries and from databases: an index is a string, an id is a UUID, a text is bytes, a score is
a numpy float. No such value may cost a user the context, so nothing here raises. An id, a document id, a text, an
index, an offset and metadata are converted where they can be read; whatever else is wrong is left out, and a note for
the trace says so.

Loaders put anything into metadata. A value that can't be pickled (a lock, a generator, an object of a local class) is
replaced by its text, so that a context can be copied, cached and sent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Chunk, ChunkOrigin, Hit
from ctxassembly.safe_repr import join_first, safe_repr, to_id

_IMMUTABLE_TYPES = frozenset({str, int, float, bool, type(None), bytes, complex})
_MAX_NOTED_KEYS, _MAX_KEY_CHARS = 3, 50
"""Keys that a note names, and characters of each."""
NO_COPY = "can't be copied, replaced by its text"
NO_READING = "can't be read, left out"
NO_TEXT = "the key is no text, read as its text"


class Placeholder(str):
    """The text of a value that can't be copied. Comparisons use the value behind it, `value`."""

    __slots__ = ("value",)
    value: object

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)  # the value behind it can't be pickled


def make_readable(metadata: Mapping[Any, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return metadata that can be used, and a note for each kind of issue with its keys.

    If no value is wrong, a dict itself is returned.

    >>> make_readable({"page": 3, 7: "seven"})
    ({'page': 3, '7': 'seven'}, ("metadata '7': the key is no text, read as its text",))
    """
    if type(metadata) is dict and all(type(key) is str for key in metadata) and _is_flat(metadata):
        return metadata, ()
    issues: dict[str, list[str]] = {}
    try:
        pairs = [*dict(metadata).items()]
    except Exception:  # noqa: BLE001 - a class of somebody's own may raise anything
        return {}, (f"metadata of {type(metadata).__name__}: {NO_READING}",)
    found: dict[str, Any] = {}
    # Keys that are text first: they have the better claim to their names.
    for key, value in sorted(pairs, key=lambda pair: type(pair[0]) is not str):
        name = key if type(key) is str else to_id(key) or safe_repr(key)
        copy = _copy_value(value)
        if type(key) is not str:
            issues.setdefault(NO_TEXT, []).append(safe_repr(name, _MAX_KEY_CHARS))
        if type(copy) is Placeholder:
            issues.setdefault(NO_COPY, []).append(safe_repr(name, _MAX_KEY_CHARS))
        found.setdefault(name, copy if type(copy) is Placeholder else value)
    notes = (f"metadata {join_first(names, _MAX_NOTED_KEYS)}: {issue}" for issue, names in issues.items())
    return found, tuple(notes)


def copy_metadata(metadata: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a copy of `metadata` that shares no mutable value with them. Odd values are replaced as above."""
    readable, _ = make_readable(metadata)
    return {key: _copy_value(value) for key, value in readable.items()}


def _is_flat(metadata: dict[Any, Any]) -> bool:
    return _IMMUTABLE_TYPES.issuperset(map(type, metadata.values()))


def _copy_value(value: Any) -> Any:
    """Return a copy of `value`, or a placeholder if there can't be one."""
    if type(value) in _IMMUTABLE_TYPES or type(value) is Placeholder:
        return value
    import pickle  # here, so that importing the engine stays light

    try:
        return pickle.loads(pickle.dumps(value))  # noqa: S301 - a copy of what is in memory anyway
    except Exception:  # noqa: BLE001 - see above
        placeholder = Placeholder(safe_repr(value))
        placeholder.value = value
        return placeholder


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
    # Types are asked for with type(), here and below: isinstance() reads `__class__`, which an odd class may fake.
    is_mapping = issubclass(type(given_metadata), Mapping)
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
    return Chunk(
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
    ), issues


def _is_valid(chunk: Chunk) -> bool:
    """Return True if all values but the metadata are valid, as of nearly all chunks."""
    return (
        type(chunk.id) is type(chunk.document_id) is type(chunk.text) is str
        and "" not in (chunk.id, chunk.document_id)
        and _is_position(chunk.index)
        and _is_position(chunk.start)
        and _is_link(chunk.prev_id, chunk.id)
        and _is_link(chunk.next_id, chunk.id)
        and _is_vector(chunk.vector)
        and (chunk.origin is None or type(chunk.origin) is ChunkOrigin)
    )


def _is_position(value: Any) -> bool:
    return value is None or (type(value) is int and 0 <= value <= MAX_POSITION)


def _is_link(value: Any, chunk_id: str) -> bool:
    return value is None or (type(value) is str and value not in ("", chunk_id))


def _is_vector(value: Any) -> bool:
    """Return True if the vector can be kept as it is. Its numbers are checked where vectors are compared."""
    if type(value) in (list, tuple):
        return {float, int, str, type(None)}.issuperset(map(type, value))
    return type(value) in (str, bytes, type(None)) or (
        type(value).__module__ in _ARRAYS and getattr(getattr(value, "dtype", None), "kind", "f") != "O"
    )


def _valid_vector(value: Any) -> Any:
    """Return the vector as numbers; an empty one if that fails."""
    if _is_vector(value):
        return value
    try:
        return tuple(map(float, value))
    except Exception:  # noqa: BLE001 - see above
        return ()


def _valid_id(name: str, value: Any, issues: list[Issue]) -> str:
    """Return the value of the field `name`, which is an id, as text; empty if it is none."""
    text = to_id(value)
    if text is None and value is not None and type(value) is not str:
        issues.append(Issue(f"{name}s", f"{name} {safe_repr(value, _MAX_VALUE_CHARS)} is no name, left out"))
    return text or ""


def _valid_link(name: str, value: Any, chunk_id: str, issues: list[Issue]) -> str | None:
    if _is_link(value, chunk_id):
        linked: str | None = value
        return linked
    if type(value) is not str or value:
        shown = safe_repr(value, _MAX_VALUE_CHARS)
        issues.append(Issue("links", f"{name} {shown} is no id of another chunk, left out"))
    return None


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
    if _is_position(value):
        given: int | None = value
        return given
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
