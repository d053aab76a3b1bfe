r"""Two texts that are one, although a step between changed its form: cleaned, shortened, masked, or with words around.

A hit may reach an assembly with its Markdown removed, cut at a limit, put into its window of sentences, below a line
that a model wrote, or with its names masked. Its stored text then isn't equal, but says the same words. A text of
another document doesn't.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_MIN_CHARS = 20
"""Letters and digits of a text that is no accident inside another one. Shorter texts have to be equal."""
_WORD = re.compile(r"\w+")
_MASK = re.compile(r"<[^<>\n]{1,40}>|\[[^\[\]\n]{1,40}\]|\{[^{}\n]{1,40}\}|\b(?:[Xx]{3,}|_{3,}|REDACTED|MASKED)\b")
"""What is put in place of a masked name: `<PERSON>`, `[NAME]`, `XXXX`. Marks without letters are no words anyway."""


def is_same_text(text: str, other: str) -> bool:
    r"""Return True if one text has the words of the other: all of them in a row, or with others between them.

    >>> is_same_text("**Drink** water,\nuntil two hours before.", "Drink water, until two hours before.")
    True
    >>> is_same_text("<PERSON> may drink until two hours before.", "Anna Visser may drink until two hours before.")
    True
    >>> is_same_text("Leave is 25 days a year for everybody.", "Leave is 30 days a year for everybody.")
    False
    """
    if text == other or text.strip() == other.strip():
        return True
    first, second = _words(text), _words(other)
    if _is_part(*sorted((first, second), key=len)):
        return True
    bare, other_bare = _words(_MASK.sub(" ", text)), _words(_MASK.sub(" ", other))
    return (len(bare) < len(first) and _is_part(bare, second)) or (
        len(other_bare) < len(second) and _is_part(other_bare, first)
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _is_part(shorter: Sequence[str], longer: Sequence[str]) -> bool:
    """Return True if `longer` has the words of `shorter` in a row; or in order, and they are at least half of it."""
    part, whole = "".join(shorter), "".join(longer)
    if part == whole:
        return bool(part)
    if len(part) < _MIN_CHARS:
        return False
    if part in whole:
        return True
    following = iter(longer)
    return 2 * len(shorter) >= len(longer) and all(word in following for word in shorter)
