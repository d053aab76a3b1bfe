"""Tables with bars, read by lines: whether a text begins inside one, and which lines are its header.

A row is a line that begins with a bar. The header is the first row; a rule such as `|---|---|` may be below it. A
splitter cuts a long table anywhere, so a text that begins with a row may or may not begin with the header: only a rule
shows that it does.
"""

from __future__ import annotations

from collections.abc import Iterable

from ctxassembly.data.chunks import Span

RULE_CHARACTERS = frozenset("|:+-= \t")
"""The characters of the rule below a table's header."""


def begins_inside_table(text: str) -> bool:
    """Return True if the first line of `text` is a row, and not the header."""
    text = text.lstrip()
    if not text.startswith("|"):
        return False
    first, _, rest = text.partition("\n")
    return _is_rule(first) or not _is_rule(rest.partition("\n")[0])


def header_spans(texts: Iterable[str]) -> tuple[list[int], list[Span | None]]:
    r"""Return the start of each line, and the span of the header, with the rule, of the table that it is a row of.

    `texts` are parts of one document in order, read as one text. A table may go on in the next part, with rows of as
    many cells. The span is None for other lines, and where a part begins inside a table.

    >>> header_spans(["Wards:\n| ward | beds |\n|---|---|\n| 1 | 8 |"])
    ([0, 7, 23, 33], [None, (7, 32), (7, 32), (7, 32)])
    """
    starts: list[int] = []
    headers: list[Span | None] = []
    start = bar_count = 0
    header: Span | None = None
    for text in texts:
        lines = text.split("\n")
        is_first = True
        for number, line in enumerate(lines):
            cells = line.count("|") if line.lstrip().startswith("|") else 0
            if cells and not (bar_count and (not is_first or cells == bar_count)):
                has_rule = number + 1 < len(lines) and _is_rule(lines[number + 1])
                end = start + len(f"{line}\n{lines[number + 1]}" if has_rule else line)
                header = (start, end) if has_rule or number else None
            starts.append(start)
            headers.append(header if cells else None)
            if line.strip():  # a blank line doesn't end a table
                bar_count, is_first = cells, False
            start += len(line) + (number + 1 < len(lines))
    return starts, headers


def _is_rule(line: str) -> bool:
    return "-" in line and RULE_CHARACTERS.issuperset(line)
