"""The table and the headings that each chunk begins inside, read off the whole document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ctxassembly.ingestion.headings import HeadingReader
from ctxassembly.ingestion.tables import MAX_HEAD, TableReader, find_names, shorten

PATH_SEPARATOR = " > "
NEAR = 1_000
"""Characters in which the row before a chunk is looked for."""
_LINE_ENDS = re.compile(r"(?<=\n)|(?:(?<=</tr>)|(?<=</h[1-6]>)|(?<=</thead>)|(?<=</table>))(?!\n)", re.IGNORECASE)
"""Where a line ends, or a row or a heading of HTML, which may be all on one."""


class Place(NamedTuple):
    """Where a chunk begins."""

    table_head: str = ""
    """The head of the table that it begins inside, unless the chunk has it; at most 300 characters."""
    heading_path: str = ""
    """The headings above it, outermost first; at most 300 characters, the last ones."""


def find_places(chunks: Sequence[str], overlaps: Sequence[int], name: str = "") -> list[Place]:
    """Return where each of the `chunks` of a document begins; `overlaps` are what they repeat of the one before.

    The `name` of the file tells Markdown from code.
    """
    text, starts = _rebuilt(chunks, overlaps)
    names = find_names([chunk[overlap:] for chunk, overlap in zip(chunks, overlaps, strict=True)])
    tables, headings, fence = TableReader(), HeadingReader(name), ""
    lines, line_start, before, earlier = iter(_LINE_ENDS.split(text)), 0, "", ""
    line, places, cuts = next(lines, ""), list[Place](), {*starts}
    for start, chunk in zip(starts, chunks, strict=True):
        while line and line_start + len(line) <= start:
            read, bare = line.rstrip("\r\n"), line.strip()
            if line_start in cuts:  # a splitter took the blank line before it away
                before = ""
            if bare.startswith("```") or (bare.startswith("~~~") and not before.strip()):  # RST underlines with it
                fence = "" if fence else bare[:3]
            elif not fence:
                tables.read(line)
                if not tables.kind:
                    headings.read(read, before, earlier)
            line_start, line, before, earlier = line_start + len(line), next(lines, ""), read, before
        first, second, *_ = [*(row for row in chunk.splitlines() if row.strip()), "", ""]
        head = tables.head_above(first, second)
        if names and start and not chunk.startswith(names):
            head = names
        path = PATH_SEPARATOR.join(headings.above(first, second))
        places.append(Place("" if head in chunk else shorten(head), path[-MAX_HEAD:]))
    return places


def _rebuilt(chunks: Sequence[str], overlaps: Sequence[int]) -> tuple[str, list[int]]:
    """Return the text of the document, and where each chunk begins in it.

    Between two chunks is the line break that the splitter took away: nothing, if chunks keep blanks at their ends, and
    a blank, if a row goes on.
    """
    are_stripped = sum(chunk != chunk.strip() for chunk in chunks) <= 0.2 * len(chunks)
    parts, starts, size, end = list[str](), list[int](), 0, ""
    for chunk, overlap in zip(chunks, overlaps, strict=True):
        glue = (" " if _is_row_cut(end) else "\n") if parts and not overlap and are_stripped else ""
        starts.append(size + len(glue) - overlap)
        parts += glue, chunk[overlap:]
        size += len(glue) + len(chunk) - overlap
        end = (end + glue + chunk[overlap:])[-NEAR:]
    return "".join(parts), starts


def _is_row_cut(text: str) -> bool:
    """Return True if the last line is a row with fewer bars than the one before it: a splitter cut inside it."""
    *_, before, last = "", "", *text.split("\n")
    return 0 < last.count("|") < before.count("|")
