"""The particulars of chunks: source, section, page and so on, read from their metadata.

Headers, citations and references read them here, so they never disagree. Values come in any type: `line` makes one line
of text of them, `number` a whole number where it can.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.keys import MetadataKeys
from ctxassembly.shown import as_text
from ctxassembly.wording.clean import one_line
from ctxassembly.wording.formats import Heading, reference
from ctxassembly.wording.languages import LANGUAGES

NUMBER_DIGITS = 9
"""Most digits of a page or a row that is read as a number."""


class Particulars:
    """A reader of metadata under the configured keys. It remembers the values that it has read.

    With `named`, it reads for a header: the keys that a chunk declares `unnamed` are left out. Without a `language`, an
    unknown source is empty.
    """

    def __init__(self, keys: MetadataKeys, language: str = "", *, named: bool = False) -> None:
        self._keys = keys
        self._named = named
        self._words = LANGUAGES[language or "en"]
        self._unknown = self._words.unknown if language else ""
        # Keyed by identity, since hashing a chunk takes long. Each entry holds its chunk, so that no id is reused.
        self._lines: dict[tuple[int, str], tuple[Chunk, str | None]] = {}
        self._numbers: dict[tuple[int, str], tuple[Chunk, int | str | None]] = {}

    def line(self, chunk: Chunk, name: str) -> str | None:
        """The particular `name` ("source", "section", ...) on one line; None if no key holds it."""
        key = (id(chunk), name)
        if key not in self._lines:
            value = self._keys.read(self._metadata(chunk), name)
            if isinstance(value, float):  # a column with gaps has 3.0 for 3, and NaN for nothing
                value = int(value) if value.is_integer() else value if math.isfinite(value) else None
            text = value if value is None or type(value) is str else as_text(value)  # no call for a string: most are
            line = "" if text is None else one_line(text)
            # LlamaIndex writes the path of a section with slashes around it.
            if name == "section" and line[:1] == "/" == line[-1:]:
                line = line.strip("/ ")
            self._lines[key] = (chunk, line or None)
        return self._lines[key][1]

    def said(self, chunk: Chunk, name: str) -> str | None:
        """The particular `name` on one line, several values joined by commas; None if no key holds it."""
        value = self._keys.read(chunk.metadata, name)
        if value is None:  # the usual case, for up to thousands of chunks: nothing is remembered for it
            return None
        if isinstance(value, (set, frozenset)):
            value = sorted(as_text(item) or "" for item in value)  # sets have another order in every run
        if isinstance(value, (list, tuple)):
            return one_line(", ".join(said for item in value if (said := as_text(item)))) or None
        return self.line(chunk, name)

    def number(self, chunk: Chunk, name: str) -> int | str | None:
        """The particular `name` as a whole number, else as a line; a page is counted from 1."""
        key = (id(chunk), name)
        if key not in self._numbers:
            metadata = self._metadata(chunk)
            number = self._keys.read(metadata, name)
            if type(number) is not int or not 0 <= number < 10**NUMBER_DIGITS:
                line = self.line(chunk, name)
                number = int(line) if line and line.isdecimal() and len(line) <= NUMBER_DIGITS else line
            if name == "page" and type(number) is int:
                number = self._keys.counted_page(metadata, number)
            self._numbers[key] = (chunk, number)
        return self._numbers[key][1]

    def _metadata(self, chunk: Chunk) -> Mapping[str, Any]:
        if not (self._named and chunk.unnamed):
            return chunk.metadata
        return {key: value for key, value in chunk.metadata.items() if key not in chunk.unnamed}

    def source(self, chunk: Chunk) -> str:
        """The file, else the title, else the URL, else "unknown" in the language; on one line."""
        for name in ("source", "title", "url"):
            if line := self.line(chunk, name):
                return line
        return self._unknown

    def reference(self, chunk: Chunk, pages: tuple[int | str, ...]) -> str:
        """The source of `chunk` with its section, sheet and row, or with `pages` if it has none; on one line."""
        row = self.number(chunk, "row_number")
        section, sheet = self.line(chunk, "section") or "", self.line(chunk, "sheet") or ""
        heading = Heading(1, self.source(chunk), pages, section, sheet, "" if row is None else str(row))
        return reference(heading, self._words)

    def pages(self, chunks: Iterable[Chunk]) -> tuple[int | str, ...]:
        """The pages of `chunks`, each once: whole numbers first and ascending, others as they come."""
        found = {page: None for chunk in chunks if (page := self.number(chunk, "page")) is not None}
        return tuple(sorted(found, key=lambda page: page if isinstance(page, int) else math.inf))
