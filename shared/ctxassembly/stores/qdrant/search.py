"""Searching Qdrant: the calls of its client, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qdrant_client import models

from ctxassembly.data.chunks import ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.stores.qdrant.filters import engine_filter
from ctxassembly.stores.qdrant.points import STATE_ID, lexeme_id, own_key, sparse_vector
from ctxassembly.stores.sparse.rows import TRIGRAMS, WORDS, Layout, Stored, read_row, trigram_weights
from ctxassembly.stores.sparse.search import NEAR_CANDIDATES, Call, Channel, Flow, Found, split_places

PAGE = 1_000
"""Chunks of a document read at once."""


@dataclass(frozen=True)
class QdrantSearcher:
    """A collection that is searched."""

    layout: Layout
    keys: MetadataKeys

    def condition(self, filters: Sequence[Any]) -> models.Filter | None:
        """Return conditions that pass at least the chunks that pass all `filters`; None passes all."""
        return engine_filter(self.layout, filters)

    def read_words(self, words: Sequence[str]) -> Flow[tuple[int, Mapping[str, int]]]:
        """Return the number of chunks, and the number that have each of `words`, as far as there are any."""
        points = yield (
            "retrieve",
            {"collection_name": self.layout.lexemes, "ids": [STATE_ID, *map(lexeme_id, words)], "with_payload": True},
        )
        payloads = {point.payload.get("word"): point.payload for point in points}
        chunk_count = payloads.pop(None, {}).get("chunks", 0)
        return chunk_count, {word: payload["count"] for word, payload in payloads.items()}

    def read_near(self, words: Sequence[str]) -> Flow[list[list[str]]]:
        """Return for each word those that share most trigrams with it."""
        requests = [
            # All trigrams inside a word are in one that contains it: at twice the value these come first.
            _query(sparse_vector(trigram_weights(word, inner=2.0)), TRIGRAMS, NEAR_CANDIDATES, None)
            for word in words
        ]
        answers = yield "query_batch_points", {"collection_name": self.layout.lexemes, "requests": requests}
        return [[point.payload["word"] for point in answer.points] for answer in answers]

    def read_best(
        self, channels: Sequence[Channel], condition: Any
    ) -> Flow[tuple[list[list[Found]], dict[Any, float]]]:
        """Return what each channel finds; with two, also the similarities of what words find."""
        requests = [self._best(channel, condition) for channel in channels]
        if len(channels) == 2:
            by_vector, by_words = requests
            best = models.Prefetch(query=by_words.query, using=WORDS, limit=by_words.limit, filter=condition)
            scored = _query(
                by_vector.query, self.layout.vector, by_words.limit or 0, None, prefetch=best, with_payload=False
            )
            requests.append(scored)
        answers = yield "query_batch_points", {"collection_name": self.layout.collection, "requests": requests}
        found = [
            [Found(self._stored(point), point.score) for point in some.points] for some in answers[: len(channels)]
        ]
        return found, {point.id: point.score for answer in answers[len(channels) :] for point in answer.points}

    def _best(self, channel: Channel, condition: models.Filter | None) -> models.QueryRequest:
        if isinstance(channel.query, dict):
            query: Any = sparse_vector(channel.query)
            return _query(query, WORDS, channel.limit, condition, offset=channel.offset)
        return _query(channel.query, self.layout.vector, channel.limit, condition, offset=channel.offset)

    def read_similarities(self, vector: list[float], keys: Sequence[Any]) -> Flow[dict[Any, float]]:
        """Return the similarities of the chunks under `keys` that have an embedding."""
        here = models.Filter(must=[models.HasIdCondition(has_id=list(keys))])
        exact = _query(vector, self.layout.vector, len(keys), here, with_payload=False)
        (answer,) = yield "query_batch_points", {"collection_name": self.layout.collection, "requests": [exact]}
        return {point.id: point.score for point in answer.points}

    def read_places(self, places: Mapping[str, Sequence[ChunkRef]], condition: Any) -> Flow[list[Stored]]:
        """Return the chunks that exist among references by document. There is a round trip for each page of them."""
        documents: list[Any] = [_document_condition(document_id, refs) for document_id, refs in places.items()]
        call = self._scroll(models.Filter(should=documents), PAGE, condition)
        points, offset = yield call
        found = list(map(self._stored, points))
        while offset is not None:
            points, offset = yield call[0], {**call[1], "offset": offset}
            found += map(self._stored, points)
        return found

    def read_titled(self, titles: Sequence[str], limit: int, condition: Any) -> Flow[list[Stored]]:
        """Return chunks with which one of `titles` is stored, at most `limit`."""
        points, _ = yield self._scroll(models.Filter(must=[match_any(own_key("title"), titles)]), limit, condition)
        return list(map(self._stored, points))

    def _scroll(self, wanted: models.Filter, limit: int, condition: models.Filter | None) -> Call:
        both = models.Filter(must=[wanted, *([condition] if condition else [])])
        return "scroll", {"collection_name": self.layout.collection, "scroll_filter": both, "limit": limit}

    def _stored(self, point: Any) -> Stored:
        return read_row(point.id, point.payload, self.layout, self.keys)


def _query(query: Any, using: str, limit: int, condition: models.Filter | None, **more: Any) -> models.QueryRequest:
    options = {"with_payload": True, **more}
    return models.QueryRequest(query=query, using=using, limit=limit, filter=condition, **options)


def _document_condition(document_id: str, refs: Sequence[ChunkRef]) -> models.Filter:
    """Return the condition of the chunks of a document that `refs` ask for."""
    needed: list[Any] = [match_any(own_key("document_id"), [document_id])]
    if (asked := split_places(refs)) is not None:
        either: list[Any] = [match_any(own_key(name), values) for name, values in asked.items()]
        needed.append(models.Filter(should=either))
    return models.Filter(must=needed)


def match_any(path: str, values: Sequence[Any]) -> models.FieldCondition:
    """Return the condition that the value under `path` is one of `values`."""
    return models.FieldCondition(key=path, match=models.MatchAny(any=list(values)))
