"""The formats, one record each: the lines around the text of a block, and the citations in answers to it.

To add one, write a function from a heading to the rest of its header, a record in `FORMATS`, and its name in
`FormatName`. Guards, prompts and the reading of answers follow from the record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ctxassembly.wording.languages import Language
from ctxassembly.wording.unicode import escape_xml


@dataclass(frozen=True, slots=True)
class Heading:
    """The details that a header may show. Every string is one line; it is empty if nothing is known.

    Section, sheet, row, score and metadata are taken from the best chunk in the block, pages from all of its chunks.

    >>> from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
    >>> config = AssemblyConfig(format=lambda heading: f"[{heading.number}] {heading.source}")
    >>> print(assemble([Hit(Chunk("a#0", "a", "Drink water.", metadata={"source": "gastro.pdf"}))], config))
    [1] gastro.pdf
    Drink water.
    """

    number: int
    """The label, from 1."""
    source: str = ""
    """The file, else the title, else the URL, else "unknown" in the configured language."""
    pages: tuple[int | str, ...] = ()
    """Each once: Roman numbers, whole ones ascending, then others."""
    section: str = ""
    sheet: str = ""
    row: str = ""
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The chunk's own metadata, to be read only. Their values may have several lines."""


Lines = tuple[str, str]
"""The header and the footer, without the line breaks between them and the text; empty if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format: everything that writing, guarding, prompting and the reading of answers need to know of it.

    A header is the label or the lead, and then the text that `write_header` returns.
    """

    name: str
    label: str = ""
    """The label, with {} for the number; empty if a reader sees none. Answers repeat labels, so no document may begin a
    line with one, in any format."""
    lead: str = ""
    """The beginning of a header without a label. In this format no document may begin a line with it."""
    write_header: Callable[[Heading, Language], str]
    """A function for the rest of the header. It returns nothing if the heading has only a number; the lead is then left
    out, too."""
    footer: str = ""
    has_markup: bool = False
    """True if all text is escaped with entities, so that nothing in it can be a tag."""
    citation_examples: tuple[str, ...] = ()
    """Citations as an answer should write them, for the prompt: one example or two. Empty if there is no label."""
    rule: Literal["cite_label", "cite_index", "no_labels"] = "no_labels"
    """The field of `Language` with the sentence on citing for the prompt."""

    @property
    def has_labels(self) -> bool:
        """True if a reader sees labels."""
        return bool(self.label)

    def header(self, number: int, rest: str) -> str:
        """Return the header of block `number`, given the `rest` from `write_header`."""
        return self.label.format(number) + rest if self.label else rest and self.lead + rest

    def lines(self, heading: Heading, language: Language) -> Lines:
        """Return the header and the footer of a block."""
        return self.header(heading.number, self.write_header(heading, language)), self.footer

    def citation_rule(self, language: Language) -> str:
        """Return the sentence of a prompt that asks for citations of this format, or for none."""
        examples = self.citation_examples
        sentence: str = getattr(language, self.rule)
        return sentence.format(language.either.format(*examples) if len(examples) > 1 else "".join(examples))


def numbered_header(heading: Heading, words: Language) -> str:
    """Return `[1] Source: report.pdf, pages 3-5`."""
    if not heading.source:
        return ""
    return " " + words.numbered.format(source=heading.source, page=page_text(heading.pages, words))


def source_header(heading: Heading, words: Language) -> str:
    """Return `[SOURCE 1] report.pdf § Executive Summary`, or `§ Sheet1 Row 42` if no section is known."""
    return f" {source_with_section(heading, words)}" if heading.source else ""


def xml_header(heading: Heading, words: Language) -> str:
    """Return `<chunk index="1" source="report.pdf" page="3" score="0.870">`, without unknown attributes."""
    named = "" if heading.source == words.unknown else heading.source
    attributes = {"source": named, "page": _page_ranges(heading.pages)}
    if heading.score is not None:
        attributes["score"] = f"{heading.score:.3f}"
    return "".join(f" {name}={_quoted(value)}" for name, value in attributes.items() if value) + ">"


FormatName = Literal["numbered", "source", "xml", "grouped", "minimal"]

FORMATS: Mapping[str, Format] = {
    form.name: form
    for form in (
        Format(
            name="numbered",
            label="[{}]",
            write_header=numbered_header,
            citation_examples=("[1]", "[1][3]"),
            rule="cite_label",
        ),
        Format(
            name="source",
            # The same word in every language: answers repeat it, and are read for it.
            label="[SOURCE {}]",
            write_header=source_header,
            citation_examples=("[SOURCE 1]",),
            rule="cite_label",
        ),
        Format(
            name="xml",
            label='<chunk index="{}"',
            write_header=xml_header,
            footer="</chunk>",
            has_markup=True,
            citation_examples=("[1]",),
            rule="cite_index",
        ),
        Format(name="grouped", lead="## ", write_header=lambda heading, _: heading.source),
        Format(name="minimal", write_header=lambda *_: ""),
    )
}


def shows_labels(form: Any) -> bool:
    """Return True if a reader sees labels in `form`; False for a function of the caller, whose labels are unknown."""
    return isinstance(form, str) and form in FORMATS and FORMATS[form].has_labels


def source_with_section(heading: Heading, words: Language) -> str:
    """Return the source and the section, or sheet and row if no section is known: `report.pdf § Summary`."""
    row = words.row.format(heading.row) if heading.row else ""
    place = heading.section or f"{heading.sheet} {row}".strip()
    return f"{heading.source} § {place}" if place else heading.source


def reference_text(heading: Heading, words: Language) -> str:
    """Return source and section; if only the source is known, source and pages: `report.pdf, page 3`."""
    found = source_with_section(heading, words)
    return found if found != heading.source or not heading.pages else found + page_text(heading.pages, words)


def infer_format(headers: Mapping[str, str]) -> str:
    """Return the format whose labels all `headers`, by block number, show; "custom" if there is none."""
    for name, form in FORMATS.items():
        labels = {form.label.format(number): header for number, header in headers.items()} if form.has_labels else {}
        if labels and all(_shows_label(header, label) for label, header in labels.items()):
            return name
    return "custom"


def _shows_label(header: str, label: str) -> bool:
    """Return True if `header` shows `label`: neither guarded nor a part of a name, as in "report[1].pdf"."""
    at = header.find(label)
    before = header[at - 1 : at]
    return at >= 0 and not before.isalnum() and before != "\\"


def page_text(pages: Sequence[int | str], words: Language) -> str:
    """Return `, pages 3-5`; nothing for no pages."""
    page = words.many_pages if len(pages) > 1 else words.one_page
    return page.format(_page_ranges(pages)) if pages else ""


def _quoted(value: str) -> str:
    """Return an attribute value in quotes, as `xml.sax.saxutils.quoteattr` does, whose import loads `http`."""
    value = escape_xml(value)
    if '"' not in value:
        return f'"{value}"'
    return f"'{value}'" if "'" not in value else '"' + value.replace('"', "&quot;") + '"'


def _page_ranges(pages: Iterable[int | str]) -> str:
    """Return pages as a reader writes them: "3-5, 9". Only whole numbers make ranges."""
    ranges: list[tuple[int | str, int | str]] = []
    for page in pages:
        if ranges and isinstance(page, int) and ranges[-1][1] == page - 1:
            ranges[-1] = (ranges[-1][0], page)
        else:
            ranges.append((page, page))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
