"""Look-alikes: what a reader takes for an ASCII letter, digit, bracket or dash, and lines folded to what they show.

Unicode's compatibility forms (fullwidth, mathematical, circled, subscript) and marks on letters come from Python's own
`unicodedata`, and so do digits, dashes and brackets of all kinds. Only letters of other scripts, letters with strokes
and a few signs need a table, `lookalikes.txt`. Packages with the whole list of Unicode's confusables, such as
confusable-homoglyphs 3.3.1 (900 KB of JSON, 0.1 s to load), have far more than our words need.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from unicodedata import category, name, normalize, numeric

_FILLERS = "\u115f\u1160\u3164\uffa0"
"""The invisible characters that count as letters."""
_MAX_CACHED = 20_000


@cache
def _table() -> dict[str, str]:
    """Return the ASCII letter or sign of each character of `lookalikes.txt`."""
    lines = Path(__file__).with_name("lookalikes.txt").read_text("utf-8").splitlines()
    rows = [line.split(" ") for line in lines if not line.startswith("# ")]
    return {chr(int(code, 16)): sign for sign, *codes in rows for code in codes}


def fold_lookalikes(line: str) -> str:
    r"""Return `line` as it looks: ASCII in lower case for look-alikes, and neither marks nor invisible characters.

    >>> fold_lookalikes("[\N{FULLWIDTH DIGIT TWO}] S\N{CYRILLIC SMALL LETTER O}urce")
    '[2] source'
    """
    return line.lower() if line.isascii() and line.isprintable() else "".join(map(_look, line))


def fold_offsets(line: str) -> Sequence[int]:
    """Return for each character of `line`, once it is folded, the offset in `line` of its origin."""
    if line.isascii() and line.isprintable():
        return range(len(line))
    return [at for at, character in enumerate(line) for _ in _look(character)]


@lru_cache(_MAX_CACHED)
def _look(character: str) -> str:
    """Return the ASCII that `character` looks like, in small letters, else the character; nothing if it can't be seen.

    A number that is one character (②, ²) is its digits.
    """
    kind = category(character)
    is_ignored = kind in ("Cc", "Cf", "Cn") and (not character.isspace() or character == "\x1f")
    if is_ignored or kind in ("Mn", "Me") or character in _FILLERS:
        return ""
    if character.isascii():
        return character.lower()
    if known := _table().get(character) or _table().get(character.casefold()):
        return known
    if kind in ("Nd", "No") and 0 <= (value := numeric(character, -1)) == int(value):
        return str(int(value))
    plain = normalize("NFKD", character)
    if plain != character:
        letters = "".join(filter(str.isalnum, plain))  # without the brackets of ⒮
        return "".join(_look(each) for each in (kind == "So" and letters) or plain)
    if kind == "Pd":
        return "-"
    return _bracket(character) if kind in ("Ps", "Pe") else character.casefold()


def _bracket(character: str) -> str:
    character_name, at = name(character, ""), category(character) == "Pe"
    if "QUOTATION" in character_name:
        return character
    kinds = (("PARENTHES", "()"), ("CURLY", "{}"), ("ANGLE", "<>"), ("", "[]"))
    return next(pair[at] for kind, pair in kinds if kind in character_name)
