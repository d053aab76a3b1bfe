"""What stands around the text of a block, for each format: a function from a heading to a header and a footer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxassembly.wording.forms import FRAMES, Wording
from ctxassembly.wording.neutral import escaped


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
    return words.numbered.format(label=label, source=heading.source, page=_paged(heading, words)), ""


def _paged(heading: Heading, words: Wording) -> str:
    page = words.many_pages if len(heading.pages) > 1 else words.one_page
    return page.format(_ranges(heading.pages)) if heading.pages else ""


def source(heading: Heading, words: Wording) -> Lines:
    """`[SOURCE 1] report.pdf § Executive Summary`, or `§ Sheet1 Row 42` where no section is known.

    The label is the same in every language: it is what an answer repeats, and what is looked for in it.
    """
    after = f" {placed(heading, words)}" if heading.source else ""
    return FRAMES["source"].label.format(heading.number) + after, ""


def placed(heading: Heading, words: Wording) -> str:
    """The source and the section, or the sheet and the row where no section is known: `report.pdf § Summary`."""
    row = words.row.format(heading.row) if heading.row else ""
    place = heading.section or " ".join(part for part in (heading.sheet, row) if part)
    return f"{heading.source} § {place}" if place else heading.source


def reference(heading: Heading, words: Wording) -> str:
    """The same, or the source and its pages where no place in it is known: `report.pdf, page 3`."""
    found = placed(heading, words)
    return found if found != heading.source or not heading.pages else found + _paged(heading, words)


def xml(heading: Heading, words: Wording) -> Lines:
    """`<chunk index="1" source="report.pdf" page="3" score="0.870">` and `</chunk>`; what isn't known is left out."""
    frame = FRAMES["xml"]
    named = "" if heading.source == words.unknown else heading.source
    attributes = {"source": named, "page": _ranges(heading.pages)}
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


def seen_as(headers: Mapping[str, str]) -> str:
    """The format whose labels a reader sees in all of `headers`, which are given by their numbers; else "custom"."""
    for name, frame in FRAMES.items():
        if headers and frame.label and all(_shows(text, frame.label.format(each)) for each, text in headers.items()):
            return name
    return "custom"


def _shows(header: str, label: str) -> bool:
    """Whether `label` is in `header`, and is no part of a name, as in "report[1].pdf", nor made harmless there."""
    at = header.find(label)
    return at >= 0 and not header[at - 1 : at].isalnum() and header[at - 1 : at] != "\\"


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
