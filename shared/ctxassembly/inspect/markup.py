"""HTML that is safe by construction: a string that isn't `Html` is escaped when it is put in.

Texts, ids, metadata and queries come from anywhere. None can end an element or an attribute. Characters that a person
can't see are made visible, since the model reads them all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

# Unseen: C0 and C1 controls but tab and line feed; line separators; characters that turn the direction of text; those
# without width, and fillers; the invisible copy of ASCII and the variation selectors, in which instructions are hidden;
# halves of surrogate pairs; noncharacters. Joiners, marks of direction and the first 16 selectors stay as they are:
# scripts and emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e007f"
    "\xad\u034f\u115f\u1160\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0100-\U000e01ef]"
    "|[\ud800-\udfff]+"
)


class Html(str):
    """Markup, which is put in as it is."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: str | None) -> Html:
    """The element `name` around `children`. Attributes of None are left out; underscores become hyphens.

    >>> tag("b", "a < b", class_="cxa-key", title=None)
    '<b class="cxa-key">a &lt; b</b>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{safe(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{written}>{''.join(map(safe, children))}</{name}>")


def joined(*parts: str) -> Html:
    """`parts` one after the other, escaped where they aren't `Html`."""
    return Html("".join(map(safe, parts)))


def safe(text: str) -> str:
    """`text` escaped for an element or a quoted attribute."""
    return text if isinstance(text, Html) else escape(visible(text), quote=True)


def visible(text: str) -> str:
    """`text` with its unseen characters made visible; safe for a terminal, too.

    CR LF becomes a line feed, C0 controls become their pictures, surrogates U+FFFD, and others their number: ⟦U+202E⟧.
    """
    return _UNSEEN.sub(_shown, text.replace("\r\n", "\n"))


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0][0])
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd" * len(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟦U+{code:04X}⟧"


def marked(
    text: str, spans: Iterable[tuple[tuple[int, int], tuple[int, ...]]], begin: int = 0
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """`text` in parts, each with the numbers of the marks on it, none for plain text.

    It begins at offset `begin` of what `spans` count in. They may come in any order, and overlap.

    >>> list(marked("Drink water.", [((0, 11), (0,)), ((6, 12), (1,))]))
    [('Drink ', (0,)), ('water', (0, 1)), ('.', (1,))]
    """
    numbers: dict[tuple[int, int], tuple[int, ...]] = {}
    for (start, end), own in spans:
        first, last = max(start - begin, 0), min(end - begin, len(text))
        if first < last:
            numbers[first, last] = numbers.get((first, last), ()) + own
    waiting = sorted(numbers, reverse=True)
    standing: list[tuple[int, int]] = []
    at = 0
    for cut in sorted({len(text), *(edge for span in numbers for edge in span)}):
        if at < cut:
            yield text[at:cut], tuple(sorted({number for span in standing for number in numbers[span]}))
        at = cut
        while waiting and waiting[-1][0] == cut:
            standing.append(waiting.pop())
        standing = [span for span in standing if span[1] > cut]


def within(parts: Iterable[Html], room: int) -> list[Html]:
    """The first of `parts` that together have at most `room` bytes."""
    fitting = []
    for part in parts:
        room -= size(part)
        if room < 0:
            break
        fitting.append(part)
    return fitting


def size(markup: str) -> int:
    """Bytes of `markup` in UTF-8."""
    return len(markup.encode())


def shortened(text: object, limit: int) -> str:
    """`text`, cut to `limit` characters with an ellipsis at the end if it is longer."""
    whole = str(text)
    return whole if len(whole) <= limit else whole[: limit - 1] + "…"


def more(number: int, what: str) -> Html:
    """The line that says how many more there are; empty for 0."""
    return tag("p", f"and {number:,} more {what}", class_="cxa-more") if number > 0 else Html()
