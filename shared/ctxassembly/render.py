"""The only writer of labels, separators, markers and summaries, and the only place that alters a document's text.

Text from a document must not pass for ours: a label, a tag, a marker or a summary form at the start of a line gets a
backslash before it, XML gets its entities, and half a surrogate pair, which no API can send, becomes U+FFFD.
Everything else is verbatim, and every part knows the slice it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ctxassembly.config import AssemblyConfig, Format
from ctxassembly.types import Candidate, Chunk, Header, Label, Part, Piece

SEPARATOR = "\n\n"
GAP = "[...]"
"""Stands where text of the same document is missing, and at the end of text that was cut."""


PAGE_DIGITS = 9
"""A page with more digits is no number to reckon with."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of one language."""

    numbered: str
    """With {label}, {source} and {page}, which is empty or one of the two below."""
    one_page: str
    many_pages: str
    summary: str
    unknown: str


WORDINGS = {
    "en": Wording("[{label}] Source: {source}{page}", ", page {}", ", pages {}", "[Page context: {}]", "unknown"),
    "nl": Wording(
        "[{label}] Uit {source}{page}:", " (pagina {})", " (pagina's {})", "[Pagina context: {}]", "onbekend"
    ),
}

_OURS = re.compile(r"\[(?:\d+\]|Page context:|Pagina context:|\.\.\.\]|[^\]\n]{0,15}\Z)")
"""A label, a summary or the gap marker; also a bracket opened at the very end, since the next piece may complete it."""
_LINE_ENDS = "\n\r\v\f\x85\u2028\u2029"
_XML = re.compile(r"[&<>]")
_SURROGATES = re.compile(r"[\ud800-\udfff]+")
REPLACEMENT = "\ufffd"
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


class Renderer:
    """Writes blocks of one context. Remembers what it has looked up in a chunk or found harmless."""

    def __init__(self, config: AssemblyConfig) -> None:
        self._config = config
        self._wording = WORDINGS[config.language]
        # Keyed by identity, which is fast; each entry holds its object, so that no identity is given out twice.
        self._slices: dict[tuple[int, int, int], tuple[Candidate, list[Part]]] = {}
        self._particulars: dict[tuple[int, str], tuple[Chunk, str]] = {}

    def block(self, number: int, label: Label, level: Header = Header.FULL) -> list[Part]:
        """The parts of the block that label `number` stands for: header, summary, passages with markers between."""
        header, footer = self._around(number, label, level)
        parts = [Part(header)] if header else []
        if label.summary and level is Header.FULL and not _says(label.passages[0], label.summary):
            parts.append(Part(self._wording.summary.format(self._clean_line(label.summary)) + "\n"))
        for place, passage in enumerate(label.passages):
            if place:
                parts.append(Part(f"\n{GAP}\n"))
            for piece in passage:
                if piece.glue:
                    parts.append(Part(piece.glue))
                parts += self._verbatim(piece if parts else _unindented(piece))
            if passage[-1].candidate.cut and level < Header.NONE:
                parts.append(Part(f" {GAP}"))
        if footer:
            parts.append(Part(footer))
        return parts

    def _around(self, number: int, label: Label, level: Header) -> tuple[str, str]:
        if level is Header.NONE or self._config.format == "minimal":
            return "", ""
        source, pages = "", []
        if level < Header.LABEL:
            source, pages = self._source(label.best.chunk), self._pages(label)
        if self._config.format == "xml":
            return self._xml(number, source, pages, label.best.score if source else None)
        return self._numbered(number, source, pages), ""

    def _numbered(self, number: int, source: str, pages: list[int | str]) -> str:
        if not source:
            return f"[{number}]\n"
        page = self._wording.many_pages if len(pages) > 1 else self._wording.one_page
        written = page.format(_ranges(pages)) if pages else ""
        return self._wording.numbered.format(label=number, source=source, page=written) + "\n"

    def _xml(self, number: int, source: str, pages: list[int | str], score: float | None) -> tuple[str, str]:
        attributes = {"index": str(number), "source": source, "page": _ranges(pages)}
        if score is not None:
            attributes["score"] = f"{score:.3f}"
        written = "".join(f" {name}={_quoted(value)}" for name, value in attributes.items() if value)
        return f"<chunk{written}>\n", "\n</chunk>"

    def _source(self, chunk: Chunk) -> str:
        """The file, else the title, else the URL, else "unknown", on one line."""
        for name in ("source", "title", "url"):
            if line := self._particular(chunk, name):
                return line
        return self._wording.unknown

    def _pages(self, label: Label) -> list[int | str]:
        """The pages of the pieces, each once: whole numbers in ascending order, before others as they come."""
        found: dict[int | str, None] = {}
        for passage in label.passages:
            for piece in passage:
                if page := self._particular(piece.candidate.chunk, "page"):
                    found[int(page) if page.isdecimal() and len(page) <= PAGE_DIGITS else page] = None
        return sorted(found, key=lambda page: page if isinstance(page, int) else math.inf)

    def _particular(self, chunk: Chunk, name: str) -> str:
        """What the metadata say under any of the keys of `name`, on one line; nothing if they don't."""
        key = (id(chunk), name)
        if key not in self._particulars:
            value = self._config.keys.read(chunk.metadata, name)
            self._particulars[key] = (chunk, "" if value is None else _one_line(str(value)))
        return self._particulars[key][1]

    def _verbatim(self, piece: Piece) -> list[Part]:
        key = (id(piece.candidate), piece.start, piece.end)
        if key not in self._slices:
            self._slices[key] = (piece.candidate, list(_split(piece, self._config.format)))
        return self._slices[key][1]

    def _clean_line(self, text: str) -> str:
        line = _one_line(text)
        return "".join(_ENTITIES.get(c, c) for c in line) if self._config.format == "xml" else line


