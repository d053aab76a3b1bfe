"""Odd values -> values of the types that the stages rely on, and a note on each value that was wrong.

Chunks come from other libraries and from databases: an index is a string, an id is a UUID, a text is bytes, a score is
a numpy float. No such value may cost a user the context, so nothing here raises. A value that can be read is converted;
the rest is left out, and a note for the trace says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Chunk, Origin
from ctxassembly.data.metadata import readable
from ctxassembly.shown import as_name, shown

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
