"""Numbers for the chunks of a vector store, written in place: the report of it, and the numbering of a collection.

A vector store keeps no order of chunks. The order of insertion isn't safe either: chunks are updated, and loaded in
parallel. So only an order that the rows themselves prove is used: page, then row or line, then offset. A document is
numbered if this order distinguishes all its chunks, and if links between chunks, where there are any, agree. The
others are named in the result.

A store is read in batches, first the metadata of all chunks and then the texts of documents that change, and written in
batches: a table of PostgreSQL in one transaction (`ctxassembly.stores.postgres.ingest`). A collection of Chroma or
Qdrant has none: if its numbering is interrupted, a second run completes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import FILE_PATH_KEY, MetadataKeys, get_path, to_integer
from ctxassembly.errors import ConfigError
from ctxassembly.ingestion.record import record_documents
from ctxassembly.safe_repr import pluralize, to_id
from ctxassembly.stores.ingest import batches
from ctxassembly.user_warnings import ignored_warnings

MAX_NAMED_DOCUMENTS = 100
"""Most documents that a result names as those that could not be ordered."""
ROW_KEYS = ("row", "seq_num", "row_idx_start")
"""The keys for the row of LangChain's CSVLoader and JSONLoader and of Haystack, besides `keys.row_number`."""
NO_DOCUMENT = "None"
"""LlamaIndex's `ref_doc_id` of a node without a SOURCE."""
BATCH_SIZE = 300
"""Records of one request: the most that Chroma Cloud returns and writes."""
MAX_TOGETHER = 5_000
"""Chunks of documents that are read together: all documents show how a splitter made them."""


@dataclass(frozen=True, slots=True)
class NumberingReport:
    """The result of numbering a vector store: its counts, and the documents that could not be ordered."""

    chunks: int
    """Chunks that were given a document id or an index."""
    documents: int
    """Documents whose chunks now all have their own index, from any source, or are linked to each other."""
    unordered: tuple[str, ...]
    """Documents whose chunks don't show their order, or contradict each other; at most 100."""
    unordered_count: int
    """Number of all such documents."""
    nameless: int
    """Chunks that name neither a document nor a source."""

    def __str__(self) -> str:
        numbered = pluralize(self.chunks, "chunk was", "chunks were")
        sentences = [
            f"{numbered} numbered; {pluralize(self.documents, 'document has', 'documents have')} neighbors now"
        ]
        if self.unordered_count:
            names = ", ".join(map(repr, self.unordered[:3]))
            sentences.append(
                f"{pluralize(self.unordered_count, 'document')} could not be ordered by page, row, offset or links "
                f"({names}): store them again with the indexes of number_chunks(...), or pass "
                "trust_insertion_order=True if they were stored once and in order"
            )
        if self.nameless:
            nameless = pluralize(self.nameless, "chunk names", "chunks name")
            sentences.append(f"{nameless} neither a document nor a source")
        return "; ".join(sentences)


@dataclass(frozen=True, slots=True)
class StoredPlace:
    """What a stored chunk shows of its position."""

    id: Any
    document: str | None
    named: str | None
    """The document id that it has already, apart from its source."""
    index: Any
    order: tuple[int | None, int | None, int | None]
    """Page, row or line, and offset."""
    file: str | None
    link: Any = None
    """The id by which links refer to it."""
    following: str | None = None
    """The same of the next chunk, if a link names it."""


