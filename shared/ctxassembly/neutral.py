"""What a text may not hold as it is, because it could pass for ours, and what stands there instead.

What `guards` finds at the beginning of a line gets a backslash before it, whatever the format: who reads `[2]` in an
answer can't tell which format it came from. XML gets its entities as well. Half a surrogate pair, which no API can
send, becomes U+FFFD, and so does in XML every character that XML can't have.

A line begins wherever some reader of lines sees one, and what is invisible hides nothing: a text is looked at as it is,
and as it reads without what can't be seen.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from ctxassembly.guards import Guard, guard_of, is_lead

REPLACEMENT = "\ufffd"

_ORDINARY = bytes((*b"\t\n", *range(0x20, 0x7F)))
_BREAKS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""Where `str.splitlines` and others end a line, besides the newline."""
# Controls, formats (Cf) and what Unicode says is to be ignored where it can't be shown.
_UNSEEN = (
    "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160"
    "\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_FILLERS = "\u115f\u1160\u3164\uffa0"
"""Those of them that are letters, and would count as a word."""
_HIDDEN = re.compile(f"[{_UNSEEN}]+")
_MASKS = re.compile(f"[{_UNSEEN}{_BREAKS}]")
_XML = re.compile(r"[&<>]")
_SURROGATES = re.compile(r"[\ud800-\udfff]+")
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]+")
"""What XML 1.0 has no character for, not even as an entity (production 2)."""
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def replacements(
    text: str, form: str, *, at_line: bool = True, continued: bool = False, guard: Guard | None = None
) -> dict[int, tuple[int, str]]:
    """Where something of ours goes, by where it begins: up to which character it replaces the text, and what it is.

    One that replaces nothing ends where it begins and stands before the character there. `at_line` means that the text
    begins a line, `continued` that another text goes on in its last one. The guard is that of the format, if not given.
    """
    guard = guard or guard_of(form)
    rare = _rare(text)
    found: dict[int, tuple[int, str]] = {}
    for view, hidden in _views(text, rare) if rare else ((text, ()),):
        lines = f"\n{view}" if at_line else view
        forms = guard.forms(lines)
        if continued:
            forms += guard.unfinished(lines)
        for begin in forms:
            at = begin - at_line
            at += bisect_right(hidden, at)
            if text[at - 1 : at] != "\\":
                found[at] = (at, "\\")
    if guard.markup:
        found |= {at.start(): (at.end(), _ENTITIES[at[0]]) for at in _XML.finditer(text)}
    unfit = _NO_XML if guard.markup else _SURROGATES
    if rare and unfit.search(rare):
        found |= {at.start(): (at.end(), REPLACEMENT * len(at[0])) for at in unfit.finditer(text)}
    return found


def neutralised(text: str, form: str) -> str:
    """`text` with what belongs there instead."""
    done, parts = 0, []
    for at, (end, instead) in sorted(replacements(text, form).items()):
        parts += [text[done:at], instead]
        done = end
    return "".join((*parts, text[done:]))


def goes_on(text: str, *, at_line: bool) -> bool:
    """Whether what follows `text` without a line break still begins a line; `at_line` says whether the text does."""
    last = text.splitlines(keepends=True)[-1] if text else ""
    if last and last[-1] in f"\n{_BREAKS}":
        return True
    return (at_line or len(last) < len(text)) and (is_lead(last) or is_lead(_HIDDEN.sub("", last)))


def one_line(text: str) -> str:
    """`text` on one line, its white space single blanks, fit to be sent."""
    return sendable(" ".join(text.split()))


def sendable(text: str) -> str:
    """`text` without halves of surrogate pairs."""
    return text if text.isascii() else _SURROGATES.sub(_replaced, text)


def is_storable(name: str) -> bool:
    """Whether a database can hold `name` as text: UTF-8, without NUL."""
    return "\0" not in name and sendable(name) == name


def escaped(text: str) -> str:
    """`text` as XML has it: with its entities, and without what it can't have."""
    return _NO_XML.sub(_replaced, _XML.sub(lambda found: _ENTITIES[found[0]], text))


def _replaced(found: re.Match[str]) -> str:
    return REPLACEMENT * len(found[0])


def _rare(text: str) -> str:
    """The characters of `text` that are no ordinary ASCII: far faster than a look at each of them."""
    rare = text.encode("utf-8", "surrogatepass").translate(None, _ORDINARY)
    return rare.decode("utf-8", "surrogatepass") if rare else ""


def _views(text: str, rare: str) -> Sequence[tuple[str, Sequence[int]]]:
    """`text` as readers see it, each line after a newline, and the way back to its places.

    At a place of a view the text is ahead by as many characters as there are numbers up to that place.
    """
    if not _MASKS.search(rare):
        return [(text, ())]
    for each in _BREAKS:
        if each in rare:
            text = text.replace(each, "\n")
    if not _HIDDEN.search(rare):
        return [(text, ())]
    for each in _FILLERS:
        if each in rare:
            text = text.replace(each, "\0")
    hidden = [at for found in _HIDDEN.finditer(text) for at in range(*found.span())]
    return [(text, ()), (_HIDDEN.sub("", text), [at - n for n, at in enumerate(hidden)])]
