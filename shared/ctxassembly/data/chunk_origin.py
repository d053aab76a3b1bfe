"""The page or section of a document that a chunk comes from, found in its metadata.

Offsets count in it: loaders make a document of each page, and splitters by headings one of each section, so offsets
start again at 0 in each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ctxassembly.data.chunks import ChunkOrigin, SectionKey
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.varying_keys import cache_by_name, normalize_key
from ctxassembly.safe_repr import to_id

_SECTION_KEYS = re.compile(
    r"""
    page(_label|_number|_name|_no|_num|_index|_idx)?|slide(_number|_no|_index)?|sheet(_name)?
    |(sub)?section|chapter|h[1-6]|header_[1-6]|header|heading|headings
    |(section|chapter|heading|header)_(id|no|number|name|title|path)|parent_headers
    |seq_num|row|row_number|element_id
    """,
    re.VERBOSE,
)
_PLAIN_TYPES = (str, int, float)
"""Exact types only: a class of the caller may raise anything when it is compared."""
_SECTION_FIELDS = ("page", "section", "sheet", "row_number")


def section_of(metadata: Mapping[str, Any], keys: MetadataKeys) -> SectionKey:
    """Return the metadata that name a page or section, sorted by key; empty if there is none.

    >>> section_of({"page": 3, "source": "gastro.pdf", "Header 2": "Fasting"}, MetadataKeys())
    (('Header 2', 'Fasting'), ('page', 3))
    """
    found: dict[str, Any] = {}
    if type(metadata) is not dict:  # callers can assign anything to a document
        return ()
    for field_name in _SECTION_FIELDS:
        for name in getattr(keys, field_name):
            value = metadata.get(name)
            if type(value) in _PLAIN_TYPES:
                found[name] = value
    found |= {
        name: value
        for name, value in metadata.items()
        if type(value) in _PLAIN_TYPES and type(name) is str and _is_section_key(name)
    }
    return tuple(sorted(found.items()))


def origin_of(metadata: Mapping[str, Any], keys: MetadataKeys) -> ChunkOrigin | None:
    """Return the page or section of an unindexed chunk's offset, and the store's name of its document.

    >>> origin_of({"page": 3, "source": "gastro.pdf"}, MetadataKeys()).section
    (('page', 3),)
    """
    part, lookup_id = section_of(metadata, keys), keys.read(metadata, "lookup_id")
    return ChunkOrigin(part, lookup_id=to_id(lookup_id)) if part or lookup_id is not None else None


@cache_by_name
def _is_section_key(key: str) -> bool:
    return _SECTION_KEYS.fullmatch(normalize_key(key)) is not None
