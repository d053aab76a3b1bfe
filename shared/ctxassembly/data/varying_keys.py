"""The metadata keys that vary between the chunks of one document: one list, after 63 pipelines of the field.

Whatever isn't listed doesn't vary, so a neighbour has to share it. Over the 63, with no list 1,009 of 1,248 ordinary
neighbours would be left out, with page and offset keys alone 398, with this list 5 (children of a parent that keep its
id under `doc_id`). None of 8,911 pairs passes whose tenant, group, owner or publicity differs: so a name that is used
for access somewhere (`version`, `region`, `segment`, `labels`) must never be added. Names of positions vary as numbers
only: `index: "tenant-a"` doesn't pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Literal, TypeVar

Known = TypeVar("Known")

Kind = Literal["fixed", "document", "number", "free", "words", "rank", "element", "parent"]
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

DEEPEST = 16
"""Levels of nested lists and mappings that are looked into."""

_PLACE = "_index|_idx|_idx_start|_no|_num|_numbers?|_position|_order|_start|_end|_count|_length|_size"
_NUMBERS = rf"""
    (chunk|page|line|row|slide|sentence|paragraph)s?({_PLACE})?
    |(col|char|split|block|token|batch|buffer)({_PLACE})
    |index|idx|seq|seq_num|sequence|position|pos|offset|start|end|length|tokens
    |(start|end)_(index|idx|pos|char|char_idx|offset|line|page|row|seconds)
    |(.+_)?(word|char|token|sentence)_count
    |category_depth|heading_level|coordinates|points|bbox|layout_width|layout_height
    |score|(rerank|reranker|relevance|retrieval|fused|keyword)_score|(vector|keyword)_rank|similarity|distance|detection_class_prob
"""
_FREE = r"""
    id|pk|uuid|(chunk|node|element|point|split)_(id|hash)|content_hash
    |page_(label|name)|sheet
    |title|(header|heading)s?|(sub)?section|chapter|h[1-6]|header_[1-6]
    |(section|chapter|article|heading|header|toc)_(id|no|number|name|title|path)|parent_headers|doc_items|captions
    |text|content|chunk_text|window|original_text|text_as_html|orig_elements|split_overlap|embedding
    |.*summary|questions.*|keywords|excerpt_keywords
    |links|images|tables|matched_terms|highlights|entities
    |link_(texts|urls|start_indexes)|emphasized_text_(contents|tags)|image_(path|base64|mime_type)|table_as_cells
    |is_continuation|header_footer_type|keep_whole|no_neighbours
    |(last_accessed|ingested|indexed|fetched|crawled|created|updated)_at|(start_)?timestamp
"""
# Unstructured's and Docling's names for the parts of a page, in either of their spellings.
_ELEMENT = r"""
    abstract|address|caption|checkbox|checkbox_(un)?selected|code|code_?snippet|composite_?element|document_index
    |email_?address|equation|figure|figure_?caption|foot(er|note)|formula|header|image|list|list_?item|narrative_?text
    |page_?(break|footer|header|number)|paragraph|picture|reference|section|section_header|table|table_?chunk|text|title
    |(un)categori[sz]ed_?text
"""
_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("rank", re.compile("rank")),
    ("element", re.compile("element_id")),
    ("parent", re.compile("parent_id")),
    ("words", re.compile("category|(element_|chunk_)?type|tag|content_type")),
    ("number", re.compile(_NUMBERS, re.VERBOSE)),
    ("free", re.compile(_FREE, re.VERBOSE)),
)
_WORDS = {
    "tag": re.compile("p|h[1-6]|li|section|b|i|u|a|span|div|table|t[rdh]|[uo]l|pre|code|blockquote"),
    "content_type": re.compile("functions_classes|simplified_code"),
}
_ELEMENTS = re.compile(_ELEMENT, re.VERBOSE)
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")

NAMES, LONGEST = 4096, 200
"""The most names that are remembered, and the characters of the longest: 10 MB at most."""


def of_name(function: Callable[[str], Known]) -> Callable[[str], Known]:
    """`function` of the name of a key, or of a word under one, whose results are remembered in bounded memory."""
    remembered = lru_cache(maxsize=NAMES)(function)

    @wraps(function)
    def known(name: str) -> Known:
        return remembered(name) if len(name) <= LONGEST else function(name)

    return known


@of_name
def kind_of(key: str) -> Kind:
    """The way in which values under `key`, the last part of a path, may vary between the chunks of a document."""
    name = plain_name(key)
    return next((kind for kind, names in _KINDS if names.fullmatch(name)), "fixed")


@of_name
def plain_name(key: str) -> str:
    """`key` in snake case, without the prefixes and underscores that frameworks put around it."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key.removeprefix("@search."))
    return re.sub(r"[\s\-]+", "_", name).strip("_").lower()


def is_word(key: str, value: Any) -> bool:
    """True if `value` is one of the words that tools write under `key`, which is of the kind "words"."""
    words = _WORDS.get(plain_name(key), _ELEMENTS)
    return isinstance(value, str) and words.fullmatch(plain_name(value)) is not None


def is_number(value: Any, depth: int = DEEPEST) -> bool:
    """True if `value` is a number in any form: JSON columns have "7" for 7, boxes have lists of lists."""
    if type(value) is int:
        return True
    if isinstance(value, (list, tuple)):
        return depth > 0 and all(is_number(item, depth - 1) for item in value)
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is not None
    return isinstance(value, (int, float)) and not isinstance(value, bool)
