"""An index on Qdrant's own engine, in this process, finds what one in memory finds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from index_cases import index_cases
from qdrant_client import models

from ctxassembly import Chunk, ChunkRef, MemoryIndex, retrieve
from ctxassembly.retrieval import FindTerms, SearchChunks
from ctxassembly.stores.qdrant import QdrantIndex
from qdrant_edge_client import EdgeClient


def test_all_cases_of_an_index(tmp_path: Path):
    numbers = count()

    def make_index(chunks: Sequence[Chunk], vectors: Any) -> QdrantIndex:
        index = QdrantIndex.create(EdgeClient(tmp_path / str(next(numbers))), dimensions=8)
        index.add(chunks, vectors, progress=False)
        return index

    for case in index_cases(make_index):
        case.check()


def test_attach_to_points_that_others_wrote(tmp_path: Path):
    client = EdgeClient(tmp_path)
    client.create_collection("docs", models.VectorParams(size=8, distance=models.Distance.COSINE))
    points = [
        models.PointStruct(
            id=at,
            vector=[1.0, float(at), *[0.0] * 6],
            payload={"page_content": text, "metadata": {"document_id": "iron", "title": "Iron deficiency"}},
        )
        for at, text in enumerate(("Tired.", "Ferritin is low.", " "))
    ]
    client.upsert("docs", points)
    keys = {"content_payload_key": "page_content", "metadata_payload_key": "metadata", "vector_name": ""}
    store = SimpleNamespace(client=client, collection_name="docs", **keys)
    index = QdrantIndex.attach(store, progress=False)
    assert QdrantIndex.attach(store, dry_run=True) == []
    assert (index.check().counted, index.check().without_words) == (3, 0)
    found = retrieve("ferritin", index=index, embed=lambda _: [1.0, 2.0, *[0.0] * 6])
    assert [hit.chunk.text for hit in found.hits][:2] == ["Ferritin is low.", " "]
    assert [chunk.text for chunk in index.fetch([ChunkRef("lab", named_in="Iron deficiency")])] == ["Tired."]
    client.upsert("docs", points[1:2])
    assert index.check().without_words == 1
    index = QdrantIndex.attach(store, progress=False)
    assert index.find_terms(FindTerms("ferritin", 9, 0)).terms[0].chunk_count == 1


ODD_ROWS: list[dict[str, Any]] = [
    *({"tags": value} for value in ([], ["b"], ["x"], "b", {}, 3)),
    *({"a\\b": value} for value in (1, [2])),
    {"c": {"d\\": 1}},
    {},
]
LISTS: list[Any] = [[], ["a"], ["m"], ("m",), "m", 3]


def test_lists_and_backslashes_are_compared_as_in_memory(tmp_path: Path):
    """An empty list is a value, and a key with a backslash is a key."""
    rows = [Chunk(f"row {at}", "doc", "Ferritin.", at, metadata=row) for at, row in enumerate(ODD_ROWS)]
    vectors = [[1.0, float(at), *[0.0] * 6] for at in range(len(rows))]
    index = QdrantIndex.create(EdgeClient(tmp_path), dimensions=8)
    index.add(rows, vectors, progress=False)
    expected = MemoryIndex(rows, vectors)
    compared: list[Any] = [
        *({"tags": {name: value}} for name in ("$eq", "$ne", "$lt", "$lte", "$gt", "$gte") for value in LISTS),
        *({"tags": {"$between": [low, high]}} for low in LISTS for high in LISTS),
        *({"tags": {name: [[], "b"]}} for name in ("$in", "$nin")),
        *({"tags": {"$exists": exists}} for exists in (True, False)),
        *({key: value} for key in ("a\\b", "c.d\\", "\\") for value in (1, {"$lte": [2]}, {"$exists": False})),
    ]
    for condition in [*compared, *({"$not": one} for one in compared)]:
        request = SearchChunks(20, vectors[0], None, condition)
        found, wanted = ({hit.chunk.id for hit in of.search(request)} for of in (index, expected))
        assert found == wanted, condition
