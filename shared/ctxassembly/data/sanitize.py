"""Odd values -> values of the types that the stages rely on, and a note on each value that was wrong.

Chunks come from other libraries and from databases: an index is a string, an id is a UUID, a text is bytes, a score is
a numpy float. No such value may cost a user the context, so nothing here raises. An id, a document id, a text, an
index, an offset and a score are converted where they can be read; whatever else is wrong is left out, and a note for
the trace says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Chunk, Hit
from ctxassembly.safe_repr import safe_repr, to_id

MAX_POSITION = 2**53
"""The largest index or offset. Up to here JSON, floats and databases hold every whole number exactly."""
_MAX_VALUE_CHARS = 50
"""Most characters of an odd value in a note."""
_TEXT = frozenset({str})
_LINK_TYPES = frozenset({str, type(None)})


class Issue(NamedTuple):
    """A note on a value that was wrong, and on what became of it."""

    kind: str
    """Every chunk may have an issue of the same kind; notes of one kind are reported together."""
    note: str


def copy_metadata(metadata: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a copy of `metadata` and of its values, but for those that can't be copied, such as a lock."""
    return {key: _copy(value) for key, value in metadata.items()}


def _copy(value: Any) -> Any:
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001 - a class of somebody's own may raise anything
        return value


def sanitize_chunk(chunk: Chunk, position: int) -> tuple[Chunk, list[Issue]]:
    """Return the chunk as the stages read it, and a note on each wrong value; `position` replaces a missing id.

    Each value that the stages read has the type that `Chunk` declares. Strings are plain: a subclass of str could do
    anything.
    """
    index, start, links = chunk.index, chunk.start, (chunk.prev_id, chunk.next_id)
    if (  # nearly all chunks can stay as they are
        type(chunk.id) is type(chunk.document_id) is type(chunk.text) is str
        and (index is None or (type(index) is int and 0 <= index <= MAX_POSITION))
        and (start is None or (type(start) is int and 0 <= start <= MAX_POSITION))
        and _LINK_TYPES.issuperset(map(type, links))
        and not {"", chunk.id}.intersection(links)
        and chunk.id
        and chunk.document_id
        and type(chunk.metadata) is dict
        and _TEXT.issuperset(map(type, chunk.metadata))
    ):
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
    values: dict[str, Any] = {
        "id": chunk_id,
        "document_id": document_id,
        "text": _valid_text(chunk.text, issues),
        "index": index,
        "start": _valid_position("start", chunk.start, issues),
        "prev_id": _valid_link("prev_id", chunk.prev_id, chunk_id, issues),
        "next_id": _valid_link("next_id", chunk.next_id, chunk_id, issues),
        "metadata": _valid_metadata(chunk.metadata, issues),
    }
    changed = {name: value for name, value in values.items() if value is not getattr(chunk, name)}
    return replace(chunk, **changed) if changed else chunk, issues


# Types are asked for with type(): isinstance() reads `__class__`, which an odd class may fake.


def _valid_id(name: str, value: Any, issues: list[Issue]) -> str:
    """Return the value of the field `name`, which is an id, as text; empty if it is none."""
    if type(value) is str:
        return value
    text = to_id(value)
    if text is None and value is not None:
        issues.append(Issue(f"{name}s", f"{name} {safe_repr(value, _MAX_VALUE_CHARS)} is no name, left out"))
    return text or ""


def _valid_link(name: str, value: Any, chunk_id: str, issues: list[Issue]) -> str | None:
    if type(value) is str and value not in ("", chunk_id):
        return value
    if value is not None and not (type(value) is str and not value):
        shown = safe_repr(value, _MAX_VALUE_CHARS)
        issues.append(Issue("links", f"{name} {shown} is no id of another chunk, left out"))
    return None


def _valid_text(value: Any, issues: list[Issue]) -> str:
    """Return the text as a plain string. A subclass of str gives its characters, not its own `__str__`."""
    if type(value) is str:
        return value
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
        given: int | None = value
        return given
    number = None
    with suppress(Exception):  # a class of somebody's own may raise anything
        number = int(value)
        if type(value) is not bool and 0 <= number <= MAX_POSITION and float(value) == number:
            return number
    if not (name == "start" and number == -1):  # splitters say so if they don't find their text again: no oddity
        shown = safe_repr(value, _MAX_VALUE_CHARS)
        issues.append(Issue("places", f"{name} {shown} is not a whole number from 0, left out"))
    return None


def _valid_metadata(value: Any, issues: list[Issue]) -> Mapping[str, Any]:
    if type(value) is dict and all(type(key) is str for key in value):
        return value
    try:
        pairs = {} if value is None else dict(value)
    except Exception:  # noqa: BLE001 - as above
        shown = safe_repr(value, _MAX_VALUE_CHARS)
        issues.append(Issue("metadata", f"metadata {shown} is no mapping that can be read, left out"))
        return {}
    if any(type(key) is not str for key in pairs):
        issues.append(Issue("metadata", "metadata keys that are no text are read as their text"))
    return {key if type(key) is str else to_id(key) or safe_repr(key): inner for key, inner in pairs.items()}


def sanitize_hit(hit: Hit, position: int) -> Hit:
    """Return `hit` as the stages read it, so that it can be written to a message or a cache, and read back."""
    return Hit(sanitize_chunk(hit.chunk, position)[0], sanitize_score(hit.score)[0])


def sanitize_score(value: Any) -> tuple[float | None, list[Issue]]:
    """Return the score as a finite number, or None, and a note if the score was wrong."""
    if value is None or (type(value) is float and math.isfinite(value)):
        return value, []
    try:
        score = float(value)
    except Exception:  # noqa: BLE001 - as above
        score = math.nan
    if math.isfinite(score):
        return score, []
    return None, [Issue("scores", f"score {safe_repr(value, _MAX_VALUE_CHARS)} is no finite number, left out")]
