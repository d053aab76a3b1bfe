"""The only writer of labels, separators, markers and summaries, and the only code that alters a document's text.

Text from a document must not pass for ours: a forged label would be cited as a source. `wording/neutral.py` decides
which characters are replaced, by what. Everything else is verbatim, and every part knows the slice of its chunk.

Blocks are written again and again while the budget is filled. So passages, slices and headings are remembered: none of
them depends on what else stands in the context. The number of a label is put in last; it changes nothing else in a
header.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ctxassembly.config.assembly import AssemblyConfig, Separator
from ctxassembly.data.candidates import GAP, Candidate, Header, Label, Part, Piece
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import look_up
from ctxassembly.errors import ConfigError
from ctxassembly.safe_repr import as_text
from ctxassembly.tokens.cache import Remembered
from ctxassembly.wording.formats import FORMATS, Heading, Lines, shows_labels
from ctxassembly.wording.label_guards import RULE, goes_on, guard_of, neutral_value, neutralised, replacements
from ctxassembly.wording.languages import LANGUAGES
from ctxassembly.wording.metadata_labels import Particulars
from ctxassembly.wording.sanitize import NOTHING_LEFT, sanitized
from ctxassembly.wording.unicode import escaped, one_line, sendable

SEPARATORS: Mapping[Separator, str] = {"blank": "\n\n", "rule": f"\n\n{RULE}\n\n"}
MARKER = f"\n{GAP}\n"
"""Between two passages of one block."""
REMEMBERED_BYTES = 8 * 1024 * 1024
"""Bytes of the texts that are remembered as harmless: some 4,000 of 1,500 characters."""
MOST_WAYS = 4
"""Most ways to read a text that are remembered: by format, and by whether it begins a line and goes on."""

_HARMLESS = Remembered[tuple[tuple[str, str | None, bool, bool, bool], ...]](REMEMBERED_BYTES)
"""The ways to read each text in which nothing of it is replaced."""


class Renderer:
    """The writer of one context's blocks, with a memory of the headings, slices and passages written so far."""

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
        """The parts of block `number`: header, summary, and passages with markers between."""
        header, footer = self.around(number, label, level)
        parts = self.above(header, label, level)
        for at, passage in enumerate(label.passages):
            if at:
                parts.append(Part(MARKER))
            parts += self.passage(passage, begins=not parts)
        return [*parts, *self.below(footer, label.passages[-1], level)]

    def above(self, header: str, label: Label, level: Header = Header.FULL) -> list[Part]:
        """The parts before the passages of a block: its header, and a summary unless the first passage has it."""
        parts = [Part(header + "\n")] if header else []
        if level is Header.FULL:
            parts += [Part(line + "\n") for line in self._lines_of(label.best.chunk)]
        if label.summary and level is Header.FULL and not _says(label.passages[0], label.summary):
            parts.append(Part(self._language.summary.format(self._clean_line(label.summary)) + "\n"))
        return parts

    def _lines_of(self, chunk: Chunk) -> list[str]:
        """The values of `chunk` under `header_keys`, each on a line after its key: no value can begin a line."""
        lines: list[str] = []
        for key in self._config.header_keys:
            value = None if chunk.is_unread(key) else as_text(look_up(chunk.metadata, key))
            if value is not None and (line := self._sanitized(one_line(value))):
                stated = neutral_value(line, self._form, self._guard)
                lines.append(neutralised(f"{one_line(key)}: {stated}", self._form, self._guard))
        return lines

    def passage(self, passage: Sequence[Piece], *, begins: bool) -> list[Part]:
        """The parts of one passage, which depend on no other one; `begins` is True if its block begins with it."""
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
        if self._config.sanitize:
            parts = _trimmed(parts, begins=begins)
        self._passages[key] = (passage, parts)
        return parts

    def below(self, footer: str, passage: Sequence[Piece], level: Header = Header.FULL) -> list[Part]:
        """The parts after `passage`, the last one of a block: a marker if its end was cut, and the footer."""
        # Only the last passage needs a marker of its own: between two there is one anyway.
        parts = [Part(f" {GAP}")] if level < Header.NONE and _ends_cut(passage) else []
        return [*parts, Part("\n" + footer)] if footer else parts

    def supplement(self, text: str, *, cut: bool) -> list[Part]:
        """The parts of supplementary `text` after its separator; before documents a rule ends it."""
        parts = [Part((self._config.supplement_separator or self._language.supplement) + "\n")]
        altered = self._altered(text)
        parts += _trimmed(altered, begins=True) if self._config.sanitize and altered else altered
        if cut:
            parts.append(Part(f" {GAP}"))
        if self._config.supplement_position == "before":
            parts.append(Part(f"\n{RULE}"))
        return parts

    def around(
        self, number: int, label: Label, level: Header = Header.FULL, pages: Sequence[int | str] | None = None
    ) -> Lines:
        """The header and the footer of a block; `pages` are the pages of its chunks, if known already."""
        if level is Header.NONE:
            return "", ""
        form = self._config.format
        if callable(form):
            # A caller's function gets a heading with everything or isn't called: it may not cope with less.
            return self._written_by(form, number, label) if level < Header.LABEL else ("", "")
        written = FORMATS[form]
        if level is Header.LABEL:
            return written.lines(Heading(number), self._language)
        if "pages" not in written.needs:
            pages = ()
        elif pages is None:
            pages = self.particulars.pages(piece.candidate.chunk for passage in label.passages for piece in passage)
        # Written as number 1: a header is measured before its number is known.
        key = (label.best.key, tuple(pages))
        if key not in self._headings:
            self._headings[key] = written.writes(self._heading(1, label, pages), self._language)
        return written.header(number, self._headings[key]), written.footer

    def _heading(self, number: int, label: Label, pages: Sequence[int | str] = ()) -> Heading:
        """The heading with the fields that its format needs; a caller's function gets all of them."""
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
        """A `line` of metadata that forges no label, and no line of ours if the format puts no label before it."""
        line = self._sanitized(line)
        if not shows_labels(self._form):
            line = neutralised(line, self._form, self._guard)
        return neutral_value(line, self._form, self._guard)

    def _sanitized(self, line: str) -> str:
        return sanitized(line) if self._config.sanitize else line

    def _written_by(self, form: Any, number: int, label: Label) -> Lines:
        """The lines of a caller's function, called once per heading: the text counted is the text written."""
        pages = self.particulars.pages(piece.candidate.chunk for passage in label.passages for piece in passage)
        heading, metadata = self._heading(number, label, pages), label.best.chunk.metadata
        # By the metadata, which stay the same object however a chunk is cut.
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
        """The parts of `piece`, and True if the text after it still begins a line, as the piece does if `at_line`."""
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
        """`text`, which begins at `start` in the candidate's, as verbatim parts with our replacements between."""
        found = self._replacements(text, at_line=at_line, continued=continued)
        if not found:
            return [Part(text, candidate, start, start + len(text))] if text else []
        parts: list[Part] = []
        done = 0
        for at in sorted(found):
            end, instead = found[at]
            if at > done:
                parts.append(Part(text[done:at], candidate, start + done, start + at))
            if instead:
                parts.append(Part(instead))
            done = end
        if done < len(text):
            parts.append(Part(text[done:], candidate, start + done, start + len(text)))
        return parts

    def _replacements(self, text: str, *, at_line: bool, continued: bool) -> Mapping[int, tuple[int, str]]:
        """What is replaced in `text`. Mostly nothing, which is remembered from one assembly to the next."""
        sanitize = self._config.sanitize
        how = (self._form, self._config.supplement_separator, at_line, continued, sanitize)
        harmless = _HARMLESS.get(text)
        if harmless is not None and how in harmless:
            return {}
        found = replacements(
            text, self._form, at_line=at_line, continued=continued, guard=self._guard, sanitize=sanitize
        )
        if not found and len(harmless or ()) < MOST_WAYS:
            _HARMLESS.put(text, (*(harmless or ()), how))
        return found

    def _clean_line(self, text: str) -> str:
        line = self._sanitized(one_line(text))
        if len(text.splitlines()) > 1:
            line = neutral_value(line, self._form, self._guard)
        return escaped(line) if self._guard.markup else line


