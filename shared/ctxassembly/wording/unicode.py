"""Text made fit for one line, an API, a database or XML. Nothing here knows our labels and lines; `neutral` does."""

from __future__ import annotations

import re
from collections.abc import Mapping

_REPLACEMENT = "\ufffd"
_XML = re.compile(r"[&<>]")
_JSON_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""A NUL in JSON. Two backslashes are one of the text, so what is behind them is text, too."""
_SURROGATES = re.compile(r"[\ud800-\udfff]+")
"""Halves of surrogate pairs, which UTF-8 has no bytes for. JSON and PDF readers produce them."""
_INVALID_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]+")
"""Characters that XML 1.0 excludes, even as entities (production 2)."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def invalid_characters(text: str, *, is_markup: bool) -> dict[int, tuple[int, str]]:
    """Return replacements for the characters that `text` can't keep: start -> (end, replacement).

    They are halves of surrogate pairs; with `is_markup` also &, < and >, and the characters that XML excludes.
    """
    if not is_markup and _is_encodable(text):
        return {}
    wrong = (_INVALID_XML if is_markup else _SURROGATES).finditer(text)
    found = {match.start(): (match.end(), _replacement_for(match)) for match in wrong}
    if is_markup:
        found |= {match.start(): (match.end(), _ENTITIES[match[0]]) for match in _XML.finditer(text)}
    return found


def apply_replacements(text: str, changes: Mapping[int, tuple[int, str]]) -> str:
    """Return `text` with `changes`: start -> (end, replacement)."""
    done, parts = 0, []
    for start, (end, replacement) in sorted(changes.items()):
        parts += [text[done:start], replacement]
        done = end
    return "".join((*parts, text[done:]))


def one_line(text: str) -> str:
    r"""Return `text` on one line, with single blanks for white space, and fit to be sent.

    >>> one_line("Annual\n  report ")
    'Annual report'
    """
    return make_encodable(" ".join(text.split()))


def make_encodable(text: str) -> str:
    """Return `text` with U+FFFD for halves of surrogate pairs, which no API takes."""
    return text if _is_encodable(text) else _SURROGATES.sub(_replacement_for, text)


def is_storable(name: str) -> bool:
    """Return True if a database can hold `name` as text, which is UTF-8 without NUL."""
    return "\0" not in name and _is_encodable(name)


def is_storable_json(written: str) -> bool:
    r"""Return True if a database can hold `written`, which is JSON: also no string in it has a NUL.

    >>> import json
    >>> is_storable_json(json.dumps("a\0b")), is_storable_json(json.dumps(r"a\u0000b"))
    (False, True)
    """
    return _JSON_NUL.search(written) is None and is_storable(written)


def escape_xml(text: str) -> str:
    """Return `text` for XML: with entities, and with U+FFFD for the characters that XML excludes."""
    return _INVALID_XML.sub(_replacement_for, _XML.sub(lambda found: _ENTITIES[found[0]], text))


def _replacement_for(found: re.Match[str]) -> str:
    return _REPLACEMENT * len(found[0])


def _is_encodable(text: str) -> bool:
    """Return True if `text` has no half of a surrogate pair: encoding fails on one, faster than a search."""
    try:
        return text.isascii() or bool(text.encode("utf-16-le"))
    except UnicodeEncodeError:
        return False
