"""What stands around the text of a block, for each format: a function from a heading to a header and a footer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxassembly.forms import FRAMES, Wording
from ctxassembly.neutral import escaped


@dataclass(frozen=True, slots=True)
class Heading:
    """What may be written above a block. Every string is one line, and empty if nothing is known.

    Section, sheet, row, score and metadata are those of the best chunk in the block, pages those of all.
    """

    number: int
    """The label, from 1."""
    source: str = ""
    """The file, else the title, else the URL, else "unknown" in the configured language."""
    pages: tuple[int | str, ...] = ()
    """Each once, whole numbers in ascending order before others."""
    section: str = ""
    sheet: str = ""
    row: str = ""
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """As the chunk has it, to be read only; what is taken from it may have several lines."""


Lines = tuple[str, str]
"""The header and the footer, each without the line break between it and the text; empty where there is none."""


def numbered(heading: Heading, words: Wording) -> Lines:
    """`[1] Source: report.pdf, pages 3-5`."""
    label = FRAMES["numbered"].label.format(heading.number)
    if not heading.source:
        return label, ""
    page = words.many_pages if len(heading.pages) > 1 else words.one_page
    written = page.format(_ranges(heading.pages)) if heading.pages else ""
    return words.numbered.format(label=label, source=heading.source, page=written), ""


def source(heading: Heading, words: Wording) -> Lines:
    """`[SOURCE 1] report.pdf § Executive Summary`, or `§ Sheet1 Row 42` where no section is known.

    The label is the same in every language: it is what an answer repeats, and what is looked for in it.
    """
    row = words.row.format(heading.row) if heading.row else ""
    place = heading.section or " ".join(part for part in (heading.sheet, row) if part)
    after = f" {heading.source} § {place}" if place else f" {heading.source}"
    return FRAMES["source"].label.format(heading.number) + (after if heading.source else ""), ""


def xml(heading: Heading, words: Wording) -> Lines:  # noqa: ARG001 - its words are the same in every language
    """`<chunk index="1" source="report.pdf" page="3" score="0.870">` and `</chunk>`."""
    frame = FRAMES["xml"]
    attributes = {"source": heading.source, "page": _ranges(heading.pages)}
    if heading.score is not None:
        attributes["score"] = f"{heading.score:.3f}"
    written = "".join(f" {name}={_quoted(value)}" for name, value in attributes.items() if value)
    return f"{frame.label.format(heading.number)}{written}>", frame.footer


def grouped(heading: Heading, words: Wording) -> Lines:  # noqa: ARG001 - see above
    """`## report.pdf`; no label is shown."""
    return FRAMES["grouped"].lead + heading.source if heading.source else "", ""


def minimal(heading: Heading, words: Wording) -> Lines:  # noqa: ARG001 - see above
    """Nothing: the text alone."""
    return "", ""


FORMATS: Mapping[str, Callable[[Heading, Wording], Lines]] = {
    "numbered": numbered,
    "source": source,
    "xml": xml,
    "grouped": grouped,
    "minimal": minimal,
}


def _quoted(value: str) -> str:
    """An attribute's value, which is one line. What `xml.sax.saxutils.quoteattr` gives, without loading `http`."""
    value = escaped(value)
    if '"' not in value:
        return f'"{value}"'
    return f"'{value}'" if "'" not in value else '"' + value.replace('"', "&quot;") + '"'


def _ranges(pages: Iterable[int | str]) -> str:
    """Pages as a reader writes them: "3-5, 9". Only whole numbers make ranges."""
    runs: list[tuple[int | str, int | str]] = []
    for page in pages:
        if runs and isinstance(page, int) and runs[-1][1] == page - 1:
            runs[-1] = (runs[-1][0], page)
        else:
            runs.append((page, page))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
