"""What a piece of text is inside of, written above it: its headings and the head of its table.

`number_chunks` recorded them; here they are words of ours. In place of the headings is the contextual header of the
chunk, if it was joined to one that begins with the same.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.render.headers import Headers, format_name
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.wording.label_guards import escape_labels

if TYPE_CHECKING:
    from ctxassembly.assembly.render.page import Page

_HEADING = re.compile(r"^(?:#{1,6}\s|([=\-~^])\1{2,}\s*$)|<h[1-6]\b", re.MULTILINE)
_TABLE_END = re.compile(r"\n[^\S\n]*\n|</table", re.IGNORECASE)


class Lead(NamedTuple):
    """What the beginning of a chunk is inside of; empty for nothing."""

    path: str
    head: str


def make_leads(text: Text, pool: Pool, headers: Headers) -> Mapping[int, Lead]:
    """Return the leads of the chunks of `pool` that have any, by their numbers."""
    leads = dict[int, Lead]()
    if not headers.config.enabled:
        return leads
    for number, candidate in enumerate(pool.candidates):
        chunk = candidate.chunk
        if MetadataKeys.overlap[0] in chunk.metadata:  # else nobody has numbered it
            header, metadata = chunk.text[: text.headers[number]].strip(), chunk.metadata
            path = header or metadata.get(MetadataKeys.heading_path)
            lead = Lead(*(_safe(one, headers) for one in (path, metadata.get(MetadataKeys.table_head))))
            if any(lead):
                leads[number] = lead
    return leads


def lead_above(page: Page, owns: list[int], start: int, said: str) -> str:
    """Return the lines above the text that begins at `start`, under a label that has `said` so far, header included."""
    number = bisect_right(owns, start) - 1
    lead = page.leads.get(number)
    if lead is None:
        return ""
    before = page.text.text[page.text.begins[number] : start]
    parts = [line for line, end in zip(lead, (_HEADING, _TABLE_END), strict=True) if line and not end.search(before)]
    return "".join([line + "\n" for line in parts if line not in said])


def _safe(value: object, headers: Headers) -> str:
    if not isinstance(value, str) or not value.strip():
        return ""
    return escape_labels(value, format_name(headers.config), sanitize=headers.config.sanitize)
