"""Look-alikes: characters that a reader takes for an ASCII letter, digit, bracket or dash.

Unicode's compatibility forms (fullwidth, mathematical, circled, subscript) and marks on letters come from Python's own
`unicodedata`, and so do digits, dashes and brackets of all kinds. Only letters of other scripts, letters with strokes
and a few signs need a table, `lookalikes.txt`. Packages with the whole list of Unicode's confusables, such as
confusable-homoglyphs 3.3.1 (900 KB of JSON, 0.1 s to load), have far more than our words need.
"""

from __future__ import annotations

import re
from functools import cache
from unicodedata import category, name, normalize, numeric

_MAX_CACHED = 20_000


@cache
def _table() -> dict[str, str]:
    """Return the ASCII letter or sign of each character of `lookalikes.txt`."""
    from importlib.resources import files  # here, since only text beyond ASCII needs the table

    lines = files("ctxassembly.wording").joinpath("lookalikes.txt").read_text("utf-8").splitlines()
    rows = [line.split(" ") for line in lines if not line.startswith("# ")]
    return {chr(int(code, 16)): sign for sign, *codes in rows for code in codes}


class _Skeletons(dict[int, str]):
    """Code point -> skeleton, filled as characters are met. `str.translate` reads it."""

    def __missing__(self, code: int) -> str:
        found = _character_skeleton(chr(code))
        if len(self) < _MAX_CACHED:
            self[code] = found
        return found


_SKELETONS = _Skeletons({code: chr(code) for code in range(0x80)})


def _character_skeleton(character: str) -> str:
    """Return the ASCII that `character` looks like, nothing for a mark, else the character."""
    kind = category(character)
    if kind in ("Mn", "Me"):
        return ""
    if known := _table().get(character):
        return known
    plain = normalize("NFKD", character)
    if plain != character:
        return "".join(_SKELETONS[ord(each)] for each in plain)
    if kind == "Pd":
        return "-"
    if kind in ("Nd", "No") and 0 <= (value := numeric(character, -1)) == int(value):
        return str(int(value))
    return _bracket(character) if kind in ("Ps", "Pe") else character


def _bracket(character: str) -> str:
    character_name, at = name(character, ""), category(character) == "Pe"
    if "QUOTATION" in character_name:
        return character
    kinds = (("PARENTHES", "()"), ("CURLY", "{}"), ("ANGLE", "<>"), ("", "[]"))
    return next(pair[at] for kind, pair in kinds if kind in character_name)


def fold_lookalikes(line: str) -> str:
    r"""Return `line` as it looks: ASCII for look-alikes, and no marks.

    >>> fold_lookalikes("[\N{FULLWIDTH DIGIT TWO}] S\N{CYRILLIC SMALL LETTER O}urce")
    '[2] Source'
    """
    return line.translate(_SKELETONS)


def folded_offsets(line: str) -> list[int]:
    """Return for each character of `fold_lookalikes(line)` the offset in `line` of its origin."""
    return [at for at, character in enumerate(line) for _ in _SKELETONS[ord(character)]]


def is_lookalike(character: str) -> bool:
    """Return True if `character` looks like ASCII or is removed."""
    return _SKELETONS[ord(character)].isascii()


ANGLES = re.compile(
    "[\u02c2\u1438\u16b2\u2039\u2329\u276c\u276e\u2770\u27e8\u27ea\u2991\u29fc\u3008\u300a\ufe3d\ufe3f\ufe64\uff1c"
    "\U0001d236]"
)
"""The look-alikes of <."""
