"""The metadata keys that vary between the chunks of one document: one list, after 63 pipelines of the field.

Whatever isn't listed doesn't vary, so a neighbor has to share it. Over the 63, with no list 1,009 of 1,248 ordinary
neighbors would be left out, with page and offset keys alone 398, with this list 5 (children of a parent that keep its
id under `doc_id`). None of 8,911 pairs passes whose tenant, group, owner or publicity differs: so a name that is used
for access somewhere (`version`, `region`, `segment`, `labels`) must never be added. Names of positions vary as numbers
only: `index: "tenant-a"` doesn't pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Literal, TypeVar

T = TypeVar("T")

KeyCategory = Literal["fixed", "document", "number", "free", "words", "rank", "element", "parent"]
"""The ways in which values of a key may vary:

- fixed: not at all
- document: not at all, except that the document's own id may be missing
- number: as numbers
- free: in any way
- words: within the words that tools write there
- rank: as a number that only one of two chunks has
- element: in any way, as the id of an element of the page
- parent: in any way if the chunk has an element id, for then it is one, too; else not at all
"""

MAX_DEPTH = 16
"""Levels of nested lists and mappings that are looked into."""

_POSITION_SUFFIXES = "_index|_idx|_idx_start|_no|_num|_numbers?|_position|_order|_start|_end|_count|_length|_size"
_NUMBER_KEYS = rf"""
    (chunk|page|line|row|slide|sentence|paragraph)s?({_POSITION_SUFFIXES})?
    |(col|char|split|block|token|batch|buffer)({_POSITION_SUFFIXES})
    |index|idx|seq|seq_num|sequence|position|pos|offset|start|end|length|tokens
    |(start|end)_(index|idx|pos|char|char_idx|offset|line|page|row|seconds)
    |(.+_)?(word|char|token|sentence)_count
    |category_depth|heading_level|coordinates|points|bbox|layout_width|layout_height
    |score|(rerank|reranker|relevance|retrieval|fused|keyword)_score|(vector|keyword)_rank|similarity|distance|detection_class_prob
"""
_FREE_KEYS = r"""
    id|pk|uuid|(chunk|node|element|point|split)_(id|hash)|content_hash
    |page_(label|name)|sheet
    |title|(header|heading)s?|(sub)?section|chapter|h[1-6]|header_[1-6]
    |(section|chapter|article|heading|header|toc)_(id|no|number|name|title|path)|parent_headers|doc_items|captions
    |text|content|chunk_text|window|original_text|text_as_html|orig_elements|split_overlap|embedding
    |.*summary|questions.*|keywords|excerpt_keywords
    |links|images|tables|matched_terms|highlights|entities
    |link_(texts|urls|start_indexes)|emphasized_text_(contents|tags)|image_(path|base64|mime_type)|table_as_cells
    |is_continuation|header_footer_type|keep_whole|no_neighbors
    |(search|retrieval)_method|expanded_query|expansion|(vector|cosine)_similarity
    |(last_accessed|ingested|indexed|fetched|crawled|created|updated)_at|(start_)?timestamp
"""
# Unstructured's and Docling's names for the parts of a page, in either of their spellings.
_ELEMENT_NAMES = r"""
    abstract|address|caption|checkbox|checkbox_(un)?selected|code|code_?snippet|composite_?element|document_index
    |email_?address|equation|figure|figure_?caption|foot(er|note)|formula|header|image|list|list_?item|narrative_?text
    |page_?(break|footer|header|number)|paragraph|picture|reference|section|section_header|table|table_?chunk|text|title
    |(un)categori[sz]ed_?text
"""
_CATEGORIES: tuple[tuple[KeyCategory, re.Pattern[str]], ...] = (
    ("rank", re.compile("rank")),
    ("element", re.compile("element_id")),
    ("parent", re.compile("parent_id")),
    ("words", re.compile("category|(element_|chunk_)?type|tag|content_type")),
    ("number", re.compile(_NUMBER_KEYS, re.VERBOSE)),
    ("free", re.compile(_FREE_KEYS, re.VERBOSE)),
)
_WORDS_BY_KEY = {
    "tag": re.compile("p|h[1-6]|li|section|b|i|u|a|span|div|table|t[rdh]|[uo]l|pre|code|blockquote"),
    "content_type": re.compile("functions_classes|simplified_code"),
}
_ELEMENT_PATTERN = re.compile(_ELEMENT_NAMES, re.VERBOSE)
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")

CACHE_SIZE, MAX_NAME_CHARS = 4096, 200
"""The most names that are remembered, and the characters of the longest: 10 MB at most."""


def cache_by_name(function: Callable[[str], T]) -> Callable[[str], T]:
    """Return `function` of the name of a key, or of a word under one, with results cached in bounded memory."""
    cached = lru_cache(maxsize=CACHE_SIZE)(function)

    @wraps(function)
    def lookup(name: str) -> T:
        return cached(name) if len(name) <= MAX_NAME_CHARS else function(name)

    return lookup


@cache_by_name
def key_category(key: str) -> KeyCategory:
    """Return how values under `key`, the last part of a path, may vary between the chunks of a document."""
    name = normalize_key(key)
    return next((kind for kind, names in _CATEGORIES if names.fullmatch(name)), "fixed")


@cache_by_name
def normalize_key(key: str) -> str:
    """Return `key` in snake case, without the prefixes and underscores that frameworks put around it."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.removeprefix("@search."))
    return re.sub(r"[\s\-]+", "_", name).strip("_").lower()


def is_known_word(key: str, value: Any) -> bool:
    """Return True if `value` is a word that tools write under `key`, which is of the category "words"."""
    words = _WORDS_BY_KEY.get(normalize_key(key), _ELEMENT_PATTERN)
    return isinstance(value, str) and words.fullmatch(normalize_key(value)) is not None


def is_number(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Return True if `value` is a number in any form: JSON columns have "7" for 7, boxes have lists of lists."""
    if type(value) is int:
        return True
    if isinstance(value, (list, tuple)):
        return depth > 0 and all(is_number(item, depth - 1) for item in value)
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is not None
    return isinstance(value, (int, float)) and not isinstance(value, bool)
