"""Text made fit for one line, for an API, for a database or for XML. It knows nothing of what is ours."""

from __future__ import annotations

import re

_REPLACEMENT = "\ufffd"
_XML = re.compile(r"[&<>]")
_SURROGATES = re.compile(r"[\ud800-\udfff]+")
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]+")
"""What XML 1.0 has no character for, not even as an entity (production 2)."""
_NO_XML_BUT_HALVES = "".join(map(chr, (*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF)))
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def unfit(text: str, *, markup: bool) -> dict[int, tuple[int, str]]:
    """What can't stand in `text`, by where it begins: up to which character, and what stands there instead.

    That is halves of surrogate pairs; with `markup` also what begins a tag or an entity, and what XML can't have.
    """
    found: dict[int, tuple[int, str]] = {}
    wrong = _SURROGATES
    if markup:
        found = {at.start(): (at.end(), _ENTITIES[at[0]]) for at in _XML.finditer(text)}
        wrong = _NO_XML
    if not _is_sendable(text) or (markup and any(map(text.__contains__, _NO_XML_BUT_HALVES))):
        found |= {at.start(): (at.end(), _replaced(at)) for at in wrong.finditer(text)}
    return found


def one_line(text: str) -> str:
    """`text` on one line, its white space single blanks, fit to be sent."""
    return sendable(" ".join(text.split()))


def sendable(text: str) -> str:
    """`text` without halves of surrogate pairs."""
    return text if _is_sendable(text) else _SURROGATES.sub(_replaced, text)


def is_storable(name: str) -> bool:
    """Whether a database can hold `name` as text: UTF-8, without NUL."""
    return "\0" not in name and sendable(name) == name


def escaped(text: str) -> str:
    """`text` as XML has it: with its entities, and without what it can't have."""
    return _NO_XML.sub(_replaced, _XML.sub(lambda found: _ENTITIES[found[0]], text))


def _replaced(found: re.Match[str]) -> str:
    return _REPLACEMENT * len(found[0])


def _is_sendable(text: str) -> bool:
    """Whether no half of a surrogate pair is in it; encoding finds out faster than looking for one."""
    try:
        return text.isascii() or bool(text.encode("utf-16-le"))
    except UnicodeEncodeError:
        return False