class Records(Protocol):
    """The records of a collection, or the rows of a table: id, text and metadata of each chunk."""

    @property
    def keeps_insertion_order(self) -> bool:
        """True if `scan` yields records in the order in which they were stored."""

    def scan(self) -> Iterable[tuple[Any, Mapping[str, Any]]]:
        """Yield the id and the metadata of all records."""

    def read(self, ids: Sequence[Any]) -> Mapping[Any, tuple[str, Mapping[str, Any]]]:
        """Return the text and the metadata of the records that exist under `ids`, which are `BATCH_SIZE` at most."""

    def write(self, metadata_by_id: Mapping[Any, Mapping[str, Any]]) -> None:
        """Add keys to the metadata of records, or replace their values; `BATCH_SIZE` records at most."""


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

        operations = []
        for id_, metadata in metadata_by_id.items():
            payload = models.SetPayload(payload=dict(metadata), points=[id_], key=self.metadata)
            operations.append(models.SetPayloadOperation(set_payload=payload))
        if operations:
            self.client.batch_update_points(self.collection, operations)

    def create_indexes(self, document_key: str, index_key: str) -> None:
        """Create the payload indexes by which neighbors are found; those that exist stay."""
        prefix = f"{self.metadata}." if self.metadata else ""
        create_payload_index(self.client, self.collection, f"{prefix}{document_key}", "keyword")
        create_payload_index(self.client, self.collection, f"{prefix}{index_key}", "integer")

    def _metadata_of(self, point: Any) -> Mapping[str, Any]:
        payload: Mapping[str, Any] = point.payload or {}
        return payload if self.metadata is None else payload.get(self.metadata) or {}


def create_payload_index(client: Any, collection: str, path: str, kind: Any) -> None:
    """Index the values under `path` in the payloads of a Qdrant collection; an index that exists stays."""
    with ignored_warnings("Payload indexes have no effect"):  # in the client's own local form
        client.create_payload_index(collection, path, kind)


def scroll_points(client: Any, collection: str, page: int, **options: Any) -> Iterator[Any]:
    """Yield the points of a Qdrant collection, so many at a time."""
    offset = None
    while True:
        points, offset = client.scroll(collection, limit=page, offset=offset, **options)
        yield from points
        if offset is None:
            return


@dataclass(frozen=True)
class RecordForm:
    """A framework's form of a record, as functions of its id and metadata."""

    place: Callable[[Any, Mapping[str, Any], MetadataKeys], StoredPlace]
    chunk: Callable[[Any, str, Mapping[str, Any], MetadataKeys], Chunk]
    """A function from id, text, metadata and keys."""
    new_metadata: Callable[[Mapping[str, Any], str, Mapping[str, Any], MetadataKeys], Mapping[str, Any]]
    """A function from metadata, document, index and overlap under their keys, and keys to the metadata to write."""
    writes: tuple[str, ...]
    """The particulars that it writes under the first of their keys."""


def number_collection(
    records: Records,
    form: RecordForm,
    keys: MetadataKeys,
    *,
    trust_insertion_order: bool = False,
    dry_run: bool = False,
) -> NumberingReport:
    """Number the chunks of a store by document and index; write only metadata.

    A document whose chunks have an index each stays as it is, so a second call changes nothing.

    Raises:
        ConfigError: an index or a document under a dotted key; `trust_insertion_order` for records in another order.
    """
    for name in form.writes:
        if "." in (key := getattr(keys, name)[0]):
            raise ConfigError(f"keys.{name}", "a key without a dot first, to write it under", key)
    if trust_insertion_order and not records.keeps_insertion_order:
        allowed = "False for Qdrant, which doesn't keep the order in which chunks were stored"
        raise ConfigError("trust_insertion_order", allowed, trust_insertion_order)
    documents: dict[str, list[StoredPlace]] = defaultdict(list)
    nameless = 0
    for id_, metadata in records.scan():
        place = form.place(id_, metadata, keys)
        if place.document is None:
            nameless += 1
        else:
            documents[place.document].append(place)
    changed: dict[str, Mapping[int, StoredPlace]] = {}
    change_count = 0
    unordered: list[str] = []
    for document, members in documents.items():
        by_index = _by_index(members, trusts_insertion_order=trust_insertion_order)
        if count := sum(place.named != document or place.index != index for index, place in by_index.items()):
            changed[document] = by_index
            change_count += count
        elif not by_index and not _are_linked(members):
            unordered.append(document)
    if not dry_run:
        _write(records, form, keys, changed)
    named = tuple(sorted(unordered)[:MAX_NAMED_DOCUMENTS])
    ordered_count = len(documents) - len(unordered)
    return NumberingReport(change_count, ordered_count, named, len(unordered), nameless)


