"""Odd values -> values of the types that the stages rely on, and a note on each value that was wrong.

Chunks come from other libraries and from databases: an index is a string, an id is a UUID, a text is bytes, a score is
a numpy float. No such value may cost a user the context, so nothing here raises. A value that can be read is converted;
the rest is left out, and a note for the trace says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Chunk, Origin
from ctxassembly.safe_repr import MOST_BITS, as_name, shown

# Metadata of any class -> metadata that can be read, copied, pickled and written: builtins, and objects that pickle.
#
# Loaders put anything into metadata. A value that can't be copied (a lock, a generator, an object of a local class) is
# replaced by its text. A value that refers to itself, or has no end, is cut. So no odd value costs a user the context.
#
# Nearly all metadata are flat dicts of builtins. `readable` tells these by one look at the types and hands them back as
# they are. Only the rest is read value by value.


CUT = "..."
"""Replaces a value that refers to itself, and the end of one that was cut."""
MOST_LEVELS = 50
"""Most levels of containers in containers. Writers of JSON take a few hundred."""
MOST_VALUES = 20_000
"""Most values of one chunk, counted as they would be written: few bytes can hold endless text, if one list stands in
many places."""
_NAMED, _KEY_CHARS = 3, 50
"""Keys that a note names, and characters of each."""

_FLAT = frozenset({str, float, bool, type(None)})
_UNCHANGING = frozenset({*_FLAT, bytes, complex})
_TEXT = frozenset({str})
_NESTED = frozenset({dict, list, tuple})
_HIGHEST = 1 << MOST_BITS
_MOST_LOOKED_AT = 5_000
"""Most values checked at once. An embedding may be among them."""

NO_COPY = "can't be copied, stands as text"
NO_READING = "can't be read, left out"
NO_TEXT = "the key is no text, read as its text"
TOO_LONG = "is a number too long to write, stands as its size"
CIRCULAR = "refers to itself, cut there"
TOO_DEEP = f"has more than {MOST_LEVELS} levels, cut there"
TOO_MANY = f"has more than {MOST_VALUES:,} values, cut there"


class StandIn(str):
    """The text of a value that can't be copied, or was cut. Comparisons use the value behind it, `stands_for`."""

    __slots__ = ("stands_for",)
    stands_for: object

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)  # the value behind it can't be pickled


