"""HTML that is safe by construction: whatever isn't `Html` already is escaped where it is put in.

Texts, ids, metadata and queries come from anywhere. They can't end an element or an attribute, and what a reader
can't see in them is made visible: it is read by the model all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

# C0 and C1 controls but tab and line feed, line separators, what turns the direction of text around, what has no width
# or only fills, the invisible copy of ASCII and the variation selectors that hide instructions, halves of surrogate
# pairs and noncharacters. The joiners, the marks of direction and the first 16 selectors stay: scripts and emoji need
# them to look as they should.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e007f"
    "\xad\u034f\u115f\u1160\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0100-\U000e01ef]"
    "|[\ud800-\udfff]+"
)


class Html(str):
    """Markup: put in as it is."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: str | None) -> Html:
    """The element `name` around `children`. Attributes of None are left out; `aria_label` gets its hyphen."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{safe(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{written}>{''.join(map(safe, children))}</{name}>")


def joined(*parts: str) -> Html:
    """`parts` one after the other."""
    return Html("".join(map(safe, parts)))


def safe(text: str) -> str:
    """`text` as it may stand in an element or a quoted attribute."""
    return text if isinstance(text, Html) else escape(visible(text), quote=True)


def visible(text: str) -> str:
    """`text` with everything that controls instead of being read shown by its name: also fit for a terminal.

    CR LF is one line feed. C0 controls have pictures of their own, surrogates become U+FFFD, others stand as ⟦U+202E⟧.
    """
    return _UNSEEN.sub(_shown, text.replace("\r\n", "\n"))


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0][0])
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd" * len(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟦U+{code:04X}⟧"


def within(parts: Iterable[Html], room: int) -> list[Html]:
    """The first of `parts`, as many as have at most `room` bytes together."""
    fitting = []
    for part in parts:
        room -= size(part)
        if room < 0:
            break
        fitting.append(part)
    return fitting


def size(markup: str) -> int:
    """The bytes of `markup` in a file."""
    return len(markup.encode())


def shortened(text: object, limit: int) -> str:
    """`text`, or as much of it as `limit` characters hold, with an ellipsis at its end."""
    whole = str(text)
    return whole if len(whole) <= limit else whole[: limit - 1] + "…"


def more(number: int, what: str) -> Html:
    """The line that stands for `number` things that are not shown; nothing if there are none."""
    return tag("p", f"and {number:,} more {what}", class_="cxa-more") if number > 0 else Html()
