"""The only writer of labels, separators, markers and summaries, and the only code that alters a document's text.

Text from a document must not pass for ours: a forged label would be cited as a source. `wording/label_guards.py`
decides which characters are replaced, by what. Everything else is verbatim, and every part has the slice of its chunk.

Blocks are written many times while the budget is filled. So passages, slices and headings are cached: none of them
depends on the rest of the context. The number of a label is inserted last; it changes nothing else in a header.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import Any

from ctxassembly.assembly.rendering.earlier import NOTHING_EARLIER, Earlier
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import GAP, Candidate, CitationBlock, HeaderDetail, RenderedPart, TextPiece
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import get_path
from ctxassembly.errors import ConfigError
from ctxassembly.tokens.cache import TextCache
from ctxassembly.wording.formats import FORMATS, Heading, Lines, page_text
from ctxassembly.wording.label_guards import (
    build_guard,
    escape_labels,
    escape_replacements,
    escape_value,
    is_line_start_after,
)
from ctxassembly.wording.languages import LANGUAGES
from ctxassembly.wording.metadata_labels import MetadataReader, line_of
from ctxassembly.wording.sanitize import NOTHING_LEFT, sanitize_line
from ctxassembly.wording.unicode import escape_xml, make_encodable, one_line

BLOCK_SEPARATOR = "\n\n"
"""Between two blocks."""
PASSAGE_MARKER = f"\n{GAP}\n"
"""Between two passages of one block."""
CACHE_BYTES = 8 * 1024 * 1024
"""Bytes of the cached texts and of what is replaced in them: some 4,000 of 1,500 characters."""
MAX_CONTINUATION_CHARS = 500
"""Characters after a piece that decide whether they complete a form that the piece ends with."""
_REPLACEMENT_BYTES = 200
"""Bytes of a cached replacement, and of a way to read a text."""

Replacements = Mapping[int, tuple[int, str]]
"""What is replaced in a text: start -> (end, replacement)."""
_REPLACEMENTS = TextCache[dict[tuple[str, bool, bool, bool, tuple[str, ...]], Replacements]](
    CACHE_BYTES, lambda found: _REPLACEMENT_BYTES * sum(1 + len(replaced) for replaced in found.values())
)
"""The replacements in each text, by format, whether it begins a line and continues, `sanitize`, and own lines."""


class Renderer:
    """The writer of one context's blocks, with a cache of the headings, slices and passages written so far."""

    def __init__(
        self, config: AssemblyConfig, earlier: Earlier = NOTHING_EARLIER, own_lines: tuple[str, ...] = ()
    ) -> None:
        self.config = config
        self.earlier = earlier
        self._own_lines = own_lines
        """Lines of the caller's own, which no text may begin a line with: the separator of a supplement."""
        self._format_name = config.format if isinstance(config.format, str) else "custom"
        self._form = FORMATS.get(self._format_name)
        """The record of the format; None for a function of the caller."""
        self._has_markup = self._form is not None and self._form.has_markup
        self._language = LANGUAGES[config.language]
        self.particulars = MetadataReader(config.keys, config.language, for_header=True)
        # By identity, which is fast; each entry holds its object, so that no identity is given out twice.
        self._headings: dict[int, tuple[Sequence[tuple[TextPiece, ...]], str]] = {}
        self._passages: dict[tuple[int, bool], tuple[Sequence[TextPiece], list[RenderedPart]]] = {}
        self._custom_cache: dict[tuple[int, Any], tuple[Any, Lines]] = {}

    def block(self, number: int, label: CitationBlock, detail: HeaderDetail = HeaderDetail.FULL) -> list[RenderedPart]:
        """Return the parts of block `number`: header, summary, and passages with markers between."""
        parts, footer = self.heading(number, label, detail)
        for at, passage in enumerate(label.passages):
            if at:
                parts.append(RenderedPart(PASSAGE_MARKER))
            parts += self.passage(passage, is_first=not parts)
        return [*parts, *self.footer_parts(footer, label.passages[-1], detail)]

    def heading(
        self, number: int, label: CitationBlock, detail: HeaderDetail = HeaderDetail.FULL
    ) -> tuple[list[RenderedPart], str]:
        """Return the parts before the passages of a block, and its footer.

        They are the header, and below it the lines of `header_keys`, those about earlier text, and the summary unless
        the first passage has it.
        """
        header, footer = self._header_and_footer(number, label, detail)
        lines = [header] if header else []
        if detail is HeaderDetail.FULL:
            if self.config.header_keys:
                lines += self._header_lines(label.best_candidate.chunk)
            if self.earlier.chunks:
                lines += self._earlier_lines(label)
            if label.summary and not _contains_summary(label.passages[0], label.summary):
                lines.append(self._language.summary.format(self._clean_line(label.summary)))
        return [RenderedPart(line + "\n") for line in lines], footer

    def _header_lines(self, chunk: Chunk) -> list[str]:
        """Return the values of `chunk` under `header_keys`, each on a line after its key: no value can begin a line."""
        lines: list[str] = []
        for key in self.config.header_keys:
            value = None if chunk.is_hidden_from_model(key) else line_of(get_path(chunk.metadata, key), key)
            if value is not None and (line := self._sanitize_line(value)):
                safe_value = escape_value(line, self._format_name)
                lines.append(escape_labels(f"{one_line(key)}: {safe_value}", self._format_name))
        return lines

    def _earlier_lines(self, label: CitationBlock) -> list[str]:
        """Return a line for each label under which the conversation has adjoining text; none in a format without."""
        by_label: dict[str, list[Chunk]] = {}
        if self._form and self._form.has_labels:
            for sent in self.earlier.adjoining(label):
                by_label.setdefault(sent.label, []).append(sent.chunk)
        return [self._earlier_line(own, by_label[own]) for own in sorted(by_label, key=int)]

    def _earlier_line(self, label: str, chunks: Sequence[Chunk]) -> str:
        cited = FORMATS[self._format_name].citation_examples[0].replace("1", label)
        pages = self._safe_pages(chunks)
        line = self._language.continues_above.format(cited) + page_text(pages, self._language)
        return escape_xml(line) if self._has_markup else line

    def passage(self, passage: Sequence[TextPiece], *, is_first: bool) -> list[RenderedPart]:
        """Return the parts of one passage; `is_first` is True if its block begins with it. No other passage matters."""
        key = (id(passage), is_first)
        if key in self._passages:
            return self._passages[key][1]
        parts: list[RenderedPart] = []
        is_line_start, last = True, len(passage) - 1
        for at, piece in enumerate(passage):
            if piece.separator:
                parts.append(RenderedPart(piece.separator))
                is_line_start = is_line_start or "\n" in piece.separator
            own = _strip_indent(piece) if is_first and not parts else piece
            text, is_continued = own.text, at < last and "\n" not in passage[at + 1].separator
            replaced = self._replacements(text, is_line_start, is_continued)
            # What the next piece may complete is in the last line, if no tokens and links are defused.
            is_doubtful = is_continued and (max(replaced, default=-1) > text.rfind("\n") or self.config.sanitize)
            if is_doubtful and replaced != self._replacements(text, is_line_start, False):
                replaced = self._completed(replaced, text, is_line_start, _rest_of_line(islice(passage, at + 1, None)))
            parts += split_parts(text, replaced, own.candidate, own.start)
            is_line_start = is_continued and is_line_start_after(text, at_line=is_line_start)
        if self.config.sanitize:
            parts = _trim_parts(parts, is_first=is_first)
        self._passages[key] = (passage, parts)
        return parts

    def footer_parts(
        self, footer: str, passage: Sequence[TextPiece], detail: HeaderDetail = HeaderDetail.FULL
    ) -> list[RenderedPart]:
        """Return the parts after `passage`, the last one of a block: a marker if its end was cut, and the footer."""
        # Only the last passage needs a marker of its own: between two there is one anyway.
        parts = [RenderedPart(_end_marker(passage))] if detail < HeaderDetail.NONE and _is_end_cut(passage) else []
        return [*parts, RenderedPart("\n" + footer)] if footer else parts

    def supplement(self, text: str, *, is_cut: bool) -> list[RenderedPart]:
        """Return the parts of supplementary `text` after its separator."""
        separator = self._own_lines[0] if self._own_lines else self._language.supplement
        parts = [RenderedPart(separator + "\n")]
        escaped_parts = self._escape_text(text)
        parts += _trim_parts(escaped_parts, is_first=True) if self.config.sanitize and escaped_parts else escaped_parts
        if is_cut:
            parts.append(RenderedPart(f" {GAP}"))
        return parts

    def _header_and_footer(self, number: int, label: CitationBlock, detail: HeaderDetail) -> Lines:
        if detail is HeaderDetail.NONE:
            return "", ""
        if callable(self.config.format):
            # A caller's function gets a heading with everything or isn't called: it may not cope with less.
            return self._custom_lines(self.config.format, number, label) if detail < HeaderDetail.LABEL else ("", "")
        form = FORMATS[self.config.format]
        if detail is HeaderDetail.LABEL:
            return form.lines(Heading(number), self._language)
        known = self._headings.get(id(label.passages))
        if known is None:
            # Written as number 1: a header is measured before its number is known.
            rest = form.write_header(self._heading(1, label), self._language)
            known = self._headings[id(label.passages)] = label.passages, rest
        return form.header(number, known[1]), form.footer

    def _heading(self, number: int, label: CitationBlock) -> Heading:
        """Return the heading with the fields that its format needs; a caller's function gets all of them."""
        reader, chunk = self.particulars, label.best_candidate.chunk
        needs = self._form.needs if self._form else ("source", "pages", "place")
        chunks = {piece.candidate.key: piece.candidate.chunk for passage in label.passages for piece in passage}
        pages = self._safe_pages(chunks.values()) if "pages" in needs else ()
        source = self._safe_value(reader.source(chunk)) if "source" in needs else ""
        heading = Heading(number, source, pages, score=label.best_candidate.score)
        if "place" not in needs:
            return heading
        row = reader.number(chunk, "row_number")
        return replace(
            heading,
            section=self._safe_value(reader.line(chunk, "section") or ""),
            sheet=self._safe_value(reader.line(chunk, "sheet") or ""),
            row="" if row is None else self._safe_value(str(row)),
            metadata=MappingProxyType(chunk.metadata) if isinstance(chunk.metadata, dict) else chunk.metadata,
        )

    def _safe_pages(self, chunks: Iterable[Chunk]) -> tuple[int | str, ...]:
        pages = self.particulars.pages(chunks)
        return tuple([self._safe_value(page) if isinstance(page, str) else page for page in pages])

    def _safe_value(self, line: str) -> str:
        """Return a `line` of metadata that forges no label, and no line of ours if the format writes no label."""
        line = self._sanitize_line(line)
        if not (self._form and self._form.has_labels):
            line = escape_labels(line, self._format_name)
        return escape_value(line, self._format_name)

    def _sanitize_line(self, line: str) -> str:
        return sanitize_line(line) if self.config.sanitize else line

    def _custom_lines(self, form: Any, number: int, label: CitationBlock) -> Lines:
        """Return the lines of a caller's function, called once per heading: the text counted is the text written."""
        heading, metadata = self._heading(number, label), label.best_candidate.chunk.metadata
        # By the metadata, which stay the same object however a chunk is cut.
        key = (id(metadata), (number, heading.pages, heading.score))
        if key not in self._custom_cache:
            returned = form(heading)
            lines = (returned, "") if isinstance(returned, str) else returned
            if not isinstance(lines, tuple) or len(lines) != 2 or not all(isinstance(line, str) for line in lines):
                allowed = "a function that returns a header, or a header and a footer"
                raise ConfigError("format", allowed, returned)
            self._custom_cache[key] = (metadata, (make_encodable(lines[0].strip()), make_encodable(lines[1].strip())))
        return self._custom_cache[key][1]

    def _completed(self, replaced: Replacements, text: str, is_line_start: bool, continuation: str) -> Replacements:
        """Return the changes among `replaced` in `text` that are needed if `continuation` completes its line."""
        is_cut = len(continuation) == MAX_CONTINUATION_CHARS
        known = self._replacements(text + continuation, is_line_start, is_cut)
        # At the end of the text, a change belongs to it only if what it interrupts begins in it.
        return {at: known[at] for at in known if at < len(text) or (at == len(text) and at in replaced)}

    def _escape_text(self, text: str) -> list[RenderedPart]:
        """Return `text` of no chunk as parts, with our replacements between."""
        return split_parts(text, self._replacements(text, True, False))

    def _replacements(self, text: str, is_line_start: bool, is_continued: bool) -> Replacements:
        """Return the replacements in `text`, which are cached across assemblies."""
        form, sanitize = self._format_name, self.config.sanitize
        variant = (form, is_line_start, is_continued, sanitize, self._own_lines)
        known = _REPLACEMENTS.get(text) or {}
        found = known.get(variant)
        if found is None:
            guard = build_guard(form, self._own_lines)
            found = escape_replacements(
                text, form, at_line=is_line_start, continued=is_continued, guard=guard, sanitize=sanitize
            )
            _REPLACEMENTS.put(text, {**known, variant: found})
        return found

    def _clean_line(self, text: str) -> str:
        line = self._sanitize_line(one_line(text))
        if len(text.splitlines()) > 1:
            line = escape_value(line, self._format_name)
        return escape_xml(line) if self._has_markup else line


