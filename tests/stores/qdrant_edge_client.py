"""The calls of a QdrantClient that an index makes, answered by Qdrant's own engine in this process.

qdrant-client's local form is written in Python. qdrant-edge-py is the engine of the server, one shard a collection,
under another API.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import qdrant_edge as edge
from qdrant_client import models

KINDS = {
    models.PayloadSchemaType.KEYWORD: edge.PayloadSchemaType.Keyword,
    models.PayloadSchemaType.INTEGER: edge.PayloadSchemaType.Integer,
}


class EdgeClient:
    """Collections in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shards: dict[str, edge.EdgeShard] = {}
        self.params: dict[str, SimpleNamespace] = {}

    def collection_exists(self, name: str) -> bool:
        return name in self.shards

    def create_collection(self, name: str, vectors_config: Any, sparse_vectors_config: Any = ()) -> None:
        by_name = vectors_config if isinstance(vectors_config, dict) else {"": vectors_config}
        dense = {key: edge.EdgeVectorParams(one.size, edge.Distance.Cosine) for key, one in by_name.items()}
        sparse = {key: edge.EdgeSparseVectorParams() for key in sparse_vectors_config}
        path = self.folder / name
        self.shards[name] = edge.EdgeShard.create(str(path), edge.EdgeConfig(dense, sparse))
        self.params[name] = SimpleNamespace(vectors=by_name, sparse_vectors=[*sparse_vectors_config])

    def create_vector_name(self, name: str, vector_name: str, config: Any) -> None:
        self.shards[name].update(edge.UpdateOperation.create_sparse_vector(vector_name))
        self.params[name].sparse_vectors.append(vector_name)

    def get_collection(self, name: str) -> Any:
        schema = self.shards[name].info().payload_schema
        return SimpleNamespace(payload_schema=schema, config=SimpleNamespace(params=self.params[name]))

    def create_payload_index(self, name: str, path: str, kind: models.PayloadSchemaType) -> None:
        self.shards[name].update(edge.UpdateOperation.create_field_index(path, KINDS[kind]))

    def close(self) -> None:
        for shard in self.shards.values():
            shard.close()

    # Points

    def upsert(self, name: str, points: Sequence[Any]) -> None:
        written = [edge.Point(one.id, to_vector(one.vector), one.payload) for one in points]
        self.shards[name].update(edge.UpdateOperation.upsert_points(written))

    def delete(self, name: str, selected: Any) -> None:
        self.shards[name].update(edge.UpdateOperation.delete_points(selected.points))

    def batch_update_points(self, name: str, operations: Sequence[Any]) -> None:
        for one in operations:
            if isinstance(one, models.UpdateVectorsOperation):
                changed = [edge.PointVectors(point.id, to_vector(point.vector)) for point in one.update_vectors.points]
                self.shards[name].update(edge.UpdateOperation.update_vectors(changed))
            else:
                given = one.set_payload
                self.shards[name].update(edge.UpdateOperation.set_payload(given.points, given.payload, given.key))

    def count(self, name: str, count_filter: Any = None, *, exact: bool) -> Any:
        return SimpleNamespace(count=self.shards[name].count(edge.CountRequest(exact, to_filter(count_filter))))

    def retrieve(self, collection_name: str, ids: Sequence[Any], *, with_payload: bool = True) -> list[Any]:
        return self.shards[collection_name].retrieve(list(ids), with_payload, with_vector=False)

    def scroll(self, collection_name: str, scroll_filter: Any = None, *, limit: int, offset: Any = None) -> Any:
        request = edge.ScrollRequest(offset, limit, to_filter(scroll_filter), with_payload=True)
        return self.shards[collection_name].scroll(request)

    def query_batch_points(self, collection_name: str, requests: Sequence[Any]) -> list[Any]:
        batch = edge.QueryBatchRequest([to_request(one) for one in requests])
        return [SimpleNamespace(points=found) for found in self.shards[collection_name].query_batch(batch)]


def to_vector(vector: Any) -> Any:
    if isinstance(vector, models.SparseVector):
        return edge.SparseVector(vector.indices, vector.values)
    return {name: to_vector(one) for name, one in vector.items()} if isinstance(vector, dict) else vector


def to_query(one: Any) -> Any:
    return edge.Query.Nearest(to_vector(one.query), one.using)


def to_request(one: models.QueryRequest) -> Any:
    prefetches = [one.prefetch] if one.prefetch else []
    return edge.QueryRequest(
        limit=one.limit,
        offset=one.offset,
        query=to_query(one),
        prefetches=[edge.Prefetch(by.limit, to_query(by), filter=to_filter(by.filter)) for by in prefetches],
        with_payload=one.with_payload,
        filter=to_filter(one.filter),
    )


def to_filter(one: models.Filter | None) -> Any:
    if one is None:
        return None
    groups = {name: getattr(one, name) for name in ("must", "should", "must_not")}
    return edge.Filter(**{name: [*map(to_condition, group)] for name, group in groups.items() if group is not None})


def to_condition(one: Any) -> Any:
    if isinstance(one, models.Filter):
        return to_filter(one)
    if isinstance(one, models.IsEmptyCondition):
        return edge.IsEmptyCondition(one.is_empty.key)
    if isinstance(one, models.HasIdCondition):
        return edge.HasIdCondition(set(one.has_id))
    if one.range is not None:
        return edge.FieldCondition(one.key, range=edge.RangeFloat(gte=one.range.gte, lte=one.range.lte))
    match = one.match
    is_any = isinstance(match, models.MatchAny)
    if not is_any and isinstance(match.value, bool):
        # The Python package sends 1 for True; the server's client sends true.
        return edge.Filter(must_not=[edge.IsEmptyCondition(one.key)])
    return edge.FieldCondition(one.key, match=edge.MatchAny(match.any) if is_any else edge.MatchValue(match.value))
