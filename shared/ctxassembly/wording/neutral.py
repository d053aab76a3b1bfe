"""What a text may not hold as it is, because it could pass for ours, and what stands there instead.

What `guards` finds at the beginning of a line gets a backslash before it, whatever the format: who reads `[2]` in an
answer can't tell which format it came from. XML gets its entities as well. Half a surrogate pair, which no API can
send, becomes U+FFFD, and so does in XML every character that XML can't have.

A line begins wherever some reader of lines sees one, and what is invisible hides nothing: a text is looked at as it is,
and as it reads without what can't be seen.
"""

from __future__ import annotations

import re

from ctxassembly.wording.guards import Guard, guard_of, is_lead

REPLACEMENT = "\ufffd"

_BREAKS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""Where `str.splitlines` and others end a line, besides the newline."""
_XML = re.compile(r"[&<>]")
_SURROGATES = re.compile(r"[\ud800-\udfff]+")
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]+")
"""What XML 1.0 has no character for, not even as an entity (production 2)."""
_NO_XML_BUT_HALVES = "".join(map(chr, (*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF)))
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def replacements(
    text: str, form: str, *, at_line: bool = True, continued: bool = False, guard: Guard | None = None
) -> dict[int, tuple[int, str]]:
    """Where something of ours goes, by where it begins: up to which character it replaces the text, and what it is.

    One that replaces nothing ends where it begins and stands before the character there. `at_line` means that the text
    begins a line, `continued` that another text goes on in its last one. The guard is that of the format, if not given.
    """
    guard = guard or guard_of(form)
    lines = f"\n{text}" if at_line else text
    for each in _BREAKS:
        if each in text:
            lines = lines.replace(each, "\n")
    begins = guard.forms(lines)
    if continued:
        begins += guard.unfinished(lines)
    found = {at: (at, "\\") for at in (begin - at_line for begin in begins) if text[at - 1 : at] != "\\"}
    unfit = _SURROGATES
    if guard.markup:
        found |= {at.start(): (at.end(), _ENTITIES[at[0]]) for at in _XML.finditer(text)}
        unfit = _NO_XML
    if not _is_sendable(text) or (guard.markup and any(map(text.__contains__, _NO_XML_BUT_HALVES))):
        found |= {at.start(): (at.end(), REPLACEMENT * len(at[0])) for at in unfit.finditer(text)}
    return found


def neutralised(text: str, form: str, guard: Guard | None = None) -> str:
    """`text` with what belongs there instead. The guard is that of the format, if not given."""
    done, parts = 0, []
    for at, (end, instead) in sorted(replacements(text, form, guard=guard).items()):
        parts += [text[done:at], instead]
        done = end
    return "".join((*parts, text[done:]))


def goes_on(text: str, *, at_line: bool) -> bool:
    """Whether what follows `text` without a line break still begins a line; `at_line` says whether the text does."""
    last = text[text.rfind("\n") + 1 :].splitlines(keepends=True)[-1:] or [text[-1:]]
    if last[0] and last[0][-1] in f"\n{_BREAKS}":
        return True
    return (at_line or len(last[0]) < len(text)) and is_lead(last[0])


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
    return REPLACEMENT * len(found[0])


def _is_sendable(text: str) -> bool:
    """Whether no half of a surrogate pair is in it; encoding finds out faster than looking for one."""
    try:
        return text.isascii() or bool(text.encode("utf-16-le"))
    except UnicodeEncodeError:
        return False
