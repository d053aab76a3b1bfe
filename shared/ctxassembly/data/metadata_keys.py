"""The metadata keys that hold a chunk's particulars: one reading for the engine and both adapters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, ClassVar

from ctxassembly.errors import ConfigError
from ctxassembly.safe_repr import to_id

_DOCLING_FILE = ("dl_meta.origin.filename", "origin.filename")
"""The file name that Docling writes, without a folder: through LangChain, and through LlamaIndex."""
FILE_PATH_KEY = "file_path"
"""The key by which LlamaIndex's readers distinguish files of one name. Of a path only the last part is shown."""
_BESIDE_PAGES = ("file_name", FILE_PATH_KEY, "total_pages")
"""Keys beside which LlamaIndex's PyMuPDFReader writes the number of the page, from 1, under "source"."""
INTEGER_PATTERN = r"^[0-9]{1,15}(\.0+)?$"
"""A whole number as JSON keeps it, as it was written: 7 or 7.0."""


@dataclass(frozen=True, slots=True)
class MetadataKeys:
    """The keys that may hold each particular. The first key that is present and not None wins.

    A key may be a dotted path into nested metadata, such as `chunk_metadata.page`; a key that itself contains the dot
    is found first. A path through a list reads each of its mappings. A single string may be given instead of a tuple.

    >>> keys = MetadataKeys(source=("file_path", "source"), page_base=0)
    >>> keys.read({"source": "report.pdf", "page": 2}, "source"), keys.page_number({"page": 2}, 2)
    ('report.pdf', 3)
    """

    document_id: str | tuple[str, ...] = ("document_id", "ref_doc_id")
    """The id that chunks are grouped and cited by. Where no key holds one, the source is the id. Keys that you give
    take precedence over LlamaIndex's own SOURCE relation: `"file_path"` makes one document of the pages of a file."""
    lookup_id: str | tuple[str, ...] = ()
    """The id by which the store finds a chunk's document, if that isn't `document_id`. Empty means that it is, or that
    it is the SOURCE relation."""
    index: str | tuple[str, ...] = ("chunk_index", "index")
    start: str | tuple[str, ...] = ("start_index", "start_char_idx")
    score: str | tuple[str, ...] = ("rerank_score", "relevance_score", "score")
    source: str | tuple[str, ...] = ("source", "file_name", "filename", "source_path", *_DOCLING_FILE, FILE_PATH_KEY)
    title: str | tuple[str, ...] = ("title",)
    url: str | tuple[str, ...] = ("url", "URL")
    section: str | tuple[str, ...] = ("section", "header_path", "headings", "dl_meta.headings")
    """A path as LlamaIndex writes it, `/Setup/Linux/`, is read without the outer slashes. The items of a list are
    levels: `["Setup", "Linux"]` is read as `Setup > Linux`."""
    headings: str | tuple[str, ...] = tuple(f"Header {level}" for level in range(1, 7))
    """The heading of each level, outermost first, as LangChain's splitters for Markdown and HTML write them. They make
    the section of a chunk that has none under `section`."""
    sheet: str | tuple[str, ...] = ("sheet",)
    page: str | tuple[str, ...] = (
        "page_label",
        "page",
        "page_number",
        "page_numbers",
        "dl_meta.doc_items.prov.page_no",
        "doc_items.prov.page_no",
    )
    """The printed label first: `page` counts from 0 in most PDF parsers. A list has several pages."""
    page_base: int = 1
    """The number that the metadata give the first page, 0 or 1. Headers and citations count from 1. A printed label,
    under a key with "label" in its name, stays as it is."""
    row_number: str | tuple[str, ...] = ("row_number",)
    start_line: str | tuple[str, ...] = ("start_line",)
    updated_at: str | tuple[str, ...] = ("updated_at",)
    content_hash: str | tuple[str, ...] = ("content_hash",)
    """Copies are recognized by their texts, not by this hash: all chunks of a file may share one. Only
    `published.Pipeline` goes by it."""
    keep_whole: str | tuple[str, ...] = ("keep_whole",)
    """True marks a chunk that has to stay whole, such as a roster or a form. As a hit it goes before all others, and
    is shortened only if it doesn't fit at all. As a neighbor it is included whole or not at all."""

    # These names are fixed: nothing of the context but its views depends on them, or only callers write them.
    search_method: ClassVar[tuple[str, ...]] = ("search_method", "retrieval_method")
    """The way the retriever found the chunk. The views of a context show this and the next two; nothing else does."""
    keywords: ClassVar[tuple[str, ...]] = ("matched_terms", "keywords")
    """The words of the query that the retriever matched: one string or several."""
    expansion: ClassVar[tuple[str, ...]] = ("expanded_query", "expansion")
    """The rewritten or added query that found the chunk."""
    no_neighbors: ClassVar[tuple[str, ...]] = ("no_neighbors",)
    """True marks a chunk that needs no context: no neighbors are fetched for it."""
    overlap: ClassVar[tuple[str, ...]] = ("overlap_chars",)
    """Characters at the beginning of the chunk that it repeats: a header that the chunk before begins with, too, and
    the end of that one. 0 says that it repeats nothing. `number_chunks` writes this and the next four."""
    table_head: ClassVar[str] = "table_head"
    """The head of the table that the chunk begins inside, at most 300 characters."""
    heading_path: ClassVar[str] = "heading_path"
    """The headings above the beginning of the chunk, outermost first, at most 300 characters: `Setup > Linux`."""
    chunk_count: ClassVar[str] = "chunk_count"
    """The number of chunks of the document."""
    document_version: ClassVar[str] = "document_version"
    """A hash of the text of the document. Chunks of two versions aren't neighbors."""

    def __post_init__(self) -> None:
        if type(self.page_base) is not int or self.page_base not in (0, 1):
            raise ConfigError("keys.page_base", "0 or 1", self.page_base)
        for key_field in fields(self):
            if key_field.name == "page_base":
                continue
            value = getattr(self, key_field.name)
            names = (value,) if isinstance(value, str) else value
            if (
                not isinstance(names, tuple)
                or not (names or key_field.name == "lookup_id")
                or not all(isinstance(name, str) and name for name in names)
            ):
                raise ConfigError(f"keys.{key_field.name}", "a key or a non-empty tuple of keys", value)
            object.__setattr__(self, key_field.name, names)

    def read(self, metadata: Mapping[str, Any], name: str) -> Any:
        """Return the value of the particular `name` ("page", "source", ...), or None if no key holds one."""
        for key in getattr(self, name):
            try:
                value = metadata.get(key)
            except Exception:  # noqa: BLE001 - metadata of any class may raise; admission notes the odd ones
                value = None
            # Nearly all keys are plain, and this runs for every particular of every chunk: no call for those.
            if value is not None or ("." in key and (value := get_path(metadata, key, through_lists=True)) is not None):
                if name == "source" and key == name and is_page(metadata, value):
                    continue
                return value
        if name == "section":
            levels = [get_path(metadata, key) for key in self.headings]
            return [level for level in levels if level is not None] or None
        if name == "page" and is_page(metadata, source := get_path(metadata, "source")):
            return source
        return None

    def read_document_id(self, metadata: Mapping[str, Any]) -> Any:
        """Return the document id, or the source if no key for a document id holds one."""
        document_id = self.read(metadata, "document_id")
        return document_id if document_id is not None else self.read(metadata, "source")

    @property
    def document_keys(self) -> tuple[str, ...]:
        """The keys that `read_document_id` reads, in its order."""
        return tuple(dict.fromkeys((*self.document_id, *self.source)))

    @property
    def lookup_keys(self) -> tuple[str, ...]:
        """The keys by which a store finds a chunk's document, in the order in which they are read.

        Docling's file name isn't among them: its chunks have no place in their document until they are numbered, and
        then they have a document id.
        """
        names = dict.fromkeys((*self.lookup_id, *self.document_keys))
        return tuple(name for name in names if name not in _DOCLING_FILE)

    @property
    def heading_keys(self) -> frozenset[str]:
        """The keys that a header reads. A dotted path counts with its first key, too."""
        return with_first_keys(key for particular in _HEADER_FIELDS for key in getattr(self, particular))

    def page_number(self, metadata: Mapping[str, Any], number: int) -> int | None:
        """Return the page `number` counted from 1, or None if there is no such page. A printed label stays."""
        if number and self.page_base:  # counted from 1 already, whichever key it has
            return number
        key = next((key for key in self.page if get_path(metadata, key) is not None), "")
        return (number if "label" in key or not key else number + 1 - self.page_base) or None


