"""Under which metadata keys a chunk's particulars are found: one reading for the engine and both adapters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from ctxassembly.errors import ConfigError


@dataclass(frozen=True, slots=True)
class MetadataKeys:
    """For each particular the keys that may hold it; the first one present and not None wins.

    A key may be a dotted path into nested metadata, `chunk_metadata.page`; a key that itself contains the dot is
    found first. A single string may be given instead of a tuple.
    """

    document_id: str | tuple[str, ...] = ("document_id", "ref_doc_id")
    """What chunks are grouped and cited by; the source, where none of them holds one. Given, it goes before
    LlamaIndex's own SOURCE: `"file_path"` makes one document of the pages of a file."""
    lookup_id: str | tuple[str, ...] = ()
    """What the store finds a chunk's document by, where that isn't `document_id`. None: the same, or the SOURCE."""
    index: str | tuple[str, ...] = ("chunk_index", "index")
    start: str | tuple[str, ...] = ("start_index", "start_char_idx")
    score: str | tuple[str, ...] = ("rerank_score", "relevance_score", "score")
    source: str | tuple[str, ...] = ("source", "file_name", "source_path")
    title: str | tuple[str, ...] = ("title",)
    url: str | tuple[str, ...] = ("url",)
    section: str | tuple[str, ...] = ("section", "header_path")
    """A path as LlamaIndex writes it, `/Setup/Linux/`, is read without the strokes around it."""
    sheet: str | tuple[str, ...] = ("sheet",)
    page: str | tuple[str, ...] = ("page_label", "page", "page_number")
    """The printed label first: `page` counts from 0 in most PDF parsers."""
    page_base: int = 1
    """What the first page has as its number, 0 or 1. Headers and citations count from 1; a label stays as it is
    printed, which is what stands under a key with "label" in it."""
    row_number: str | tuple[str, ...] = ("row_number",)
    start_line: str | tuple[str, ...] = ("start_line",)
    updated_at: str | tuple[str, ...] = ("updated_at",)
    content_hash: str | tuple[str, ...] = ("content_hash",)
    """Copies are told by their texts; where different ones share a hash, as the chunks of a file may, the trace says
    so."""
    search_method: str | tuple[str, ...] = ("search_method", "retrieval_method")
    """How the retriever found the chunk. This and the next two are only shown, by the views of a context."""
    keywords: str | tuple[str, ...] = ("matched_terms", "keywords")
    """The words that it matched: a text, or several."""
    expansion: str | tuple[str, ...] = ("expanded_query", "expansion")
    """The rewritten or added query that found it."""
    similarity: str | tuple[str, ...] = ("vector_similarity", "similarity", "cosine_similarity")
    """How near the chunk's embedding is to the query's, where the score says something else: see `supplement_gate`."""
    keep_whole: str | tuple[str, ...] = ("keep_whole",)
    """True of a chunk that has to stand whole, as a roster or a form does: retrieved, it goes before all others and is
    not shortened, unless it doesn't fit at all; as a neighbour it stands whole or not at all."""
    no_neighbours: str | tuple[str, ...] = ("no_neighbours",)
    """True of a chunk that needs none of its neighbours: none is fetched for it."""

    def __post_init__(self) -> None:
        if type(self.page_base) is not int or self.page_base not in (0, 1):
            raise ConfigError("keys.page_base", "0 or 1", self.page_base)
        for each in fields(self):
            if each.name == "page_base":
                continue
            value = getattr(self, each.name)
            names = (value,) if isinstance(value, str) else value
            if (
                not isinstance(names, tuple)
                or not (names or each.name == "lookup_id")
                or not all(isinstance(name, str) and name for name in names)
            ):
                raise ConfigError(f"keys.{each.name}", "a key or a non-empty tuple of keys", value)
            object.__setattr__(self, each.name, names)

    def read(self, metadata: Mapping[str, Any], particular: str) -> Any:
        """The value of `particular` ("page", "source", ...), or None if no key holds one."""
        for key in getattr(self, particular):
            try:
                value = metadata.get(key)
            except Exception:  # noqa: BLE001 - see below
                value = None
            if value is not None or ("." in key and (value := look_up(metadata, key)) is not None):
                return value
        return None

    def document_of(self, metadata: Mapping[str, Any]) -> Any:
        """The id of the document: its source, where no key for a document id holds one."""
        document_id = self.read(metadata, "document_id")
        return document_id if document_id is not None else self.read(metadata, "source")

    @property
    def documents(self) -> tuple[str, ...]:
        """All keys under which `document_of` looks, in its order."""
        return tuple(dict.fromkeys((*self.document_id, *self.source)))

    @property
    def looked_up(self) -> tuple[str, ...]:
        """All keys by which a store finds a chunk's document, in their order."""
        return tuple(dict.fromkeys((*self.lookup_id, *self.documents)))

    @property
    def named(self) -> frozenset[str]:
        """All keys under which a header finds what it names; of a dotted path the first one, too."""
        keys = {key for each in _NAMED for key in getattr(self, each)}
        return frozenset(keys | {key.partition(".")[0] for key in keys})

    def counted_page(self, metadata: Mapping[str, Any], number: int) -> int | None:
        """The page with that `number` in `metadata`, counted from 1; None if there is none. A label isn't counted."""
        if number and self.page_base:
            return number
        key = next((key for key in self.page if look_up(metadata, key) is not None), "")
        return (number if "label" in key else number + 1 - self.page_base) or None


_NAMED = ("source", "title", "url", "section", "sheet", "page", "row_number")


def keyed(store: Any, keys: MetadataKeys) -> Any:
    """`store` that reads `keys`, if it is a dataclass with a field of that name that was left at its default."""
    names = {each.name for each in fields(store)} if is_dataclass(store) and not isinstance(store, type) else ()
    if "keys" not in names or store.keys != MetadataKeys() or keys == store.keys:
        return store
    return replace(store, keys=keys)


def look_up(metadata: Mapping[str, Any], key: str) -> Any:
    """The value under `key`, taken whole or as a dotted path into nested mappings; None if there is none."""
    try:
        value = metadata.get(key)
        if value is not None or "." not in key:
            return value
        head, rest = key.split(".", 1)
        nested = metadata.get(head)
        return look_up(nested, rest) if isinstance(nested, Mapping) else None
    except Exception:  # noqa: BLE001 - of a class of somebody's own, as adapters get them; admission says what is odd
        return None
