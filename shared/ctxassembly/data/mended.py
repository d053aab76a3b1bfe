"""Odd values -> values of the types that the stages rely on, and a note on each that was wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Chunk, Origin
from ctxassembly.data.metadata import readable
from ctxassembly.shown import as_name, shown

MOST_PLACE = 2**53
"""The largest index or offset: up to here each whole number is one of JSON, of a float and of a database."""
_VALUE_CHARS = 50
"""Of an odd value in a note."""
_ARRAYS = frozenset({"numpy", "array", "torch"})
"""Modules whose arrays hold numbers, which needn't be looked at one by one."""


class Oddity(NamedTuple):
    """What was wrong with a value, and what was done; of one kind there may be one in every chunk."""

    kind: str
    note: str


def mended_chunk(chunk: Chunk, place: int) -> tuple[Chunk, list[Oddity]]:
    """The chunk as the stages read it, and a note on each value that was wrong; `place` names one without an id.

    Then each of its values is of the type that it says, whatever came: strings are no subclasses of str.
    """
    given = chunk.metadata
    is_mapping = type(given) is dict or issubclass(type(given), Mapping)  # the first is faster
    metadata, unread = readable(given) if is_mapping else ({}, ())
    if (
        metadata is given
        and type(chunk.id) is str
        and chunk.id
        and type(chunk.document_id) is str
        and chunk.document_id
        and type(chunk.text) is str
        and (chunk.index is None or (type(chunk.index) is int and 0 <= chunk.index <= MOST_PLACE))
        and (chunk.start is None or (type(chunk.start) is int and 0 <= chunk.start <= MOST_PLACE))
        and (chunk.prev_id is None or (type(chunk.prev_id) is str and chunk.prev_id and chunk.prev_id != chunk.id))
        and (chunk.next_id is None or (type(chunk.next_id) is str and chunk.next_id and chunk.next_id != chunk.id))
        and (chunk.vector is None or _is_vector(chunk.vector))
        and (chunk.origin is None or type(chunk.origin) is Origin)
    ):
        return chunk, []
    odd: list[Oddity] = []
    index = _place("index", chunk.index, odd)
    document_id = _name("document id", chunk.document_id, odd)
    chunk_id = _name("id", chunk.id, odd)
    if not chunk_id:
        chunk_id = f"{document_id}#{index}" if document_id and index is not None else f"hit-{place}"
        odd.append(Oddity("missing ids", "no id, named by its place"))
    if not document_id:
        document_id = chunk_id
        odd.append(Oddity("missing document ids", "no document id, stands as a document of its own"))
        index = None
    if not is_mapping and given is not None:
        odd.append(Oddity("metadata", f"metadata {shown(given, _VALUE_CHARS)} are no mapping, left out"))
    odd += [Oddity("metadata", note) for note in unread]
    mended = Chunk(
        chunk_id,
        document_id,
        _text(chunk.text, odd),
        index,
        _place("start", chunk.start, odd),
        _link("prev_id", chunk.prev_id, chunk_id, odd),
        _link("next_id", chunk.next_id, chunk_id, odd),
        metadata,
        _vector(chunk.vector),
        chunk.origin if type(chunk.origin) is Origin else None,
        chunk.unread if type(chunk.unread) is frozenset else frozenset(),
        chunk.unnamed if type(chunk.unnamed) is frozenset else frozenset(),
    )
    return mended, odd


def _name(what: str, value: Any, odd: list[Oddity]) -> str:
    name = as_name(value)
    if name is None and value is not None and type(value) is not str:
        odd.append(Oddity(f"{what}s", f"{what} {shown(value, _VALUE_CHARS)} is no name, left out"))
    return name or ""


def _link(what: str, value: Any, chunk_id: str, odd: list[Oddity]) -> str | None:
    name = _name(what, value, odd) or None
    if name == chunk_id:
        odd.append(Oddity("links", f"{what} is its own id, left out"))
        return None
    return name


def _text(value: Any, odd: list[Oddity]) -> str:
    """The text itself: of a class derived from str what it holds, whatever it does with it."""
    if issubclass(type(value), str):
        return str.__str__(value)
    if issubclass(type(value), (bytes, bytearray)):
        odd.append(Oddity("texts", "its text is bytes, read as UTF-8"))
        return bytes(value).decode("utf-8", "replace")
    odd.append(Oddity("texts", f"text {shown(value, _VALUE_CHARS)} is no string, left out"))
    return ""


def _place(what: str, value: Any, odd: list[Oddity]) -> int | None:
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
        if what == "start" and number == -1:  # what splitters give that didn't find their text again
            return None
    shown_value = shown(value, _VALUE_CHARS)
    odd.append(Oddity("places", f"{what} {shown_value} is not a whole number from 0, left out"))
    return None


def _is_vector(value: Any) -> bool:
    """Whether it can be kept as it is; what it says is looked at where vectors are compared."""
    if type(value) in (list, tuple):
        return {float, int, str, type(None)}.issuperset(map(type, value))
    return type(value) in (str, bytes) or (
        type(value).__module__ in _ARRAYS and getattr(getattr(value, "dtype", None), "kind", "f") != "O"
    )


def _vector(value: Any) -> Any:
    """The vector as numbers; an empty one if it has others or no end."""
    if value is None or _is_vector(value):
        return value
    try:
        return tuple(map(float, value)) if len(value) else ()
    except Exception:  # noqa: BLE001 - see above
        return ()


def mended_score(value: Any) -> tuple[float | None, list[Oddity]]:
    """The score as a finite number, None if it is none, and a note on what was wrong with it."""
    if value is None or (type(value) is float and math.isfinite(value)):
        return value, []
    try:
        score = float(value)
    except OverflowError:
        return None, [Oddity("scores", "score is too large for a float, left out")]
    except Exception:  # noqa: BLE001 - see above
        return None, [Oddity("scores", f"score {shown(value, _VALUE_CHARS)} is not a number, left out")]
    return (score, []) if math.isfinite(score) else (None, [Oddity("scores", f"score {score} is not finite, left out")])
