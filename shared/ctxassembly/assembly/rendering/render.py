"""The only writer of labels, separators, markers and summaries, and the only place that alters a document's text.

Text from a document must not pass for ours: `neutral` says what goes where. Everything else is verbatim, and every
part knows the slice it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.keys import look_up
from ctxassembly.data.pieces import GAP, Header, Label, Part, Piece
from ctxassembly.errors import ConfigError
from ctxassembly.settings.config import AssemblyConfig, Separator
from ctxassembly.shown import as_text
from ctxassembly.wording.clean import escaped, one_line, sendable
from ctxassembly.wording.formats import FORMATS, Heading, Lines, shows_labels
from ctxassembly.wording.forms import RULE
from ctxassembly.wording.guards import guard_of
from ctxassembly.wording.languages import LANGUAGES
from ctxassembly.wording.neutral import goes_on, neutralised, replacements
from ctxassembly.wording.particulars import Particulars

SEPARATORS: Mapping[Separator, str] = {"blank": "\n\n", "rule": f"\n\n{RULE}\n\n"}
MARKER = f"\n{GAP}\n"
"""Between two passages of one block."""


class Renderer:
    """Writes blocks of one context. Remembers what it has written above a chunk or found harmless in one."""

    def __init__(self, config: AssemblyConfig) -> None:
        self._config = config
        self._form = config.format if isinstance(config.format, str) else "custom"
        self._guard = guard_of(self._form, config.supplement_separator)
        self._language = LANGUAGES[config.language]
        self.particulars = Particulars(config.keys, config.language, named=True)
        self._slices: dict[tuple[int, int, int, bool, bool], tuple[list[Part], bool]] = {}
        self._headings: dict[tuple[int, tuple[int | str, ...]], str] = {}
        # By identity, which is fast; each entry holds its object, so that no identity is given out twice.
        self._passages: dict[tuple[int, bool], tuple[Sequence[Piece], list[Part]]] = {}
        self._custom: dict[tuple[int, Any], tuple[Any, Lines]] = {}

    def block(self, number: int, label: Label, level: Header = Header.FULL) -> list[Part]:
        """The parts of the block that label `number` stands for: header, summary, passages with markers between."""
        header, footer = self.around(number, label, level)
        parts = self.above(header, label, level)
        for place, passage in enumerate(label.passages):
            if place:
                parts.append(Part(MARKER))
            parts += self.passage(passage, begins=not parts)
        return [*parts, *self.below(footer, label.passages[-1], level)]

    def above(self, header: str, label: Label, level: Header = Header.FULL) -> list[Part]:
        """What is written before the passages of a block: its header, and a summary that doesn't begin them anyway."""
        parts = [Part(header + "\n")] if header else []
        if level is Header.FULL:
            parts += [Part(line + "\n") for line in self._lines_of(label.best.chunk)]
        if label.summary and level is Header.FULL and not _says(label.passages[0], label.summary):
            parts.append(Part(self._language.summary.format(self._clean_line(label.summary)) + "\n"))
        return parts

    def _lines_of(self, chunk: Chunk) -> list[str]:
        """What `header_keys` say of `chunk`, in our own lines: no value can begin one."""
        lines: list[str] = []
        for key in self._config.header_keys:
            value = None if chunk.is_unread(key) else as_text(look_up(chunk.metadata, key))
            if value is not None and (line := one_line(value)):
                lines.append(neutralised(f"{one_line(key)}: {line}", self._form, self._guard))
        return lines

    def passage(self, passage: Sequence[Piece], *, begins: bool) -> list[Part]:
        """The parts of one passage, which depend on no other one; `begins` says that its block begins with it."""
        key = (id(passage), begins)
        if key in self._passages:
            return self._passages[key][1]
        parts: list[Part] = []
        at_line = True
        for at, piece in enumerate(passage):
            if piece.glue:
                parts.append(Part(piece.glue))
            at_line = at_line or "\n" in piece.glue
            continued = at + 1 < len(passage) and "\n" not in passage[at + 1].glue
            written, at_line = self._verbatim(_unindented(piece) if begins and not parts else piece, at_line, continued)
            parts += written
        self._passages[key] = (passage, parts)
        return parts

    def below(self, footer: str, passage: Sequence[Piece], level: Header = Header.FULL) -> list[Part]:
        """What is written after `passage`, the last one of a block."""
        # Between two passages stands a marker anyway.
        parts = [Part(f" {GAP}")] if level < Header.NONE and _ends_unmarked(passage) else []
        return [*parts, Part("\n" + footer)] if footer else parts

    def supplement(self, text: str, *, cut: bool) -> list[Part]:
        """The parts of supplementary `text` behind its separator; before documents a line says where it ends."""
        parts = [Part((self._config.supplement_separator or self._language.supplement) + "\n")]
        parts += self._altered(text)
        if cut:
            parts.append(Part(f" {GAP}"))
        if self._config.supplement_position == "before":
            parts.append(Part(f"\n{RULE}"))
        return parts

    def around(
        self, number: int, label: Label, level: Header = Header.FULL, pages: Sequence[int | str] | None = None
    ) -> Lines:
        """The header and the footer of a block; `pages` are those of its chunks, if they are known already."""
        if level is Header.NONE:
            return "", ""
        form = self._config.format
        if callable(form):
            # What it would write without particulars is not ours to know: it is asked for all of them or not at all.
            return self._written_by(form, number, label) if level < Header.LABEL else ("", "")
        written = FORMATS[form]
        if level is Header.LABEL:
            return written.lines(Heading(number), self._language)
        if "pages" not in written.needs:
            pages = ()
        elif pages is None:
            pages = self.particulars.pages(piece.candidate.chunk for passage in label.passages for piece in passage)
        # It is measured before its number is known, which changes nothing else in it.
        key = (label.best.key, tuple(pages))
        if key not in self._headings:
            self._headings[key] = written.writes(self._heading(1, label, pages), self._language)
        return written.header(number, self._headings[key]), written.footer

    def _heading(self, number: int, label: Label, pages: Sequence[int | str] = ()) -> Heading:
        """The heading with what its format needs; a function of the caller's gets everything."""
        read, chunk, form = self.particulars, label.best.chunk, FORMATS.get(self._form)
        source = "" if form and "source" not in form.needs else self._stated(read.source(chunk))
        stated = tuple(self._stated(page) if isinstance(page, str) else page for page in pages)
        heading = Heading(number, source, stated, score=label.best.score)
        if form and "place" not in form.needs:
            return heading
        row = read.number(chunk, "row_number")
        return replace(
            heading,
            section=self._stated(read.line(chunk, "section") or ""),
            sheet=self._stated(read.line(chunk, "sheet") or ""),
            row="" if row is None else self._stated(str(row)),
            metadata=MappingProxyType(chunk.metadata) if isinstance(chunk.metadata, dict) else chunk.metadata,
        )

    def _stated(self, line: str) -> str:
        """What metadata say, as it may stand where no label of ours is before it in the line."""
        return line if shows_labels(self._form) else neutralised(line, self._form, self._guard)

    def _written_by(self, form: Any, number: int, label: Label) -> Lines:
        """What a function of the caller's writes, asked once per heading: what is counted is what is written."""
        pages = self.particulars.pages(piece.candidate.chunk for passage in label.passages for piece in passage)
        heading, metadata = self._heading(number, label, pages), label.best.chunk.metadata
        # By the metadata, which a chunk that is cut at several places keeps.
        key = (id(metadata), (number, heading.pages, heading.score))
        if key not in self._custom:
            written = form(heading)
            lines = (written, "") if isinstance(written, str) else written
            if not isinstance(lines, tuple) or len(lines) != 2 or not all(isinstance(line, str) for line in lines):
                allowed = "a function that returns a header, or a header and a footer"
                raise ConfigError("format", allowed, written)
            self._custom[key] = (metadata, (sendable(lines[0].strip()), sendable(lines[1].strip())))
        return self._custom[key][1]

    def _verbatim(self, piece: Piece, at_line: bool, continued: bool) -> tuple[list[Part], bool]:
        """The parts of `piece`, and whether what continues it still begins a line, as the piece does if `at_line`."""
        key = (piece.candidate.key, piece.start, piece.end, at_line, continued)
        if key not in self._slices:
            text = piece.text
            parts = self._altered(text, piece.candidate, piece.start, at_line=at_line, continued=continued)
            self._slices[key] = parts, continued and goes_on(text, at_line=at_line)
        return self._slices[key]

    def _altered(
        self,
        text: str,
        candidate: Candidate | None = None,
        start: int = 0,
        *,
        at_line: bool = True,
        continued: bool = False,
    ) -> list[Part]:
        """The text, which begins at `start` of the candidate's, as parts: verbatim ones, and ours between."""
        found = replacements(text, self._form, at_line=at_line, continued=continued, guard=self._guard)
        parts: list[Part] = []
        done = 0
        for at in sorted(found):
            end, instead = found[at]
            if at > done:
                parts.append(Part(text[done:at], candidate, start + done, start + at))
            parts.append(Part(instead))
            done = end
        if done < len(text):
            parts.append(Part(text[done:], candidate, start + done, start + len(text)))
        return parts

    def _clean_line(self, text: str) -> str:
        line = one_line(text)
        return escaped(line) if self._guard.markup else line


def _unindented(piece: Piece) -> Piece:
    """The piece without leading blanks, for a text that begins with it: readers of a context strip its ends."""
    text = piece.text
    return piece._replace(start=piece.start + len(text) - len(text.lstrip()))


def _ends_unmarked(passage: Sequence[Piece]) -> bool:
    """Whether a chunk that stands in part has no marker after it, though its text may be the end of it."""
    unmarked = False
    for piece in passage:
        unmarked = piece.candidate.kept is not None or (unmarked and GAP not in piece.glue)
    return unmarked


def _says(passage: Sequence[Piece], summary: str) -> bool:
    text = "".join(piece.glue + piece.text for piece in passage)
    return one_line(summary) in one_line(text)
