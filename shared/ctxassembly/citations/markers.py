"""The labels that a marker names, the same marker with other labels, and the text that is spoken without markers.

Here a marker is the text between its brackets: "1", "1, 2", "1-3", "SOURCE 2", "Bron 1; Bron 4".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain

from ctxassembly.wording.label_forms import BRACKETS, DASHES, MAX_DIGITS, marker_words

MAX_RANGE = 50
"""Most labels in one range: "[1914-1980]" is no citation, and a longer range would only fill memory."""

ANSWER_WORDS = ("citation", "cite", "ref", "reference", "document", "doc", "chunk", "passage")
"""Words that models put before a number in brackets, besides the words of our prompts: `[citation:1]`."""
_AND = "and|en|und|et|y|e|i|og|och|ve|и|और|&"
_AND_UNSPACED = "和|与|及|と|및|과|와|و"
_PLACES = (
    "pp?|pg|pages?|s|seiten?|blz|pag|pagina'?s?|págs?|páginas?|\u0441|стр|sect?|section|abs|art|article|artikel|artículo|ch|kap"
    "|chapter|kapitel|hfst|par|fig|figure|figuur|abb|tab|table|tabelle|tabel|rows?|lines?|ll?|zeile|regel|ligne|appendix|annex"
)
"""Words that say where in a source something is. Any other word does so only after a comma and before a number."""
_PAGES_AFTER = "[页頁쪽면]|ページ"

_ASCII = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {ord("、"): ","}
"""Wide digits and signs, as in Chinese and Japanese, are read as plain ones."""
_WORDS = (*marker_words(), *ANSWER_WORDS)
_BEFORE_NUMBER = rf"\^?(?:(?:{'|'.join(map(re.escape, _WORDS))})[ .:#]{{0,2}})?"
_NUMBER = rf"[0-9]{{1,{MAX_DIGITS}}}(?![0-9]| ?(?:{_PAGES_AFTER}))"
_DASH = f" ?[{DASHES}] ?"
_ITEM = rf"{_BEFORE_NUMBER}{_NUMBER}(?:{_DASH}{_BEFORE_NUMBER}{_NUMBER})?"
_BETWEEN = rf"(?: ?[,;]| (?=(?:{_AND}) )|(?= ?(?:{_AND_UNSPACED}))) ?(?:(?:{_AND}) |(?:{_AND_UNSPACED}) ?)?"
_ITEMS = re.compile(rf" ?{_ITEM}(?:{_BETWEEN}{_ITEM})*", re.IGNORECASE)
_PLACE = rf"(?:§|¶|第|(?:{_PLACES})(?![^\W\d_]))"
_LOCATOR = re.compile(
    rf"(?::[0-9]+)?†[^,;]*|(?: ?{_PLACE}"
    rf"| ?[,:;({DASHES}] ?(?:{_PLACE}|[^\W\d_]{{2,15}}\.? ?[0-9]|[0-9]{{1,6}} ?(?:{_PAGES_AFTER})))[^;]*| ?",
    re.IGNORECASE,
)
"""The place in a source, from what is between it and the label: `, p. 2`, ` § 4`, `†L10-L12`; or nothing."""
_PART = re.compile(rf"({_NUMBER})(?:({_DASH}{_BEFORE_NUMBER})({_NUMBER}))?", re.IGNORECASE)

_BEGINNINGS = "|".join(sorted({re.escape(word[:size]) for word in _WORDS for size in range(1, len(word))}))
MARKER = rf" ?{_BEFORE_NUMBER}[0-9\uff10-\uff19][^\n{''.join(map(re.escape, chain(*BRACKETS)))}]{{0,200}}"
"""A regular expression for what may be a marker."""
MARKER_BEGUN = rf"(?: ?(?:{_BEFORE_NUMBER}|\^?(?:{_BEGINNINGS}))|{MARKER})\Z"
"""A regular expression for what may become one."""


def labels_in(inner: str) -> tuple[str, ...]:
    """Return the labels that a marker names, in order, each once; none if `inner` is no marker.

    >>> labels_in("Bron 1; Bron 4-6"), labels_in("1, p. 2"), labels_in("1 and 3"), labels_in("see 1")
    (('1', '4', '5', '6'), ('1',), ('1', '3'), ())
    """
    found: dict[str, None] = {}
    for item in _items(inner):
        numbers = _numbers(item)
        if not 0 < len(numbers) <= MAX_RANGE:
            return ()
        found |= dict.fromkeys(map(str, numbers))
    return tuple(found)


def relabel(inner: str, new_label: Callable[[str], str]) -> str:
    """Return the marker with `new(label)` for each label, everything else as it was.

    A range whose new labels still follow each other stays a range; any other becomes a list.

    >>> relabel("1, 3-4, p. 4", {"1": "2", "3": "5", "4": "1"}.__getitem__)
    '2, 5, 1, p. 4'
    """
    parts, at = list[str](), 0
    for item in _items(inner):
        labels = [new_label(str(number)) for number in _numbers(item)]
        first, last = int(labels[0]), int(labels[-1])
        is_range = len(labels) > 1 and [int(label) for label in labels] == list(range(first, last + 1))
        parts += inner[at : item.start()], f"{first}{item[2]}{last}" if is_range else ", ".join(labels)
        at = item.end()
    return "".join((*parts, inner[at:]))


def _items(inner: str) -> list[re.Match[str]]:
    """Return the labels and ranges of a marker, without the numbers of places in the sources; none if it is none."""
    found, at, inner = list[re.Match[str]](), 0, inner.translate(_ASCII)
    while items := _ITEMS.match(inner, at):
        found += _PART.finditer(inner, *items.span())
        at = (_LOCATOR.match(inner, items.end()) or items).end()
        if at == len(inner):
            return found
        if inner[at] not in ",;":
            break
        at += 1
    return []


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
