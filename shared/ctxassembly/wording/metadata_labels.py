"""The details of chunks: source, section, page and so on, read from their metadata.

Headers, citations and references all read them here, so they never disagree. Values may have any type: `line` converts
them to one line of text, `number` to a whole number if possible. A list of values also becomes one line; a list of
pages, several pages.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import FILE_PATH_KEY, MetadataKeys, get_path
from ctxassembly.safe_repr import safe_repr, to_text
from ctxassembly.wording.formats import Heading, reference_text
from ctxassembly.wording.languages import LANGUAGES
from ctxassembly.wording.unicode import one_line

MAX_NUMBER_DIGITS = 9
"""Most digits of a page or a row that is read as a number."""
_FOLDERS, _ROMAN = re.compile(r".*[/\\](?=[^/\\])", re.DOTALL), re.compile("[ivxl]+", re.IGNORECASE)
_LISTS = (list, tuple, range, set, frozenset)
_NO_HEADING = "#TITLE#"
"""What LangChain's HTMLSectionSplitter writes as the heading of text before the first one."""
_ITEM_SEPARATORS = {"section": " > "}
"""The text between the items of a list, where it isn't a comma."""


class MetadataReader:
    """A reader of metadata under the configured keys. It remembers the values that it has read.

    With `for_header`, it reads for a header: the keys that a chunk declares `unnamed` are left out. Without a
    `language`, an unknown source is empty.
    """

    def __init__(self, keys: MetadataKeys, language: str = "", *, for_header: bool = False) -> None:
        self._keys = keys
        self._for_header = for_header
        self._words = LANGUAGES[language or "en"]
        self._unknown = self._words.unknown if language else ""
        # Keyed by identity, since hashing a chunk takes long. Each entry holds its chunk, so that no id is reused.
        self._lines: dict[tuple[int, str], tuple[Chunk, str | None]] = {}
        self._pages: dict[int, tuple[Chunk, tuple[int | str, ...]]] = {}

    def line(self, chunk: Chunk, name: str) -> str | None:
        """Return the particular `name` ("source", "section", ...) on one line; None if no key holds it."""
        key = (id(chunk), name)
        known = self._lines.get(key)
        if known is None:
            metadata = self._metadata(chunk)
            value = self._keys.read(metadata, name)
            if name == "source" and isinstance(value, str) and value == get_path(metadata, FILE_PATH_KEY):
                value = value if value == get_path(metadata, name) else _FOLDERS.sub("", value)
            known = self._lines[key] = chunk, line_of(value, name)
        return known[1]

    def number(self, chunk: Chunk, name: str) -> int | str | None:
        """Return the particular `name` as a whole number, else as a line; of several pages the first one."""
        if name == "page":
            return next(iter(self.pages([chunk])), None)
        value = self._keys.read(self._metadata(chunk), name)
        return value if value is None or _is_number(value) else _number(self.line(chunk, name))

    def pages_of(self, chunk: Chunk) -> tuple[int | str, ...]:
        """Return the pages of `chunk` as they come, each a whole number counted from 1, else a line."""
        known = self._pages.get(id(chunk))
        if known is None:
            metadata = self._metadata(chunk)
            value = self._keys.read(metadata, "page")
            found: list[int | str] = []
            for item in (value,) if value is None or _is_number(value) else _items(value):
                page = item if _is_number(item) else _number(line_of(item, "page"))
                counted = self._keys.page_number(metadata, page) if type(page) is int else page
                if counted is not None:
                    found.append(counted)
            known = self._pages[id(chunk)] = chunk, tuple(found)
        return known[1]

    def _metadata(self, chunk: Chunk) -> Mapping[str, Any]:
        if not (self._for_header and chunk.hidden_from_header):
            return chunk.metadata
        return {key: value for key, value in chunk.metadata.items() if key not in chunk.hidden_from_header}

    def source(self, chunk: Chunk) -> str:
        """Return the file, else the title, else the URL, else "unknown" in the language; on one line."""
        return self.known_source(chunk) or self._unknown

    def known_source(self, chunk: Chunk) -> str:
        """Return the same, but nothing if none is known."""
        return next(filter(None, (self.line(chunk, name) for name in ("source", "title", "url"))), "")

    def heading(self, chunk: Chunk, chunks: Iterable[Chunk], safe: Callable[[str], str] = str) -> Heading:
        """Return what a header may show of `chunk`, with the pages of `chunks`. Each value is passed through `safe`."""
        row = self.number(chunk, "row_number")
        return Heading(
            number=0,
            source=safe(self.source(chunk)),
            pages=tuple([safe(page) if isinstance(page, str) else page for page in self.pages(chunks)]),
            section=safe(self.line(chunk, "section") or ""),
            sheet=safe(self.line(chunk, "sheet") or ""),
            row="" if row is None else safe(str(row)),
            metadata=MappingProxyType(chunk.metadata) if isinstance(chunk.metadata, dict) else chunk.metadata,
        )

    def reference(self, heading: Heading) -> str:
        """Return the source of `heading` with section, sheet and row, or with its pages if it has none; on one line."""
        return reference_text(heading, self._words)

    def pages(self, chunks: Iterable[Chunk]) -> tuple[int | str, ...]:
        """Return the pages of `chunks`, each once: Roman numbers as they come, whole ones ascending, then others."""
        found = dict.fromkeys([page for chunk in chunks for page in self.pages_of(chunk)])
        if len(found) < 2:
            return tuple(found)
        numbers = sorted([page for page in found if isinstance(page, int)])
        others = [page for page in found if isinstance(page, str)]
        roman = [page for page in others if _ROMAN.fullmatch(page)]
        return (*roman, *numbers, *[page for page in others if page not in roman])


def line_of(value: Any, name: str) -> str | None:
    """Return `value`, the particular `name`, on one line; None if it is nothing. The items of a list are joined."""
    if value is None:
        return None
    kind = type(value)
    if kind is not str:  # most are
        if kind in _LISTS or hasattr(kind, "tolist"):
            between = _ITEM_SEPARATORS.get(name, ", ")
            return between.join(line for item in _items(value) if (line := line_of(item, name))) or None
        if isinstance(value, float):  # a column with gaps has 3.0 for 3, and NaN for nothing
            value = int(value) if value.is_integer() else value if math.isfinite(value) else None
        value = to_text(value)
    line = "" if value is None else one_line(value)
    # LlamaIndex writes the path of a section with slashes around it.
    if name == "section" and line[:1] == "/" == line[-1:]:
        line = line.strip("/ ")
    return None if line in ("", _NO_HEADING) else line


def _items(value: Any) -> Iterator[Any]:
    """Yield the items of a list of any kind, with inner lists flattened in place; else the value itself."""
    if hasattr(type(value), "tolist"):  # numpy and what looks like it
        value = value.tolist()
    if type(value) not in _LISTS:
        yield value
        return
    # Sets have another order in every run.
    for item in sorted(value, key=safe_repr) if isinstance(value, (set, frozenset)) else value:
        yield from _items(item)


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value < 10**MAX_NUMBER_DIGITS


def _number(line: str | None) -> int | str | None:
    return int(line) if line and line.isdecimal() and len(line) <= MAX_NUMBER_DIGITS else line