def readable(metadata: Mapping[Any, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Metadata that can be used, and a note for each kind of oddity with its keys.

    If nothing is odd, `metadata` itself is handed back.

    >>> readable({"page": 3, 7: "seven"})
    ({'page': 3, '7': 'seven'}, ("metadata '7': the key is no text, read as its text",))
    """
    if type(metadata) is dict and (_is_flat(metadata) or _are_sound(metadata, MOST_LEVELS, [_MOST_LOOKED_AT])):
        return metadata, ()
    reading = _Reading(copying=False)
    found = reading.top(metadata)
    return found, tuple(
        f"metadata {', '.join(keys[:_NAMED])}{f' and {len(keys) - _NAMED:,} more' if len(keys) > _NAMED else ''}: {odd}"
        for odd, keys in reading.odd.items()
    )


def copied(metadata: Mapping[Any, Any]) -> dict[str, Any]:
    """A copy of `metadata` that shares no mutable value with them. Odd values are replaced as above."""
    flat = type(metadata) is dict and _is_flat(metadata)
    return dict(metadata) if flat else _Reading(copying=True).top(metadata)


def _is_flat(metadata: dict[Any, Any]) -> bool:
    """True if all keys are text and all values are plain: no containers, no long integers."""
    for key, value in [*metadata.items()]:  # a copy, since another thread may change them meanwhile
        kind = type(value)
        if type(key) is not str or not (kind in _FLAT or (kind is int and -_HIGHEST < value < _HIGHEST)):
            return False
    return True


def _are_sound(values: Any, levels: int, left: list[int]) -> bool:
    """True if a dict, list or tuple holds plain values alone, on any level. `left` counts the checks that are left."""
    left[0] -= len(values)
    if left[0] < 0 or not levels:
        return False
    if type(values) is dict:
        if not {*map(type, values)} <= _TEXT:
            return False
        values = list(values.values())
    for value in values:
        kind = type(value)
        if kind in _NESTED:
            if not _are_sound(value, levels - 1, left):
                return False
        elif not (kind in _FLAT or (kind is int and _is_short(value))):
            return False
    return True


def _is_short(number: int) -> bool:
    return -_HIGHEST < number < _HIGHEST


class _Reading:
    """Reads the metadata of one chunk, and notes what is odd by the key that it stands under."""

    def __init__(self, *, copying: bool) -> None:
        self._copying = copying
        self.odd: dict[str, list[str]] = {}
        self._key: str | None = None
        """The key that is being read; None for the metadata themselves."""
        self._whole = ""
        """The name of the metadata in a note without a key."""
        self._left = MOST_VALUES
        self._around: set[int] = set()
        """The ids of the containers around the value that is being read. It refers to itself if it is among them."""

    def top(self, metadata: Mapping[Any, Any]) -> dict[str, Any]:
        """A copy of the metadata themselves. Their keys have to be text."""
        self._around.add(id(metadata))
        self._whole = "of " + type(metadata).__name__
        found: dict[str, Any] = {}
        others: list[tuple[str, Any]] = []
        for key, value in self._pairs(metadata):
            if type(key) is str:
                self._key = key
                found[key] = self._taken(value)
            else:
                others.append((as_name(key) or shown(key), value))
        for name, value in others:  # last, since a key that is text has the better claim to its name
            self._key = name
            self._note(NO_TEXT)
            found.setdefault(name, self._taken(value))
        return found

    def _note(self, odd: str) -> None:
        keys = self.odd.setdefault(odd, [])
        name = self._whole if self._key is None else shown(self._key, _KEY_CHARS)
        if name not in keys[-1:]:
            keys.append(name)

    def _pairs(self, mapping: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
        """The entries of `mapping` that can be read. It may be of any class, and may change meanwhile."""
        if type(mapping) is dict:
            return list(mapping.items())
        pairs = []
        try:
            keys = list(islice(iter(mapping), MOST_VALUES + 1))
        except Exception:  # noqa: BLE001 - a class of somebody's own may raise anything
            keys = []
            self._note(NO_READING)
        if len(keys) > MOST_VALUES:
            self._note(TOO_MANY)
        # A note names the key of the metadata. For a key deeper down that is the one above it.
        above = self._key
        for key in keys[:MOST_VALUES]:
            try:
                pairs.append((key, mapping[key]))
            except Exception:  # noqa: BLE001 - see above
                self._key = above or as_name(key) or shown(key)
                self._note(NO_READING)
        self._key = above
        return pairs

    def _taken(self, value: Any) -> Any:
        kind = type(value)
        self._left -= 1
        if kind in _UNCHANGING or kind is StandIn:
            return str(value) if self._copying and kind is StandIn else value
        if kind is int:
            if _is_short(value):
                return value
            self._note(TOO_LONG)
            return _standing_in(shown(value), value)
        try:
            if kind in (list, tuple, set, frozenset) or issubclass(type(value), Mapping):
                return self._container(value)
            # A context is copied, cached and sent to other processes: what pickles takes all of that.
            copy = _pickled(value)
        except Exception:  # noqa: BLE001 - see above
            self._note(NO_COPY)
            return _standing_in(shown(value), value)
        return copy if self._copying else value

    def _container(self, value: Any) -> Any:
        kind = type(value)
        # Embeddings and lists of tags in one step: value by value they take far longer.
        if kind in (list, tuple) and len(value) <= self._left and _are_flat(value):
            self._left -= len(value)
            return kind(value)
        if id(value) in self._around:
            self._note(CIRCULAR)
            return _standing_in(CUT, value)
        if len(self._around) > MOST_LEVELS:
            self._note(TOO_DEEP)
            return _standing_in(CUT, value)
        self._around.add(id(value))
        try:
            if not issubclass(type(value), Mapping):
                # tuple() first: another thread may change a list meanwhile.
                return kind([self._taken(item) for item in tuple(value) if self._has_room()])
            return {_inner_key(key): self._taken(item) for key, item in self._pairs(value) if self._has_room()}
        finally:
            self._around.discard(id(value))

    def _has_room(self) -> bool:
        if self._left <= 0:
            self._note(TOO_MANY)
        return self._left > 0


def _standing_in(text: str, value: object) -> StandIn:
    made = StandIn(text)
    made.stands_for = value
    return made


def _pickled(value: Any) -> Any:
    import pickle  # here, so that importing the engine stays light

    return pickle.loads(pickle.dumps(value))  # noqa: S301 - a copy of what is in memory anyway


def _are_flat(values: Sequence[Any]) -> bool:
    kinds = set(map(type, values))
    # Of integers alone the smallest and the largest tell whether any is too long to write.
    return kinds <= _FLAT or (kinds == {int} and _is_short(min(values)) and _is_short(max(values)))


def _inner_key(key: Any) -> Any:
    return key if type(key) in _UNCHANGING or type(key) is int else as_name(key) or shown(key)


MOST_PLACE = 2**53
"""The largest index or offset. Up to here JSON, floats and databases hold every whole number exactly."""
_VALUE_CHARS = 50
"""Most characters of an odd value in a note."""
_ARRAYS = frozenset({"numpy", "array", "torch"})
"""Modules whose arrays hold numbers alone, so that nobody has to look at each value."""


class Oddity(NamedTuple):
    """A note on a value that was wrong, and on what became of it."""

    kind: str
    """Every chunk may have an oddity of the same kind; the notes of one kind are told together."""
    note: str


def mended_chunk(chunk: Chunk, place: int) -> tuple[Chunk, list[Oddity]]:
    """The chunk as the stages read it, and a note on each value that was wrong. A chunk without an id gets its `place`.

    Each value of the result has the type that `Chunk` declares. Strings are plain: a subclass of str could do anything.
    """
    given = chunk.metadata
    # Types are asked for with type(), here and below: isinstance() reads `__class__`, which an odd class may fake. A
    # dict is looked for first because that is fast.
    is_mapping = type(given) is dict or issubclass(type(given), Mapping)
    metadata, unread = readable(given) if is_mapping else ({}, ())
    if metadata is given and _is_sound(chunk):
        return chunk, []
    odd: list[Oddity] = []
    index = _whole_number("index", chunk.index, odd)
    document_id = _name("document id", chunk.document_id, odd)
    chunk_id = _name("id", chunk.id, odd)
    if not chunk_id:
        chunk_id = f"{document_id}#{index}" if document_id and index is not None else f"hit-{place}"
        odd.append(Oddity("missing ids", "no id, named by its place"))
    if not document_id:
        # Its index would place it among the chunks of a document that nobody knows.
        document_id, index = chunk_id, None
        odd.append(Oddity("missing document ids", "no document id, stands as a document of its own"))
    if not is_mapping and given is not None:
        odd.append(Oddity("metadata", f"metadata {shown(given, _VALUE_CHARS)} are no mapping, left out"))
    odd += [Oddity("metadata", note) for note in unread]
    mended = Chunk(
        chunk_id,
        document_id,
        _text(chunk.text, odd),
        index,
        _whole_number("start", chunk.start, odd),
        _link("prev_id", chunk.prev_id, chunk_id, odd),
        _link("next_id", chunk.next_id, chunk_id, odd),
        metadata,
        _vector(chunk.vector),
        chunk.origin if type(chunk.origin) is Origin else None,
        chunk.unread if type(chunk.unread) is frozenset else frozenset(),
        chunk.unnamed if type(chunk.unnamed) is frozenset else frozenset(),
    )
    return mended, odd


def _is_sound(chunk: Chunk) -> bool:
    """True if all values but the metadata are in order. Nearly all chunks are, so this is one expression, not calls."""
    return (
        type(chunk.id) is str
        and chunk.id != ""
        and type(chunk.document_id) is str
        and chunk.document_id != ""
        and type(chunk.text) is str
        and (chunk.index is None or (type(chunk.index) is int and 0 <= chunk.index <= MOST_PLACE))
        and (chunk.start is None or (type(chunk.start) is int and 0 <= chunk.start <= MOST_PLACE))
        and (chunk.prev_id is None or (type(chunk.prev_id) is str and chunk.prev_id not in ("", chunk.id)))
        and (chunk.next_id is None or (type(chunk.next_id) is str and chunk.next_id not in ("", chunk.id)))
        and (chunk.vector is None or _is_vector(chunk.vector))
        and (chunk.origin is None or type(chunk.origin) is Origin)
    )


def _name(name: str, value: Any, odd: list[Oddity]) -> str:
    """The value of the field `name`, which is an id, as text; empty if it is none."""
    text = as_name(value)
    if text is None and value is not None and type(value) is not str:
        odd.append(Oddity(f"{name}s", f"{name} {shown(value, _VALUE_CHARS)} is no name, left out"))
    return text or ""


def _link(name: str, value: Any, chunk_id: str, odd: list[Oddity]) -> str | None:
    linked = _name(name, value, odd) or None
    if linked == chunk_id:
        odd.append(Oddity("links", f"{name} is its own id, left out"))
        return None
    return linked


def _text(value: Any, odd: list[Oddity]) -> str:
    """The text as a plain string. A subclass of str gives the characters that it holds, not its own `__str__`."""
    if issubclass(type(value), str):
        return str.__str__(value)
    if issubclass(type(value), (bytes, bytearray)):
        odd.append(Oddity("texts", "its text is bytes, read as UTF-8"))
        return bytes(value).decode("utf-8", "replace")
    odd.append(Oddity("texts", f"text {shown(value, _VALUE_CHARS)} is no string, left out"))
    return ""


def _whole_number(name: str, value: Any, odd: list[Oddity]) -> int | None:
    """7, "7" and 7.0 are 7; anything negative, fractional or not a number is None."""
    if value is None or (type(value) is int and 0 <= value <= MOST_PLACE):
        return value
    if not issubclass(type(value), bool):
        try:
            number = int(value)
            if 0 <= number <= MOST_PLACE and float(value) == number:
                return number
        except Exception:  # noqa: BLE001 - a class of somebody's own may raise anything
            number = None
        if name == "start" and number == -1:  # splitters say so if they don't find their text again: no oddity
            return None
    shown_value = shown(value, _VALUE_CHARS)
    odd.append(Oddity("places", f"{name} {shown_value} is not a whole number from 0, left out"))
    return None


def _is_vector(value: Any) -> bool:
    """True if the vector can be kept as it is. Its numbers are checked where vectors are compared."""
    if type(value) in (list, tuple):
        return {float, int, str, type(None)}.issuperset(map(type, value))
    return type(value) in (str, bytes) or (
        type(value).__module__ in _ARRAYS and getattr(getattr(value, "dtype", None), "kind", "f") != "O"
    )


def _vector(value: Any) -> Any:
    """The vector as numbers; an empty one if that fails."""
    if value is None or _is_vector(value):
        return value
    try:
        return tuple(map(float, value)) if len(value) else ()
    except Exception:  # noqa: BLE001 - see above
        return ()


def mended_score(value: Any) -> tuple[float | None, list[Oddity]]:
    """The score as a finite number, or None, and a note if the score was wrong."""
    if value is None or (type(value) is float and math.isfinite(value)):
        return value, []
    try:
        score = float(value)
    except OverflowError:
        return None, [Oddity("scores", "score is too large for a float, left out")]
    except Exception:  # noqa: BLE001 - see above
        return None, [Oddity("scores", f"score {shown(value, _VALUE_CHARS)} is not a number, left out")]
    return (score, []) if math.isfinite(score) else (None, [Oddity("scores", f"score {score} is not finite, left out")])
