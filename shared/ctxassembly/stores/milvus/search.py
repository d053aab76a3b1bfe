"""Searching Milvus: the calls of its client, and what it answers.

Both channels are one hybrid search. Its own fusion doesn't say which channel found what, so the vectors of what it
finds are read along, and both scores are computed from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pymilvus import AnnSearchRequest, RRFRanker

from ctxassembly.data.chunks import ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.stores.milvus.filters import all_of, engine_filter
from ctxassembly.stores.milvus.rows import (
    CHUNK_FIELDS,
    COUNT,
    DOCUMENT,
    HAS_VECTOR,
    PK,
    PLACE,
    STATE_KEY,
    TITLE,
    VECTOR,
    WORD,
    any_of,
    read_row,
    row_key,
    sparse_vector,
)
from ctxassembly.stores.sparse.rows import TRIGRAMS, WORDS, Layout, Stored, trigram_weights
from ctxassembly.stores.sparse.search import NEAR_CANDIDATES, Channel, Flow, Found, split_places

MAX_WINDOW = 16_384
"""Milvus gives no more results of a search, however many times it is asked for the next ones."""


@dataclass(frozen=True)
class MilvusSearcher:
    """A collection that is searched."""

    layout: Layout
    keys: MetadataKeys

    def condition(self, filters: Sequence[Any]) -> str:
        """Return a condition that passes at least the chunks that pass all `filters`; an empty one passes all."""
        return engine_filter(filters)

    def read_words(self, words: Sequence[str]) -> Flow[tuple[int, Mapping[str, int]]]:
        """Return the number of chunks, and the number that have each of `words`, as far as there are any."""
        rows = yield (
            "query",
            {
                "collection_name": self.layout.lexemes,
                "filter": any_of(PK, [STATE_KEY, *map(row_key, words)]),
                "output_fields": [WORD, COUNT],
            },
        )
        counts = {row[WORD]: row[COUNT] for row in rows}
        return counts.pop("", 0), counts

    def read_near(self, words: Sequence[str]) -> Flow[list[list[str]]]:
        """Return for each word those that share most trigrams with it."""
        answers = yield (
            "search",
            {
                "collection_name": self.layout.lexemes,
                # All trigrams inside a word are in one that contains it: at twice the value these come first.
                "data": [sparse_vector(trigram_weights(word, inner=2.0)) for word in words],
                "anns_field": TRIGRAMS,
                "limit": NEAR_CANDIDATES,
                "output_fields": [WORD],
            },
        )
        return [[hit["entity"][WORD] for hit in answer if hit["entity"][WORD]] for answer in answers]

    def read_best(
        self, channels: Sequence[Channel], condition: Any
    ) -> Flow[tuple[list[list[Found]], dict[Any, float]]]:
        """Return what each channel finds; with two, also the similarities of what words find."""
        if len(channels) == 1:
            return [(yield from self._read_channel(channels[0], condition))], {}
        by_vector, by_words = channels
        limits = [min(channel.limit, MAX_WINDOW) for channel in channels]
        (answer,) = yield (
            "hybrid_search",
            {
                "collection_name": self.layout.collection,
                "reqs": [
                    AnnSearchRequest([_query(channel)], _field(channel), {}, limit, expr=_expr(channel, condition))
                    for channel, limit in zip(channels, limits, strict=True)
                ],
                "ranker": RRFRanker(),
                "limit": min(sum(limits), MAX_WINDOW),
                "output_fields": [*CHUNK_FIELDS, HAS_VECTOR, VECTOR, WORDS],
            },
        )
        rows = {hit["entity"][PK]: hit["entity"] for hit in answer}
        stored = {key: self._stored(row) for key, row in rows.items()}
        similarities = _similarities(by_vector.query, rows.values())
        relevances = {key: _inner_product(by_words.query, row[WORDS]) for key, row in rows.items()}
        found: list[list[Found]] = []
        for scores, limit in zip((similarities, {k: v for k, v in relevances.items() if v > 0}), limits, strict=True):
            best = sorted(scores, key=lambda key: (-scores[key], stored[key].chunk.id))[:limit]
            found.append([Found(stored[key], scores[key]) for key in best])
        return found, similarities

    def _read_channel(self, channel: Channel, condition: str) -> Flow[list[Found]]:
        limit = min(channel.limit, MAX_WINDOW - channel.offset)
        if limit <= 0:
            return []
        (answer,) = yield (
            "search",
            {
                "collection_name": self.layout.collection,
                "data": [_query(channel)],
                "anns_field": _field(channel),
                "filter": _expr(channel, condition),
                "limit": limit,
                "offset": channel.offset,
                "output_fields": CHUNK_FIELDS,
            },
        )
        return [Found(self._stored(hit["entity"]), hit["distance"]) for hit in answer]

    def read_similarities(self, vector: list[float], keys: Sequence[Any]) -> Flow[dict[Any, float]]:
        """Return the similarities of the chunks under `keys` that have an embedding."""
        rows = yield (
            "query",
            {
                "collection_name": self.layout.collection,
                "filter": any_of(PK, keys),
                "output_fields": [PK, HAS_VECTOR, VECTOR],
            },
        )
        return _similarities(vector, rows)

    def read_places(self, places: Mapping[str, Sequence[ChunkRef]], condition: Any) -> Flow[list[Stored]]:
        """Return the chunks that exist among references by document, in one round trip."""
        documents = " or ".join(f"({_document_condition(id_, refs)})" for id_, refs in places.items())
        return (yield from self._read([documents, condition]))

    def read_titled(self, titles: Sequence[str], limit: int, condition: Any) -> Flow[list[Stored]]:
        """Return chunks with which one of `titles` is stored, at most `limit`."""
        return (yield from self._read([any_of(TITLE, list(map(row_key, titles))), condition], limit=limit))

    def _read(self, conditions: Sequence[str], **options: Any) -> Flow[list[Stored]]:
        asked = {"collection_name": self.layout.collection, "filter": all_of(conditions), **options}
        rows = yield "query", {**asked, "output_fields": CHUNK_FIELDS}
        return list(map(self._stored, rows))

    def _stored(self, row: Mapping[str, Any]) -> Stored:
        return read_row(row, self.layout, self.keys)


def _query(channel: Channel) -> Any:
    return sparse_vector(channel.query) if isinstance(channel.query, dict) else channel.query


def _field(channel: Channel) -> str:
    return WORDS if isinstance(channel.query, dict) else VECTOR


def _expr(channel: Channel, condition: str) -> str:
    return condition if isinstance(channel.query, dict) else all_of([f"{HAS_VECTOR} == true", condition])


def _similarities(vector: Any, rows: Iterable[Mapping[str, Any]]) -> dict[Any, float]:
    """Return the cosines of `vector` and the embeddings of `rows`, by their keys."""
    stored = {row[PK]: row[VECTOR] for row in rows if row[HAS_VECTOR]}
    if not stored:
        return {}
    query, matrix = np.asarray(vector, dtype=float), np.asarray([*stored.values()], dtype=float)
    lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(query)
    cosines = np.divide(matrix @ query, lengths, out=np.zeros(len(matrix)), where=lengths > 0)
    return dict(zip(stored, cosines.tolist(), strict=True))


def _inner_product(query: Any, stored: Mapping[int, float]) -> float:
    return float(sum(weight * stored.get(at, 0.0) for at, weight in query.items()))


def _document_condition(document_id: str, refs: Sequence[ChunkRef]) -> str:
    """Return the condition of the chunks of a document that `refs` ask for."""
    needed = [f'{DOCUMENT} == "{row_key(document_id)}"']
    if (asked := split_places(refs)) is not None:
        by_index = [any_of(PLACE, asked["index"])] if "index" in asked else []
        by_id = [any_of(PK, list(map(row_key, asked["id"])))] if "id" in asked else []
        needed.append(" or ".join([*by_index, *by_id]))
    return all_of(needed)
