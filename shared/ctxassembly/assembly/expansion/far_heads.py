"""Headers of tables that began long before a hit: a splitter cuts a long table into several chunks.

Rows say little without their header. So for a hit that begins inside a table more chunks before it are asked for, in
the round trip of its neighbors. Of these only the one with the header becomes a candidate. On standards of the Dutch
government, in chunks of 350 tokens, 9 % of the chunks begin inside a table; the header is within 3 chunks of 63 % of
them, within 8 of 88 % and within 16 of 97 %.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk
from ctxassembly.text.tables import begins_inside_table, table_end

MAX_CHUNKS = 16
"""Chunks before a hit in which the header of its table is looked for."""


def far_heads(
    hits: Sequence[Candidate], chunks: Sequence[tuple[int, Chunk]], positions: Mapping[tuple[str, str], int]
) -> dict[int, list[tuple[int, Candidate]]]:
    """Return by key of a chunk in which the tables of `hits` begin: the steps from it, and the hit.

    `chunks` come with their keys; `positions` are by document id and chunk id. All chunks between have to be known.
    """
    inside = [hit for hit in hits if begins_inside_table(hit.chunk.text)]
    if not inside:
        return {}
    found: dict[int, list[tuple[int, Candidate]]] = defaultdict(list)
    documents = {hit.chunk.document_id for hit in inside}
    known = {
        (chunk.document_id, positions[chunk.document_id, chunk.id]): (key, chunk.text)
        for key, chunk in chunks
        if chunk.document_id in documents
    }
    known |= {(hit.chunk.document_id, hit.position): (hit.key, hit.chunk.text) for hit in hits}
    find_end = cache(table_end)
    for hit in inside:
        bar_count = hit.chunk.text.lstrip().partition("\n")[0].count("|")
        for steps in range(1, MAX_CHUNKS + 1):
            key, text = known.get((hit.chunk.document_id, hit.position - steps), (0, ""))
            end = find_end(text)
            if end.bar_count != bar_count:
                break
            if end.begins_here:
                found[key].append((steps, hit))
                break
    return found