_HEADER_FIELDS = ("source", "title", "url", "section", "headings", "sheet", "page", "row_number")


def is_page(metadata: Mapping[str, Any], source: Any) -> bool:
    """Return True if the value under "source" is the number of a page, and not the name of a file."""
    is_bare = type(source) is int or (isinstance(source, str) and source.isdecimal())
    return is_bare and any(get_path(metadata, key) is not None for key in _BESIDE_PAGES)


def with_keys(store: Any, keys: MetadataKeys) -> Any:
    """Return `store` with these `keys` if it has `keys` at their default, and is a dataclass or has `with_keys`."""
    names = {part.name for part in fields(store)} if is_dataclass(store) and not isinstance(store, type) else ()
    has_method = hasattr(type(store), "with_keys")
    own = getattr(store, "keys", None) if "keys" in names or has_method else None
    if own is None or keys == own or own != MetadataKeys():
        return store
    return store.with_keys(keys) if has_method else replace(store, keys=keys)


def get_path(metadata: Mapping[str, Any], key: str, *, through_lists: bool = False) -> Any:
    """Return the value under `key`, as a whole or as a dotted path into nested mappings; None if there is none.

    With `through_lists`, a path that leads through a list gives the list of the values in its mappings.
    """
    try:
        value = metadata.get(key)
        if value is not None or "." not in key:
            return value
        head, _, rest = key.partition(".")
        nested = metadata.get(head)
        if nested is None:  # as nearly always
            return None
        if through_lists and isinstance(nested, (list, tuple)):
            values = (get_path(item, rest, through_lists=True) for item in nested)
            return [value for value in values if value is not None] or None
        return get_path(nested, rest, through_lists=through_lists) if isinstance(nested, Mapping) else None
    except Exception:  # noqa: BLE001 - as above: adapters hand on metadata of any class
        return None


