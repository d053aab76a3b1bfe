"""The labels that a marker names, the same marker with other labels, and the text that is spoken without markers.

Here a marker is the text between its brackets: "1", "1, 2", "1-3", "SOURCE 2", "Bron 1; Bron 4".
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ctxassembly.wording.label_forms import DASHES, MAX_DIGITS, marker_words

MAX_RANGE = 50
"""Most labels in one range: "[1914-1980]" is no citation, and a longer range would only fill memory."""

_WORD = rf"(?:(?:{'|'.join(map(re.escape, marker_words()))})[ :#]{{0,2}})?"
_NUMBER = rf"[0-9]{{1,{MAX_DIGITS}}}"
_DASH = f" ?[{DASHES}] ?"
_ITEM = rf"{_WORD}{_NUMBER}(?:{_DASH}{_WORD}{_NUMBER})?"
_ITEMS = re.compile(rf" ?{_ITEM}(?: ?[,;] ?{_ITEM})* ?", re.IGNORECASE)
_PART = re.compile(rf"({_NUMBER})(?:({_DASH}{_WORD})({_NUMBER}))?", re.IGNORECASE)

MARKER_CHARACTER = (
    f"[0-9 ,;:#{DASHES}{''.join(sorted({letter for word in marker_words() for letter in word + word.upper()}))}]"
)
"""A regular expression for a character between the brackets of a marker."""


def labels_in(inner: str) -> tuple[str, ...]:
    """Return the labels that a marker names, in order, each once; none if `inner` is no marker.

    >>> labels_in("Bron 1; Bron 4-6"), labels_in("see 1")
    (('1', '4', '5', '6'), ())
    """
    if not _ITEMS.fullmatch(inner):
        return ()
    found: dict[str, None] = {}
    for item in _PART.finditer(inner):
        numbers = _numbers(item)
        if not 0 < len(numbers) <= MAX_RANGE:
            return ()
        found |= dict.fromkeys(map(str, numbers))
    return tuple(found)


def relabel(inner: str, new_label: Callable[[str], str]) -> str:
    """Return the marker with `new(label)` for each label, everything else as it was.

    A range whose new labels still follow each other stays a range; any other becomes a list.

    >>> relabel("1, 3-4", {"1": "2", "3": "5", "4": "1"}.__getitem__)
    '2, 5, 1'
    """

    def rewrite(item: re.Match[str]) -> str:
        labels = [new_label(str(number)) for number in _numbers(item)]
        first, last = int(labels[0]), int(labels[-1])
        if len(labels) > 1 and [int(label) for label in labels] == list(range(first, last + 1)):
            return f"{first}{item[2]}{last}"
        return ", ".join(labels)

    return _PART.sub(rewrite, inner)


def _numbers(item: re.Match[str]) -> range:
    first = int(item[1])
    return range(first, int(item[3] or first) + 1)


BLANKS = " \t\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}"


class SpokenText:
    """Joins the text around markers; the text arrives in pieces of any size.

    Blanks before a marker go with it. So do a comma or semicolon between two markers, and whatever parts a marker at
    the beginning of a line from its text. A blank that parts two words stays.

    >>> spoken, said = SpokenText(), []
    >>> for text in ("Drink water ", None, ", ", None, " and rest ", None, "."):
    ...     said += spoken.feed(text) if text else spoken.skip_marker() or []
    >>> "".join(said + spoken.close())
    'Drink water and rest.'
    """

    def __init__(self) -> None:
        self._pending: list[str] = []
        """Blanks, and a comma after a marker: the next character decides whether they are said."""
        self._is_after_marker = self._has_comma = self._has_gap = False
        self._begins_line = True

    def feed(self, text: str) -> list[str]:
        """Return the text that is settled once `text` has come."""
        while text:
            if self._is_after_marker and not self._has_comma and text[0] in ",;":
                self._has_comma = True
                self._pending.append(text[0])
                text = text[1:]
            elif text[0] in BLANKS:
                body = text.lstrip(BLANKS)
                self._pending.append(text[: len(text) - len(body)])
                text = body
            else:
                return self._flush(text)
        return []

    def skip_marker(self) -> None:
        """Leave out a marker at this place."""
        self._has_gap = self._has_gap or bool(self._pending)
        self._pending.clear()
        self._is_after_marker, self._has_comma = True, False

    def close(self) -> list[str]:
        """Return the text still pending at the end of the answer."""
        pending, self._pending = self._pending, []
        return pending

    def _flush(self, text: str) -> list[str]:
        """Keep or drop the pending blanks based on `text`, which begins with none; its last blanks become pending."""
        spoken = self._pending
        if self._is_after_marker and self._begins_line:
            spoken = []
        elif self._has_gap and not spoken and text[0].isalnum():
            spoken = [" "]
        kept = text.rstrip(BLANKS)
        self._pending = [text[len(kept) :]] if len(kept) < len(text) else []
        self._is_after_marker = self._has_comma = self._has_gap = False
        self._begins_line = kept.endswith("\n")
        return [*spoken, kept]
