"""The formats, one record each: what stands around the text of a block, and how an answer cites it.

To add one, write a function from a heading to the rest of its header, a record in `FORMATS`, and its name in
`FormatName`. What is guarded, asked for and read follows from the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ctxassembly.wording.clean import escaped
from ctxassembly.wording.languages.record import Language


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
Need = Literal["source", "pages", "place"]
"""What of a heading has to be looked up in metadata; a place is its section, sheet and row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format. It writes, it is guarded, and answers to it are asked for and read, by what stands here.

    A header is its label or its lead, then what the format `writes`.
    """

    name: str
    label: str = ""
    """With {} for the number; empty if a reader sees no label. An answer repeats it, so no document may begin a line
    with it, in any format."""
    lead: str = ""
    """What a header without a label begins with, and no line of a document in this format. Elsewhere it may."""
    writes: Callable[[Heading, Language], str]
    """The rest of the header. It may be empty, and is if the heading has a number alone; then no lead stands either."""
    footer: str = ""
    needs: frozenset[Need] = frozenset()
    markup: bool = False
    """Whether all text is escaped by entities, so that nothing in it can be a tag."""
    cited: tuple[str, ...] = ()
    """How an answer cites it: one example or two, for the prompt. None if there is no label."""
    rule: Literal["cite_label", "cite_index", "no_labels"] = "no_labels"
    """Which of a language's sentences a prompt has about citing."""

    @property
    def labelled(self) -> bool:
        """Whether a reader sees labels."""
        return bool(self.label)

    def header(self, number: int, rest: str) -> str:
        """The header of the block with that number, of which `writes` gave the rest."""
        return self.label.format(number) + rest if self.label else rest and self.lead + rest

    def lines(self, heading: Heading, language: Language) -> Lines:
        """The header and the footer of a block."""
        return self.header(heading.number, self.writes(heading, language)), self.footer

    def asked(self, language: Language) -> str:
        """The sentence of a prompt that asks for citations of this format, or for none."""
        example = language.either.format(*self.cited) if len(self.cited) > 1 else "".join(self.cited)
        sentence: str = getattr(language, self.rule)
        return sentence.format(example)


def numbered(heading: Heading, words: Language) -> str:
    """`[1] Source: report.pdf, pages 3-5`."""
    if not heading.source:
        return ""
    return " " + words.numbered.format(source=heading.source, page=_paged(heading, words))


def source(heading: Heading, words: Language) -> str:
    """`[SOURCE 1] report.pdf § Executive Summary`, or `§ Sheet1 Row 42` where no section is known."""
    return f" {placed(heading, words)}" if heading.source else ""


def xml(heading: Heading, words: Language) -> str:
    """`<chunk index="1" source="report.pdf" page="3" score="0.870">` and `</chunk>`; what isn't known is left out."""
    named = "" if heading.source == words.unknown else heading.source
    attributes = {"source": named, "page": _ranges(heading.pages)}
    if heading.score is not None:
        attributes["score"] = f"{heading.score:.3f}"
    return "".join(f" {name}={_quoted(value)}" for name, value in attributes.items() if value) + ">"


def grouped(heading: Heading, words: Language) -> str:  # noqa: ARG001 - others have words to write
    """`## report.pdf`."""
    return heading.source


def minimal(heading: Heading, words: Language) -> str:  # noqa: ARG001 - others have words to write
    """Nothing: the text alone."""
    return ""


FormatName = Literal["numbered", "source", "xml", "grouped", "minimal"]

FORMATS: Mapping[str, Format] = {
    each.name: each
    for each in (
        Format(
            name="numbered",
            label="[{}]",
            writes=numbered,
            needs=frozenset({"source", "pages"}),
            cited=("[1]", "[1][3]"),
            rule="cite_label",
        ),
        Format(
            name="source",
            # The same in every language: it is what an answer repeats, and what is looked for in it.
            label="[SOURCE {}]",
            writes=source,
            needs=frozenset({"source", "place"}),
            cited=("[SOURCE 1]",),
            rule="cite_label",
        ),
        Format(
            name="xml",
            label='<chunk index="{}"',
            writes=xml,
            footer="</chunk>",
            needs=frozenset({"source", "pages"}),
            markup=True,
            cited=("[1]",),
            rule="cite_index",
        ),
        Format(name="grouped", lead="## ", writes=grouped, needs=frozenset({"source"})),
        Format(name="minimal", writes=minimal),
    )
}


def shows_labels(form: Any) -> bool:
    """Whether a reader sees labels in `form`, a format's name or a function of the caller's; in that of none here."""
    return isinstance(form, str) and form in FORMATS and FORMATS[form].labelled


def placed(heading: Heading, words: Language) -> str:
    """The source and the section, or the sheet and the row where no section is known: `report.pdf § Summary`."""
    row = words.row.format(heading.row) if heading.row else ""
    place = heading.section or " ".join(part for part in (heading.sheet, row) if part)
    return f"{heading.source} § {place}" if place else heading.source


def reference(heading: Heading, words: Language) -> str:
    """The same, or the source and its pages where no place in it is known: `report.pdf, page 3`."""
    found = placed(heading, words)
    return found if found != heading.source or not heading.pages else found + _paged(heading, words)


def seen_as(headers: Mapping[str, str]) -> str:
    """The format whose labels a reader sees in all of `headers`, which are given by their numbers; else "custom"."""
    for name, form in FORMATS.items():
        if headers and form.labelled and all(_shows(text, form.label.format(each)) for each, text in headers.items()):
            return name
    return "custom"


def _shows(header: str, label: str) -> bool:
    """Whether `label` is in `header`, and is no part of a name, as in "report[1].pdf", nor made harmless there."""
    at = header.find(label)
    return at >= 0 and not header[at - 1 : at].isalnum() and header[at - 1 : at] != "\\"


def _paged(heading: Heading, words: Language) -> str:
    page = words.many_pages if len(heading.pages) > 1 else words.one_page
    return page.format(_ranges(heading.pages)) if heading.pages else ""


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
