r"""Code and YAML that a splitter stripped of the indentation at the beginning of a chunk.

LangChain's text splitters strip white space by default (`strip_whitespace=True`). Joined by a line break, a method
would then be read as a function, and a nested key as one of the top level. The indentation is lost if

- the two chunks have lines of code or YAML,
- the second begins without indentation, and
- its first line was indented by what is around it: a line before it opens a block, the next line is deeper by more than
  one level, or the offsets leave more characters between the two than a line break has.
"""

from __future__ import annotations

import re

from ctxassembly.data.chunks import Chunk

_READ_CHARS = 1_000
"""Characters on each side of the border that are read."""
_MIN_CODE_SHARE = 0.5
"""Share of the lines that must look like code or YAML."""
_CODE = re.compile(
    r"\s*(?:-\s+)?[\w.\"'-]+:(?:\s|$)|.*[{}()\[\];:,]\s*$|\s*(?:def|class|return|if|for|import|from|fn|func|var|let|const)\b"
    r"|\s*[\w.\[\]]+ [-+*/|&]?= |\s*(?:#|//|@)"
)
_OPENERS = (":", "{", "(", "[")
_SECOND_LINE = re.compile(r".*\n(?:[^\S\n]*\n)*([^\S\n]*)\S")
"""A line and the next one that isn't blank, with its indentation."""


def is_indentation_lost(first: Chunk, second: Chunk, gap_chars: int | None) -> bool:
    """Return True if the first line of `second`, which continues `first`, has lost its indentation.

    `gap_chars` are the characters between the two by their offsets; None if these are unknown.
    """
    tail, head = first.text[-_READ_CHARS:].rstrip(), second.text[:_READ_CHARS]
    if not tail or not head or head[0].isspace():
        return False
    is_below_opener = tail.endswith(_OPENERS) and not head.startswith(("}", ")", "]"))
    following = _SECOND_LINE.match(head)
    missing = max(_indent(following[1]) if following else 0, gap_chars or 0)
    if not is_below_opener and missing <= 1:  # as nearly always; the smallest unit is one blank
        return False
    before, after = tail.splitlines(), head.splitlines()
    if not any(line[:1] in (" ", "\t") for line in (*before[1:], *after)):
        return False
    lines = [line for line in (*before, *after) if line.strip()]
    indents = [indent for line in lines if (indent := _indent(line))]
    if not indents or not (is_below_opener or missing > min(indents)):
        return False
    return sum(map(bool, map(_CODE.match, lines))) >= _MIN_CODE_SHARE * len(lines)


def _indent(line: str) -> int:
    """Return the length of the indentation of `line`; a tab counts as four."""
    blank = line[: len(line) - len(line.lstrip())]
    return len(blank.replace("\t", "    "))