def _unindented(piece: Piece) -> Piece:
    """`piece` without leading white space, to begin a text with: callers strip the ends of a context."""
    text = piece.text
    return piece._replace(start=piece.start + len(text) - len(text.lstrip()))


def _trimmed(parts: Sequence[Part], *, begins: bool) -> list[Part]:
    """`parts` without white space at the end, and at the beginning if a block `begins` so: a deletion leaves some."""
    left = [*parts]
    while left and not (text := left[-1].text.rstrip()):
        left.pop()
    if left:
        left[-1] = left[-1]._replace(text=text, end=left[-1].end - len(left[-1].text) + len(text))
    while begins and left and not (text := left[0].text.lstrip()):
        left.pop(0)
    if begins and left:
        left[0] = left[0]._replace(text=text, start=left[0].start + len(left[0].text) - len(text))
    return left or [Part(NOTHING_LEFT)]


def _ends_cut(passage: Sequence[Piece]) -> bool:
    """True if the chunk that `passage` ends with goes on, or may do so beyond what was read of it."""
    candidate, end = passage[-1].candidate, passage[-1].end
    is_read = candidate.read_from is None
    return candidate.kept is not None and not (is_read and not candidate.chunk.text[end:].strip())


def _says(passage: Sequence[Piece], summary: str) -> bool:
    """True if `passage` has the `summary` in its text, white space apart."""
    text = "".join(piece.glue + piece.text for piece in passage)
    return one_line(summary) in one_line(text)
