"""What a text may not hold as it is, because it could pass for ours, and what stands there instead.

A label, a tag, a separator, a marker or a summary form at the start of a line gets a backslash before it, whatever the
format: who reads `[2]` in an answer can't tell which format it came from. XML gets its entities, `grouped` a backslash
before a line that would be its header, and half a surrogate pair, which no API can send, becomes U+FFFD.
"""

from __future__ import annotations

import re

REPLACEMENT = "\ufffd"

# Each begins with one character, which is what a search can skip to; a run of dashes is tried from its first one only:
# from each of them, a long run would take quadratic time.
_OURS = re.compile(r"\[(?:\d+\]|Page context:|Pagina context:|\.\.\.\]|(?i:source)[^\S\n]*\d+\])")
_SEPARATOR = re.compile(r"-(?<!--)--+[^\S\n]*(?i:supp|aanv)")
_GROUP = re.compile(r"##(?=[^\S\n])")
_BEGUN = re.compile(r"(?:\[[^\]\n]{0,20}|--?|---+[^-\n][^\n]{0,40}|---+)\Z")
"""Begun on the last line of a text that the next one continues without a break, which may complete it."""
_GROUP_BEGUN = re.compile(r"##?\Z")

_LINE_ENDS = "\n\r\v\f\x85\u2028\u2029"
_XML = re.compile(r"[&<>]")
_SURROGATES = re.compile(r"[\ud800-\udfff]+")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def replacements(text: str, form: str, *, continued: bool = False) -> dict[int, tuple[int, str]]:
    """Where something of ours goes, by where it begins: up to which character it replaces the text, and what it is.

    One that replaces nothing ends where it begins and stands before the character there. `continued` means that
    another text follows without a break.
    """
    patterns = [_OURS] if "[" in text else []
    if "---" in text:
        patterns.append(_SEPARATOR)
    if form == "grouped":
        patterns.append(_GROUP)
    found = {
        at.start(): (at.start(), "\\")
        for pattern in patterns
        for at in pattern.finditer(text)
        if _begins_line(text, at.start())
    }
    if continued and (begun := _begun(text, form)) is not None:
        found[begun] = (begun, "\\")
    if form == "xml":
        found |= {at.start(): (at.end(), _ENTITIES[at[0]]) for at in _XML.finditer(text)}
    if not _encodable(text):
        found |= {at.start(): (at.end(), REPLACEMENT * len(at[0])) for at in _SURROGATES.finditer(text)}
    return found


def one_line(text: str) -> str:
    """`text` on one line, its white space single blanks, fit to be sent."""
    return sendable(" ".join(text.split()))


def sendable(text: str) -> str:
    """`text` without halves of surrogate pairs."""
    return text if _encodable(text) else _SURROGATES.sub(lambda found: REPLACEMENT * len(found[0]), text)


def escaped(text: str) -> str:
    """`text` with XML's entities."""
    return _XML.sub(lambda found: _ENTITIES[found[0]], text)


def _begun(text: str, form: str) -> int | None:
    """Where the last line of `text` begins, blanks apart, if it may be the beginning of something of ours."""
    last = max(text.rfind(end) for end in _LINE_ENDS) + 1
    while last < len(text) and text[last] in " \t":
        last += 1
    if _BEGUN.match(text, last) or (form == "grouped" and _GROUP_BEGUN.match(text, last)):
        return last
    return None


def _encodable(text: str) -> bool:
    """Whether no half of a surrogate pair is in it; encoding finds out faster than looking for one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _begins_line(text: str, at: int) -> bool:
    while at and text[at - 1] in " \t":
        at -= 1
    return not at or text[at - 1] in _LINE_ENDS