def _by_index(members: Sequence[StoredPlace], *, trusts_insertion_order: bool) -> dict[int, StoredPlace]:
    """Return the chunks of a document by their index; empty if their order is unknown."""
    indexed = {index: place for place in members if (index := to_integer(place.index)) is not None}
    if len(indexed) == len(members):
        return indexed
    ordered = sorted(members, key=lambda place: place_order(place.order))
    agree = all(
        place.following is None or (after is not None and place.following == after.link)
        for place, after in zip(ordered, [*ordered[1:], None], strict=True)
    )
    is_one_file = len({place.file for place in members if place.file is not None}) <= 1
    can_be_sorted = (trusts_insertion_order or _are_distinct(members)) and agree and is_one_file
    return dict(enumerate(ordered)) if can_be_sorted else {}


def place_order(place: Iterable[int | None]) -> list[tuple[bool, int]]:
    """Return what sorts chunks by their places, each unknown number last."""
    return [(number is None, number or 0) for number in place]


def _are_distinct(members: Sequence[StoredPlace]) -> bool:
    """Return True if page and row, or page, row and offset, are different for all chunks.

    Either all chunks have a page or none has, and so with rows: one without has no place among the others.
    """
    count = len(members)
    pages, rows, starts = zip(*(place.order for place in members), strict=True)
    is_complete = all(sum(value is not None for value in values) in (0, count) for values in (pages, rows))
    by_offset = None not in starts and len({place.order for place in members}) == count
    return is_complete and (by_offset or len(set(zip(pages, rows, strict=True))) == count)


def _are_linked(members: Sequence[StoredPlace]) -> bool:
    links = sum(place.following is not None for place in members)
    return links == len(members) - 1 and len({place.named for place in members} - {None}) == 1


def _write(
    records: Records, form: RecordForm, keys: MetadataKeys, changed: Mapping[str, Mapping[int, StoredPlace]]
) -> None:
    """Write the numbers of the changed documents, and what all their chunks together show; as many at once as fit."""
    group: dict[str, Mapping[int, StoredPlace]] = {}
    for document, by_index in changed.items():
        if group and sum(map(len, group.values())) + len(by_index) > MAX_TOGETHER:
            _write_group(records, form, keys, group)
            group = {}
        group[document] = by_index
    _write_group(records, form, keys, group)


def _write_group(
    records: Records, form: RecordForm, keys: MetadataKeys, group: Mapping[str, Mapping[int, StoredPlace]]
) -> None:
    found: dict[Any, tuple[str, Mapping[str, Any]]] = {}
    for batch in batches([place.id for by_index in group.values() for place in by_index.values()], BATCH_SIZE):
        found |= records.read(batch)
    chunks = [
        {
            index: form.chunk(place.id, *found[place.id], keys)
            for index, place in by_index.items()
            if place.id in found  # else it was deleted meanwhile
        }
        for by_index in group.values()
    ]
    written: dict[Any, Mapping[str, Any]] = {}
    for document, recorded in zip(group, record_documents(chunks, keys), strict=True):
        for index, known in recorded.items():
            id_ = group[document][index].id
            number = {keys.index[0]: index, **known}
            written[id_] = form.new_metadata(found[id_][1], document, number, keys)
    for some in batches(written.items(), BATCH_SIZE):
        records.write(dict(some))


def find_place(
    id_: Any, metadata: Mapping[str, Any], keys: MetadataKeys, *, start: Any, source: str | None = None
) -> StoredPlace:
    """Return what the `metadata` of a chunk show of its position; `start` is its offset.

    `source` is the document to which a relation of LlamaIndex leads.
    """

    def first(names: Iterable[str]) -> str | None:
        values = (to_id(get_path(metadata, name)) for name in names)
        return next((value for value in values if value not in (None, NO_DOCUMENT)), None)

    def first_integer(names: Iterable[str]) -> int | None:
        values = (to_integer(get_path(metadata, name)) for name in names)
        return next((value for value in values if value is not None), None)

    page = first_integer(reversed(keys.page))  # the printed label last: labels may restart within a file
    row = first_integer((*keys.row_number, *ROW_KEYS, *keys.start_line))
    own, file = first(keys.document_id), first(keys.source)
    # The pages that a reader makes documents of become one document, the file.
    document = own or (file if first(keys.page) is not None else None) or source or file
    order = (page, row, to_integer(start))
    return StoredPlace(id_, document, own, keys.read(metadata, "index"), order, to_id(metadata.get(FILE_PATH_KEY)))
