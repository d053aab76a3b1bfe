"""What a piece of text is inside of, written above it: its headings and the head of its table.

`number_chunks` recorded them; here they are words of ours. In place of the headings is the contextual header of the
chunk, if it was joined to one that begins with the same.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.render.headers import Headers, format_name
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.ingestion.places import PATH_SEPARATOR
from ctxassembly.wording.label_guards import escape_labels

_HEADING = re.compile(r"^(?:#{1,6}\s|([=\-~^])\1{2,}\s*$)|<h[1-6]\b", re.MULTILINE)
_RANK = re.compile(r"(#{1,6})\s")
_TABLE_END = re.compile(r"\n[^\S\n]*\n|</table", re.IGNORECASE)


Lead = tuple[str, str]
"""The headings and the head of the table that the beginning of a chunk is inside of; empty for nothing."""


def make_leads(text: Text, pool: Pool, headers: Headers) -> Mapping[int, Lead]:
    """Return the leads of the chunks of `pool` that have any, by their numbers."""
    config, leads = headers.config, dict[int, Lead]()
    for number, candidate in enumerate(pool.candidates if config.enabled else ()):
        metadata, header = candidate.chunk.metadata, candidate.chunk.text[: text.headers[number]].strip()
        if MetadataKeys.overlap[0] not in metadata:  # nobody has numbered it
            continue
        path, head = (
            escape_labels(value, format_name(config), sanitize=config.sanitize) if isinstance(value, str) else ""
            for value in (header or metadata.get(MetadataKeys.heading_path), metadata.get(MetadataKeys.table_head))
        )
        if path or head:
            leads[number] = path, head
    return leads


def lead_above(leads: Mapping[int, Lead], text: Text, owns: list[int], start: int, said: str) -> str:
    """Return the lines above what begins at `start` in `text`, under a label with `said` so far, header included."""
    number = bisect_right(owns, start) - 1
    if number not in leads:
        return ""
    before = text.text[text.begins[number] : start]
    path, head = leads[number]
    own = _RANK.match(text.text, start) if start > text.begins[number] else None
    if own:  # it takes the place of what has its rank or a lower one
        path = PATH_SEPARATOR.join(path.split(PATH_SEPARATOR)[: len(own[1]) - 1])
    parts = zip((path, head), (_HEADING, _TABLE_END), strict=True)
    return "".join([f"{line}\n" for line, end in parts if line and line not in said and not end.search(before)])
