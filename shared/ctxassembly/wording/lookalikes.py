"""Look-alikes: what a reader takes for an ASCII letter, digit, bracket or dash, and lines folded to what they show.

Unicode's compatibility forms (fullwidth, mathematical, circled, subscript) and marks on letters come from Python's own
`unicodedata`, and so do digits, dashes and brackets of all kinds. Only letters of other scripts, letters with strokes
and a few signs need a table, `lookalikes.txt`. Packages with the whole list of Unicode's confusables, such as
confusable-homoglyphs 3.3.1 (900 KB of JSON, 0.1 s to load), have far more than our words need.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from unicodedata import category, name, normalize, numeric

ENCLOSED = "⦅⦆"
"""What a fold has around a number that is one character (⑵, ❷, ⒉, ₂, ²): it is one in brackets, and one of a list."""
FILLERS = "\u115f\u1160\u3164\uffa0"
"""The invisible characters that count as letters. They make no word."""
LETTER_SIGN = re.compile("[\u2100-\u214f\u249c-\u24e9\u3200-\u33ff\U0001f110-\U0001f2ff]")
"""Signs that look like letters, such as Ⓢ and №, and some letters and numbers."""
_KEYCAP = re.compile("[0-9]\ufe0f?[\u20dd-\u20e3]")
_CIRCLED = "⓪①②③④⑤⑥⑦⑧⑨"
_MAX_CACHED = 20_000


@cache
def _table() -> dict[str, str]:
    """Return the ASCII letter or sign of each character of `lookalikes.txt`."""
    from importlib.resources import files  # here, since only text beyond ASCII needs the table

    lines = files("ctxassembly.wording").joinpath("lookalikes.txt").read_text("utf-8").splitlines()
    rows = [line.split(" ") for line in lines if not line.startswith("# ")]
    return {chr(int(code, 16)): sign for sign, *codes in rows for code in codes}


class Fold(dict[int, str]):
    """Code point -> what a view of a line has for it, filled as characters are met. `str.translate` reads it."""

    def __init__(self, of_character: Callable[[str], str]) -> None:
        super().__init__()
        self._of_character = of_character

    def __missing__(self, code: int) -> str:
        found = self._of_character(chr(code))
        if len(self) < _MAX_CACHED:
            self[code] = found
        return found

    def offsets(self, line: str) -> list[int]:
        """Return for each character of the view of `line` the offset in `line` of its origin."""
        return [at for at, character in enumerate(line) for _ in self[ord(character)]]


def _as_written(character: str) -> str:
    return "\0" if character in FILLERS else character.lower()


def _as_read(character: str) -> str:
    """Return what `_as_it_looks` does for a letter, a digit or a bracket, else the character if it can be seen."""
    look = _as_it_looks(character)
    return look if not look or character.isalnum() or category(character) in ("Ps", "Pe") else character


def _as_it_looks(character: str) -> str:
    """Return the ASCII that `character` looks like, in small letters, else the character; nothing if it can't be seen.

    Numbers of one character that are no digits are marked as enclosed.
    """
    kind = category(character)
    is_ignored = kind in ("Cc", "Cf", "Cn") and (not character.isspace() or character == "\x1f")
    if is_ignored or kind in ("Mn", "Me") or character in FILLERS:
        return ""
    if character.isascii():
        return character.lower()
    if known := _table().get(character) or _table().get(character.casefold()):
        return known
    plain = normalize("NFKD", character)
    if kind in ("Nd", "No") and 0 <= (value := numeric(character, -1)) == int(value):
        return str(int(value)) if kind == "Nd" else str(int(value)).join(ENCLOSED)
    if plain != character:
        letters = "".join(filter(str.isalnum, plain))  # without the brackets of ⒮
        return "".join(LOOK[ord(each)] for each in (kind == "So" and letters) or plain)
    if kind == "Pd":
        return "-"
    return _bracket(character) if kind in ("Ps", "Pe") else character.casefold()


def _bracket(character: str) -> str:
    character_name, at = name(character, ""), category(character) == "Pe"
    if "QUOTATION" in character_name:
        return character
    kinds = (("PARENTHES", "()"), ("CURLY", "{}"), ("ANGLE", "<>"), ("", "[]"))
    return next(pair[at] for kind, pair in kinds if kind in character_name)


WRITTEN, READ, LOOK = Fold(_as_written), Fold(_as_read), Fold(_as_it_looks)
"""A line as it is written; in our letters and without what can't be seen; and with letters for signs, too (Ⓢ, №)."""
PARTED = Fold(lambda character: _as_read(character) or "\0")
"""A line in our letters, with a sign for what can't be seen."""


def fold_lookalikes(line: str) -> str:
    r"""Return `line` as it looks: ASCII in lower case for look-alikes, and neither marks nor invisible characters.

    >>> fold_lookalikes("[\N{FULLWIDTH DIGIT TWO}] S\N{CYRILLIC SMALL LETTER O}urce")
    '[2] source'
    """
    return join_keycaps(line).translate(LOOK)


def join_keycaps(line: str) -> str:
    """Return `line`, as long as it is, with one enclosed number for a digit and the mark that encloses it."""
    return _KEYCAP.sub(lambda found: _CIRCLED[int(found[0][0])].ljust(len(found[0]), "\ufe0f"), line)


ANGLES = re.compile(
    "[\u02c2\u1438\u16b2\u2039\u2329\u276c\u276e\u2770\u27e8\u27ea\u2991\u29fc\u3008\u300a\ufe3d\ufe3f\ufe64\uff1c"
    "\U0001d236]"
)
"""The look-alikes of <."""
