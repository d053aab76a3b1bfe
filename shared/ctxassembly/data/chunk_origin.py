"""The page or section of a document that a chunk comes from, found in its metadata.

Offsets count in it: loaders make a document of each page, and splitters by headings one of each section, so offsets
begin anew in each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ctxassembly.data.chunks import Origin, PartName
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.varying_keys import of_name, plain_name
from ctxassembly.safe_repr import as_name

_NAMES = re.compile(
    r"""
    page(_label|_number|_name|_no|_num|_index|_idx)?|slide(_number|_no|_index)?|sheet(_name)?
    |(sub)?section|chapter|h[1-6]|header_[1-6]|header|heading|headings
    |(section|chapter|heading|header)_(id|no|number|name|title|path)|parent_headers
    |seq_num|row|row_number|element_id
    """,
    re.VERBOSE,
)
_PLAIN = (str, int, float)
"""Exact types only: a class of the caller may raise anything when it is compared."""
_PARTICULARS = ("page", "section", "sheet", "row_number")


def part_in(metadata: Mapping[str, Any], keys: MetadataKeys) -> PartName:
    """The metadata that name a page or section, sorted by key; empty if there are none.

    >>> part_in({"page": 3, "source": "gastro.pdf", "Header 2": "Fasting"}, MetadataKeys())
    (('Header 2', 'Fasting'), ('page', 3))
    """
    found: dict[str, Any] = {}
    if type(metadata) is not dict:  # callers can assign anything to a document
        return ()
    for particular in _PARTICULARS:
        for name in getattr(keys, particular):
            value = metadata.get(name)
            if type(value) in _PLAIN:
                found[name] = value
    found |= {
        name: value
        for name, value in metadata.items()
        if type(value) in _PLAIN and type(name) is str and _is_named(name)
    }
    return tuple(sorted(found.items()))


def origin_in(metadata: Mapping[str, Any], keys: MetadataKeys) -> Origin | None:
    """The page or section that the offset of a chunk without an index counts in, and the store's name of its document.

    >>> origin_in({"page": 3, "source": "gastro.pdf"}, MetadataKeys()).part
    (('page', 3),)
    """
    part, lookup_id = part_in(metadata, keys), keys.read(metadata, "lookup_id")
    return Origin(part, lookup_id=as_name(lookup_id)) if part or lookup_id is not None else None


@of_name
def _is_named(key: str) -> bool:
    return _NAMES.fullmatch(plain_name(key)) is not None
