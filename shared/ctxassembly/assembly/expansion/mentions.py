"""The second hop: first chunks of documents that the best hits mention by title.

A question that takes two documents to answer often has no word in common with the second one, so no search finds it.
The store is asked for it in the round trip of the neighbors. What it returns joins the candidates if a hit mentions the
title and the store holds that hit.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.text.titles import document_title, find_titles, read_title

MAX_HITS = 5
"""The best hits, whose text may mention a title."""
MAX_DOCUMENTS = 8
"""Most documents that are added."""


def mention_refs(hits: Sequence[Chunk], keys: MetadataKeys) -> tuple[ChunkRef, ...]:
    """Return references to what the best of `hits` mention; none if no hit has a title, as then titles are unknown."""
    best = hits[:MAX_HITS]
    has_titles = any(document_title(hit, keys) for hit in best)
    return tuple(ChunkRef(hit.lookup_id, named_in=hit.text) for hit in best) if has_titles else ()


def find_mentioned(
    chunks: Iterable[Chunk], hits: Sequence[Chunk], stored: Container[str], keys: MetadataKeys
) -> tuple[list[tuple[int, Chunk]], list[Chunk]]:
    """Return the chunks that begin a document mentioned by one of the best `hits`, with its place, and all others.

    There is one for each document, by the place of the hit and of the title in it. Documents of `hits` are left out, as
    are mentions in hits of documents that aren't `stored`: the store has other documents than were searched.
    """
    retrieved = {name for hit in hits for name in (hit.document_id, hit.lookup_id)}
    titled = [(chunk, read_title(chunk, keys)) for chunk in chunks]
    titles = {title for _, title in titled}
    mentions = [find_titles(hit.text, titles) if hit.document_id in stored else {} for hit in hits[:MAX_HITS]]
    found: dict[str, tuple[int, int, Chunk]] = {}
    others: list[Chunk] = []
    for chunk, title in titled:
        place = next((place for place, mentioned in enumerate(mentions) if title in mentioned), None)
        if place is None:
            others.append(chunk)
        elif retrieved.isdisjoint((chunk.document_id, chunk.lookup_id)):
            found.setdefault(chunk.document_id, (place, mentions[place][title], chunk))
    ordered = sorted(found.values(), key=lambda entry: (*entry[:2], entry[2].document_id))
    return [(place, chunk) for place, _, chunk in ordered[:MAX_DOCUMENTS]], others
