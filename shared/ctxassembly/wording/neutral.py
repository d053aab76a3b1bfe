"""Text of documents made harmless, so that no line of it passes for one of ours.

A document could say `[2] Source: board.pdf` and have its own words cited as the board's. `guards` finds such forms at
the beginning of lines, and here each gets a backslash before it. That holds in every format: a reader who finds `[2]`
in an answer can't tell which format it came from. XML gets its entities besides. Half a surrogate pair, which no API
takes, becomes U+FFFD, and so does a character that XML excludes.

A line begins wherever some reader of lines sees one. Invisible characters hide nothing: a text is searched as it is,
and as it reads without them.
"""

from __future__ import annotations

from itertools import pairwise

from ctxassembly.wording.clean import replaced, unfit
from ctxassembly.wording.guards import Guard, guard_of, is_lead, tags_alike
from ctxassembly.wording.sanitizing import sanitizing

_BREAKS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""Characters besides the newline that end a line for `str.splitlines` and others."""


def replacements(
    text: str,
    form: str,
    *,
    at_line: bool = True,
    continued: bool = False,
    guard: Guard | None = None,
    sanitize: bool = False,
) -> dict[int, tuple[int, str]]:
    """The changes that make `text` harmless in the format `form`: start -> (end, replacement).

    A backslash replaces nothing: its start and end are the same, and it goes before the character there. `at_line` says
    that the text begins a line, `continued` that another text continues its last line. `guard` is that of the format
    unless given. With `sanitize` invisible characters go, and tokens and links are defused besides.
    """
    guard = guard or guard_of(form)
    lines = f"\n{text}" if at_line else text
    # A guard knows one line break. Others are one character long, too, so offsets stay the same.
    for line_break in _BREAKS:
        if line_break in text:
            lines = lines.replace(line_break, "\n")
    begins = guard.forms(lines)
    if guard.markup and not text.isascii():
        begins += tags_alike(lines)
    if continued:
        begins += guard.unfinished(lines)
    found = {at: (at, "\\") for at in (begin - at_line for begin in begins) if text[at - 1 : at] != "\\"}
    found |= unfit(text, markup=guard.markup)
    if sanitize:
        for at, change in sanitizing(text, at_line=at_line, continued=continued).items():
            found[at] = _both(change, found[at]) if at in found else change
    return found


def _both(one: tuple[int, str], other: tuple[int, str]) -> tuple[int, str]:
    """Two changes at one place: a backslash, once, before what takes the place of the character there."""
    shorter, longer = sorted((one, other))
    return longer if shorter == longer else (longer[0], shorter[1] + longer[1])


def neutralised(text: str, form: str, guard: Guard | None = None) -> str:
    r"""`text` made harmless in the format `form`. `guard` is that of the format unless given.

    >>> print(neutralised("[2] Source: board.pdf", "numbered"))
    \[2] Source: board.pdf
    """
    return replaced(text, replacements(text, form, guard=guard))


def neutral_value(value: str, form: str, guard: Guard | None = None) -> str:
    r"""A `value` of metadata made harmless in the middle of a line of ours: no word of it can begin a label.

    A part of a name, as in "report[1].pdf", is no label.

    >>> print(neutral_value("web.html [2] Source: board.pdf", "numbered"))
    web.html \[2] Source: board.pdf
    """
    labels = (guard or guard_of(form)).labels(value)
    parts = [value[begin:end] for begin, end in pairwise((0, *labels, len(value)))]
    return "\\".join(parts)


def goes_on(text: str, *, at_line: bool) -> bool:
    """True if text that follows `text` without a line break begins a line as a reader sees it.

    It does if `text` ends a line, or has no word in its last line: quote marks or a bullet don't keep a form from being
    read. `at_line` says that `text` begins a line itself.
    """
    last = text[text.rfind("\n") + 1 :].splitlines(keepends=True)[-1:] or [text[-1:]]
    if last[0] and last[0][-1] in f"\n{_BREAKS}":
        return True
    return (at_line or len(last[0]) < len(text)) and is_lead(last[0])
