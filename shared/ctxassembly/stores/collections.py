"""The records of a collection of Chroma or Qdrant, as their own clients read and write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ctxassembly.stores.numbering import BATCH_SIZE
from ctxassembly.user_warnings import ignored_warnings


@dataclass(frozen=True)
class ChromaRecords:
    """The records of a `chromadb.Collection`. An update of metadata adds keys; it keeps ids, texts and vectors."""

    keeps_insertion_order: ClassVar[bool] = True

    collection: Any

    def scan(self) -> Iterator[tuple[Any, Mapping[str, Any]]]:
        """Yield the id and the metadata of all records."""
        at = 0
        while (found := self.collection.get(limit=BATCH_SIZE, offset=at, include=["metadatas"]))["ids"]:
            yield from zip(found["ids"], (metadata or {} for metadata in found["metadatas"]), strict=True)
            at += len(found["ids"])

    def read(self, ids: Sequence[Any]) -> dict[Any, tuple[str, Mapping[str, Any]]]:
        """Return the text and the metadata of the records that exist under `ids`."""
        found = self.collection.get(ids=list(ids), include=["documents", "metadatas"])
        records = zip(found["ids"], found["documents"], found["metadatas"], strict=True)
        return {id_: (text or "", metadata or {}) for id_, text, metadata in records}

    def write(self, metadata_by_id: Mapping[Any, Mapping[str, Any]]) -> None:
        """Add keys to the metadata of records, or replace their values."""
        if metadata_by_id:
            self.collection.update(ids=[*metadata_by_id], metadatas=[dict(each) for each in metadata_by_id.values()])


@dataclass(frozen=True)
class QdrantRecords:
    """The points of a Qdrant collection. `set_payload` adds keys; it keeps ids, texts and vectors."""

    keeps_insertion_order: ClassVar[bool] = False

    client: Any
    collection: str
    content: str
    """The key of the text in the payload."""
    metadata: str | None = None
    """The key of the metadata in the payload; None if the payload itself is the metadata."""

    def scan(self) -> Iterator[tuple[Any, Mapping[str, Any]]]:
        """Yield the id and the metadata of all points."""
        payload = [self.metadata] if self.metadata else True
        for point in scroll_points(self.client, self.collection, BATCH_SIZE, with_payload=payload):
            yield point.id, self._metadata_of(point)

    def read(self, ids: Sequence[Any]) -> dict[Any, tuple[str, Mapping[str, Any]]]:
        """Return the text and the metadata of the points that exist under `ids`."""
        points = self.client.retrieve(self.collection, list(ids), with_payload=True)
        return {point.id: ((point.payload or {}).get(self.content) or "", self._metadata_of(point)) for point in points}

    def write(self, metadata_by_id: Mapping[Any, Mapping[str, Any]]) -> None:
        """Add keys to the metadata of points, or replace their values."""
        from qdrant_client import models

        operations = [
            models.SetPayloadOperation(
                set_payload=models.SetPayload(payload=dict(metadata), points=[id_], key=self.metadata)
            )
            for id_, metadata in metadata_by_id.items()
        ]
        if operations:
            self.client.batch_update_points(self.collection, operations)

    def create_indexes(self, document_key: str, index_key: str) -> None:
        """Create the payload indexes by which neighbors are found; those that exist stay."""
        prefix = f"{self.metadata}." if self.metadata else ""
        with ignored_warnings("Payload indexes have no effect"):  # in the client's own local form
            self.client.create_payload_index(self.collection, f"{prefix}{document_key}", "keyword")
            self.client.create_payload_index(self.collection, f"{prefix}{index_key}", "integer")

    def _metadata_of(self, point: Any) -> Mapping[str, Any]:
        payload: Mapping[str, Any] = point.payload or {}
        return payload if self.metadata is None else payload.get(self.metadata) or {}


def scroll_points(client: Any, collection: str, page: int, **options: Any) -> Iterator[Any]:
    """Yield the points of a Qdrant collection, so many at a time."""
    offset = None
    while True:
        points, offset = client.scroll(collection, limit=page, offset=offset, **options)
        yield from points
        if offset is None:
            return