def with_first_keys(names: Iterable[str]) -> frozenset[str]:
    """Return keys, and the first key of each dotted path among them: metadata without any of these have no value."""
    keys = {*names}
    return frozenset(keys | {key.partition(".")[0] for key in keys})


MAX_DEPTH = 16
"""Levels of nested lists and mappings that are looked into."""

_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


def normalize_key(key: str) -> str:
    """Return the name of a key in snake case, without the underscores that frameworks put around it.

    >>> normalize_key("pageNumber"), normalize_key("_id"), normalize_key("Header 2")
    ('page_number', 'id', 'header_2')
    """
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key)
    return re.sub(r"[\s\-]+", "_", name).strip("_").lower()


def is_number(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Return True if `value` is a number in any form: JSON columns have "7" for 7, boxes have lists of lists."""
    if type(value) is int:
        return True
    if isinstance(value, (list, tuple)):
        return depth > 0 and all(is_number(item, depth - 1) for item in value)
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is not None
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def to_integer(value: object) -> int | None:
    """Return a whole number from 0 as an integer, also one in text; None for anything else.

    >>> to_integer("7.0"), to_integer(-1), to_integer(True)
    (7, None, None)
    """
    text = to_id(value)
    return int(float(text)) if text is not None and re.fullmatch(INTEGER_PATTERN, text) else None
