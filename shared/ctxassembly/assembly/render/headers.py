"""What is written above the text of a label: header, values of metadata, and the summary of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.render.labels import Label
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import HeaderDetail
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import get_path, with_first_keys
from ctxassembly.errors import ConfigError
from ctxassembly.wording.formats import FORMATS, Format, Heading, Lines, page_text
from ctxassembly.wording.label_guards import escape_heading, escape_labels, escape_value
from ctxassembly.wording.languages import LANGUAGES
from ctxassembly.wording.metadata_labels import MetadataReader, line_of
from ctxassembly.wording.sanitize import sanitize_line
from ctxassembly.wording.unicode import escape_xml, make_encodable, one_line

if TYPE_CHECKING:
    from ctxassembly.assembly.sent import Sent

Key = tuple[int, tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class Headers:
    """The writer of headers. A header is written many times while the budget is filled, so it is kept."""

    config: AssemblyConfig
    form: Format | None
    """The record of the format; None for a function of the caller."""
    pool: Pool
    reader: MetadataReader
    """Leaves out what the model is not to read."""
    citation_reader: MetadataReader
    summaries: dict[int, str]
    """The page summary of each document that has one, by its number."""
    sent_labels: Mapping[int, str]
    """The label under which the conversation has text of each chunk, by number."""
    known: dict[Key, Lines] = field(default_factory=dict)

    def lines(self, number: int, label: Label, detail: HeaderDetail, said: str | None = None) -> tuple[str, str]:
        """Return what is before and after the text of `label`, line breaks included.

        The first label of its document has the page summary, unless `said` has it: the text that the label begins with,
        and None for other labels.
        """
        header, footer = self._header(number, label, detail)
        lines = [header] if header else []
        if detail is HeaderDetail.FULL:
            if self.config.header_keys:
                lines += self._values(self.pool.candidates[label.best].chunk)
            if self.sent_labels:
                lines += self._continued(label)
            summary = None if said is None else self.summaries.get(label.document)
            if summary and summary not in one_line(said or ""):
                lines.append(LANGUAGES[self.config.language].summary.format(summary))
        return "".join([line + "\n" for line in lines]), "\n" + footer if footer else ""

    def around(self, document: int, number: int) -> str:
        """Return all lines around the text of the chunk at `number` if it is the first one read of its `document`."""
        return "".join(self.lines(1, Label(0, document, number, (number,), (), 0.0), HeaderDetail.FULL, ""))

    def are_shown(self, headers: Mapping[str, str]) -> bool:
        """Return True if `headers`, the first lines of blocks by label, have the labels of the format."""
        form = self.form
        if form is None or not form.has_labels:
            return True
        return all(header.startswith(form.label.format(label)) for label, header in headers.items())

    def _header(self, number: int, label: Label, detail: HeaderDetail) -> Lines:
        form = self.form
        if detail is HeaderDetail.NONE or (form is None and detail is HeaderDetail.LABEL):
            return "", ""
        if form is not None and detail is HeaderDetail.LABEL:
            return form.lines(Heading(number), LANGUAGES[self.config.language])
        # The number is written last: a header is measured before its number is known. A caller's function gets it.
        key = label.best, label.chunks, 0 if form else number
        if key not in self.known:
            if form is None:
                self.known[key] = self._custom_lines(number, label)
            else:
                self.known[key] = form.write_header(self._heading(1, label), LANGUAGES[self.config.language]), ""
        rest, footer = self.known[key]
        return (rest, footer) if form is None else (form.header(number, rest), form.footer)

    def _heading(self, number: int, label: Label) -> Heading:
        """Return what the header of `label` may show."""
        best, chunks = self.pool.candidates[label.best], [self.pool.candidates[at].chunk for at in label.chunks]
        return replace(self.reader.heading(best.chunk, chunks, self._safe), number=number, score=best.score)

    def _custom_lines(self, number: int, label: Label) -> Lines:
        function: Any = self.config.format
        returned = function(self._heading(number, label))
        lines = (returned, "") if isinstance(returned, str) else returned
        if not isinstance(lines, tuple) or len(lines) != 2 or not all(isinstance(line, str) for line in lines):
            raise ConfigError("format", "a function that returns a header, or a header and a footer", returned)
        return make_encodable(lines[0].strip()), make_encodable(lines[1].strip())

    def _values(self, chunk: Chunk) -> list[str]:
        """Return the values of `chunk` under `header_keys`, each on a line after its key: no value can begin a line."""
        name = format_name(self.config)
        values = (
            (key, None if chunk.is_hidden_from_model(key) else line_of(get_path(chunk.metadata, key), key))
            for key in self.config.header_keys
        )
        lines = ((key, value if not self.config.sanitize else sanitize_line(value)) for key, value in values if value)
        return [escape_labels(f"{one_line(key)}: {escape_value(line, name)}", name) for key, line in lines if line]

    def _continued(self, label: Label) -> list[str]:
        """Return a line for each label under which the conversation has adjoining text; none in a format without."""
        form, by_label = self.form, dict[str, list[int]]()
        near = {at + step for at in label.chunks for step in (-1, 0, 1)} & self.sent_labels.keys()
        places = {at: (self.pool.candidates[at].chunk.document_id, self.pool.candidates[at].position) for at in near}
        own = [(self.pool.candidates[at].chunk.document_id, self.pool.candidates[at].position) for at in label.chunks]
        for at in sorted(near) if form and form.has_labels else ():
            name, position = places[at]
            if any(name == other and abs(position - place) <= 1 for other, place in own):
                by_label.setdefault(self.sent_labels[at], []).append(at)
        words, lines = LANGUAGES[self.config.language], list[str]()
        for sent in sorted(by_label, key=int):
            cited = form.citation_examples[0].replace("1", sent) if form else ""
            chunks = [self.pool.candidates[at].chunk for at in by_label[sent]]
            pages = self.reader.heading(chunks[0], chunks, self._safe).pages
            line = words.continues_above.format(cited) + page_text(pages, words)
            lines.append(escape_xml(line) if form and form.has_markup else line)
        return lines

    def _safe(self, line: str) -> str:
        """Return a `line` of metadata that forges no label and no line of ours."""
        return escape_heading(sanitize_line(line) if self.config.sanitize else line, format_name(self.config))


def format_name(config: AssemblyConfig) -> str:
    """Return the name of the format; "custom" for a function of the caller."""
    return config.format if isinstance(config.format, str) else "custom"


def make_headers(pool: Pool, config: AssemblyConfig, sent: Sent) -> Headers:
    """Return the writer of headers for the chunks of `pool`, some of which may be `sent`."""
    reader = MetadataReader(config.keys, config.language, for_header=True)
    # A header leaves out what the model is not to read; whoever reads a citation may.
    has_hidden_keys = any(map(attrgetter("chunk.hidden_from_header"), pool.candidates))
    citation_reader = MetadataReader(config.keys, config.language) if has_hidden_keys else reader
    form = FORMATS.get(format_name(config))
    return Headers(config, form, pool, reader, citation_reader, _summaries(pool, config, form), sent.labels)


def _summaries(pool: Pool, config: AssemblyConfig, form: Format | None) -> dict[int, str]:
    """Return the first summary among the chunks of each document, on one line, by the number of the document."""
    found: dict[int, str] = {}
    names = with_first_keys(config.summary_key)
    for document, (first, end) in enumerate(pairwise((*pool.documents, len(pool.candidates)))):
        own = [one.chunk for one in pool.candidates[first:end] if not names.isdisjoint(one.chunk.metadata)]
        if not own:  # as nearly always
            continue
        summary = next(filter(None, (page_summary(chunk, config.summary_key) for chunk in own)), "")
        line = sanitize_line(one_line(summary)) if config.sanitize else one_line(summary)
        if len(summary.splitlines()) > 1:
            line = escape_value(line, format_name(config))
        if line:
            found[document] = escape_xml(line) if form and form.has_markup else line
    return found


def page_summary(chunk: Chunk, keys: Sequence[str]) -> str:
    """Return the page summary in the metadata of `chunk`; empty if there is none."""
    for key in keys:
        value = get_path(chunk.metadata, key)
        if isinstance(value, str) and value.strip() and not chunk.is_hidden_from_model(key):
            return str.__str__(value)
    return ""
