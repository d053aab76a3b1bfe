"""What a text may not hold as it is, because it could pass for ours, and what stands there instead.

What `guards` finds at the beginning of a line gets a backslash before it, whatever the format: who reads `[2]` in an
answer can't tell which format it came from. XML gets its entities as well. Half a surrogate pair, which no API can
send, becomes U+FFFD, and so does in XML every character that XML can't have.

A line begins wherever some reader of lines sees one, and what is invisible hides nothing: a text is looked at as it is,
and as it reads without what can't be seen.
"""

from __future__ import annotations

from ctxassembly.wording.clean import unfit
from ctxassembly.wording.guards import Guard, guard_of, is_lead

_BREAKS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""Where `str.splitlines` and others end a line, besides the newline."""


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
    return found | unfit(text, markup=guard.markup)


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