def _split(piece: Piece, form: Format) -> Iterator[Part]:
    """The slice as parts: verbatim ones, and between them what replaces or precedes a character."""
    text = piece.text
    found: dict[int, tuple[int, str]] = {}
    """Where something of ours goes: up to which character it replaces the text (none, if it only precedes it)."""
    for match in _OURS.finditer(text):
        if _begins_line(text, match.start()):
            found[match.start()] = (match.start(), "\\")
    if form == "xml":
        found |= {match.start(): (match.end(), _ENTITIES[match[0]]) for match in _XML.finditer(text)}
    if not _encodable(text):
        found |= {at.start(): (at.end(), REPLACEMENT * len(at[0])) for at in _SURROGATES.finditer(text)}
    done = 0
    for at in sorted(found):
        end, instead = found[at]
        if at > done:
            yield Part(text[done:at], piece.candidate, piece.start + done, piece.start + at)
        yield Part(instead)
        done = end
    if done < len(text):
        yield Part(text[done:], piece.candidate, piece.start + done, piece.end)


def _encodable(text: str) -> bool:
    """Whether no half of a surrogate pair is in it; encoding finds out faster than looking for one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _begins_line(text: str, at: int) -> bool:
    while at and text[at - 1] in " \t":
        at -= 1
    return not at or text[at - 1] in _LINE_ENDS


def _unindented(piece: Piece) -> Piece:
    """The piece without leading blanks, for a text that begins with it: readers of a context strip its ends."""
    text = piece.text
    return piece._replace(start=piece.start + len(text) - len(text.lstrip()))


def _says(passage: Sequence[Piece], summary: str) -> bool:
    text = "".join(piece.glue + piece.text for piece in passage)
    return _one_line(summary) in _one_line(text)


def _one_line(text: str) -> str:
    return _SURROGATES.sub(lambda found: REPLACEMENT * len(found[0]), " ".join(text.split()))


def _quoted(value: str) -> str:
    """An attribute's value, which is one line. What `xml.sax.saxutils.quoteattr` gives, without loading `http`."""
    escaped = "".join(_ENTITIES.get(c, c) for c in value)
    if '"' not in escaped:
        return f'"{escaped}"'
    return f"'{escaped}'" if "'" not in escaped else '"' + escaped.replace('"', "&quot;") + '"'


def _ranges(pages: Iterable[int | str]) -> str:
    """Pages as a reader writes them: "3-5, 9". Only whole numbers make ranges."""
    runs: list[tuple[int | str, int | str]] = []
    for page in pages:
        if runs and isinstance(page, int) and runs[-1][1] == page - 1:
            runs[-1] = (runs[-1][0], page)
        else:
            runs.append((page, page))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