def split_parts(
    text: str, replaced: Replacements, candidate: Candidate | None = None, start: int = 0
) -> list[RenderedPart]:
    """Return `text`, at `start` in the candidate's text, as verbatim parts with the replacements between."""
    parts: list[RenderedPart] = []
    copied_to = 0
    for at in sorted(replaced):
        end, replacement = replaced[at]
        if at > copied_to:
            parts.append(RenderedPart(text[copied_to:at], candidate, start + copied_to, start + at))
        if replacement:
            parts.append(RenderedPart(replacement))
        copied_to = end
    if copied_to < len(text):
        parts.append(RenderedPart(text[copied_to:], candidate, start + copied_to, start + len(text)))
    return parts


def _rest_of_line(following: Iterable[TextPiece]) -> str:
    """Return the text up to the next line break; cut at `MAX_CONTINUATION_CHARS` characters."""
    parts: list[str] = []
    length = 0
    for piece in following:
        part = piece.separator + piece.candidate.chunk.text[piece.start : piece.end][:MAX_CONTINUATION_CHARS]
        parts.append(part[: MAX_CONTINUATION_CHARS - length].partition("\n")[0])
        length += len(parts[-1])
        if length == MAX_CONTINUATION_CHARS or "\n" in part:
            break
    return "".join(parts)


def _strip_indent(piece: TextPiece) -> TextPiece:
    """Return `piece` without leading white space, to begin a text with: callers strip the ends of a context."""
    text = piece.text
    return piece._replace(start=piece.start + len(text) - len(text.lstrip()))


def _trim_parts(parts: Sequence[RenderedPart], *, is_first: bool) -> list[RenderedPart]:
    """Return `parts` without white space at the end; if they begin a block (`is_first`), also at the beginning."""
    remaining = [*parts]
    while remaining and not (text := remaining[-1].text.rstrip()):
        remaining.pop()
    if remaining:
        remaining[-1] = remaining[-1]._replace(text=text, end=remaining[-1].end - len(remaining[-1].text) + len(text))
    while is_first and remaining and not (text := remaining[0].text.lstrip()):
        remaining.pop(0)
    if is_first and remaining:
        remaining[0] = remaining[0]._replace(text=text, start=remaining[0].start + len(remaining[0].text) - len(text))
    return remaining or [RenderedPart(NOTHING_LEFT)]


def _is_end_cut(passage: Sequence[TextPiece]) -> bool:
    """Return True if the chunk that `passage` ends with goes on."""
    candidate, end = passage[-1].candidate, passage[-1].end
    return candidate.kept_spans is not None and bool(candidate.chunk.text[end:].strip())


def _end_marker(passage: Sequence[TextPiece]) -> str:
    """Return the marker after `passage`: on a line of its own behind a row of a table, which it would seem part of."""
    last_line = passage[-1].text.rpartition("\n")[2]
    return f"\n{GAP}" if last_line.lstrip().startswith("|") else f" {GAP}"


def _contains_summary(passage: Sequence[TextPiece], summary: str) -> bool:
    """Return True if `passage` has the `summary` in its text, white space apart."""
    text = "".join(piece.separator + piece.text for piece in passage)
    return one_line(summary) in one_line(text)
