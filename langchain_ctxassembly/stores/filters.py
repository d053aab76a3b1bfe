"""Kinds of vector stores: how each reads a filter, and how it is queried for the neighbors of a hit.

A search and the neighbors of its hits must be filtered alike, but each vector store has a filter language of its own:
the same mapping means different things to FAISS and to Chroma. So a filter is never translated. The vector store
applies it in its own query where it has one (Chroma, Qdrant); else the chunks that came are tested one by one, as that
vector store would test them (`predicate`). A filter that neither way can apply is a ConfigError.

Chroma and Qdrant find neighbors by document and index in their metadata, whatever their ids are. A query tries each key
that may hold the value (`keys.lookup_keys`, `keys.index`), and a document id that is a number both as text and as a
number, since metadata may hold either. Indexes are queried as integers; 7.0 and "7" aren't found. Where chunks have no
index, the whole document is read for the chunks next to an offset.

A vector store is known by the name of its class, so that none is imported that isn't in use already.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document
from typing_extensions import override

from ctxassembly.data import filters
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.filters import as_predicate, check_size, is_filter
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.stores.ingest import batches
from ctxassembly.stores.memory import MemoryStore
from ctxassembly.stores.numbering import scroll_points
from langchain_ctxassembly.convert.documents import chunk_from

Predicate = Callable[[Document], bool]
IndexQuery = tuple[str, tuple[int, ...]]
"""A document and indexes in it; without indexes, all of it."""

MAX_PREDICATES = 224
"""Comparisons in one query of Chroma, 32 documents under the default keys: its time grows with their square."""
MAX_CLOUD_PREDICATES = 8
"""The same in Chroma Cloud, which refuses more."""
PAGE_SIZE = 1_000
"""Points in one page of a Qdrant query."""


class VectorStoreKind:
    """A vector store whose filter is a function Document -> bool, or a mapping as `as_predicate` describes it.

    It is queried by ids alone. Postgres is of this kind as well: `PGVectorNeighbors` applies its filter in SQL.
    """

    def predicate(self, vectorstore: Any, condition: Any) -> Predicate:  # noqa: ARG002 - other kinds read it
        """Return a test: True for a document that the vector store itself would let pass.

        Raises:
            ConfigError: the filter has another form.
        """
        return as_predicate(condition, "Document")


class _Faiss(VectorStoreKind):
    """FAISS takes a function of the metadata, or a mapping, which it reads unlike any other store.

    So its own private reading is called: a FAISS without it can't be filtered here.
    """

    @override
    def predicate(self, vectorstore: Any, condition: Any) -> Predicate:
        read = getattr(vectorstore, "_create_filter_func", None)
        if read is None:
            raise ConfigError("filter", "one that this FAISS can evaluate; give store= a filter of its own", condition)
        try:
            test = read(condition)
        except (AttributeError, TypeError, ValueError) as error:
            allowed = "a function of the metadata, or a mapping as FAISS reads it"
            raise ConfigError("filter", allowed, condition) from error
        return lambda document: bool(test(document.metadata))


class Chroma(VectorStoreKind):
    """Chroma takes a mapping, `where` in its own words."""

    def is_native(self, condition: Any) -> bool:
        """Return True for a filter that Chroma's own query takes."""
        return isinstance(condition, Mapping)

    def select(self, vectorstore: Any, ids: Sequence[str], condition: Any) -> list[Document]:
        """Return the documents under `ids` that pass a native filter, by one query."""
        return list(self._documents(vectorstore.get(ids=list(ids), where=condition)))

    def find(
        self, vectorstore: Any, queries: Sequence[IndexQuery], keys: MetadataKeys, condition: Any
    ) -> list[Document]:
        """Return the documents at the indexes of `queries` that pass a native filter."""
        found = (vectorstore.get(where=where) for where in self._wheres(vectorstore, queries, keys, condition))
        return list({document.id: document for answer in found for document in self._documents(answer)}.values())

    def _wheres(
        self, vectorstore: Any, queries: Sequence[IndexQuery], keys: MetadataKeys, condition: Any
    ) -> Iterator[Any]:
        """Yield conditions of as many comparisons as a query may have; they may find a chunk twice."""
        room = (MAX_CLOUD_PREDICATES if _is_cloud(vectorstore) else MAX_PREDICATES) - _count_predicates(condition)
        alternatives: list[Any] = []
        largest = 1
        for document_id, indexes in queries:
            places = [{key: {"$in": list(indexes)}} for key in keys.index] if indexes else []
            names = [{key: {"$eq": name}} for key in keys.lookup_keys for name in _id_values(document_id)]
            for some in batches(names, max(1, room - len(places))):
                alternatives.append(self._all_of(self._any_of(some), self._any_of(places) if places else None))
                largest = max(largest, len(some) + len(places))
        for group in batches(alternatives, max(1, room // largest)):
            yield self._all_of(self._any_of(group), condition)

    # Chroma refuses an $or and an $and of one.

    def _any_of(self, conditions: list[Any]) -> Any:
        return {"$or": conditions} if len(conditions) > 1 else conditions[0]

    def _all_of(self, condition: Any, other: Any) -> Any:
        return {"$and": [condition, other]} if other else condition

    def _documents(self, found: Any) -> Iterator[Document]:
        """Yield the documents in a result of `get`, without those that have no text, as its `get_by_ids` does."""
        for id_, text, metadata in zip(found["ids"], found["documents"], found["metadatas"], strict=True):
            if text is not None:
                yield Document(id=id_, page_content=text, metadata=metadata or {})


class Qdrant(VectorStoreKind):
    """Qdrant takes a `models.Filter` over payloads, in which the metadata is under a key of its own."""

    @override
    def predicate(self, vectorstore: Any, condition: Any) -> Predicate:
        if not _is_qdrant_filter(condition):
            return as_predicate(condition, "Document")
        # What Qdrant's local mode decides by.
        from qdrant_client.local.payload_filters import check_filter

        content, metadata = vectorstore.content_payload_key, vectorstore.metadata_payload_key

        def test(document: Document) -> bool:
            payload = {content: document.page_content, metadata: dict(document.metadata)}
            return bool(check_filter(condition, payload, document.metadata.get("_id", document.id or ""), {}))

        return test

    def is_native(self, condition: Any) -> bool:
        """Return True for a filter that Qdrant's own query takes."""
        return _is_qdrant_filter(condition)

    def select(self, vectorstore: Any, ids: Sequence[str], condition: Any) -> list[Document]:
        """Return the documents under `ids` that pass a native filter, by one query."""
        from qdrant_client import models

        return self._documents(vectorstore, models.HasIdCondition(has_id=list(ids)), condition)

    def find(
        self, vectorstore: Any, queries: Sequence[IndexQuery], keys: MetadataKeys, condition: Any
    ) -> list[Document]:
        """Return the documents at the indexes of `queries` that pass a native filter."""
        return self._documents(vectorstore, self._places(vectorstore, queries, keys), condition)

    def _places(self, vectorstore: Any, queries: Sequence[IndexQuery], keys: MetadataKeys) -> Any:
        """Return the condition for the indexes in any of the documents."""
        from qdrant_client import models

        def any_key(names: Sequence[str], match: Any) -> Any:
            paths = (_payload_path(vectorstore.metadata_payload_key, name) for name in names)
            return models.Filter(should=[models.FieldCondition(key=path, match=match) for path in paths])

        alternatives: list[Any] = []
        for document_id, indexes in queries:
            in_part = [any_key(keys.index, models.MatchAny(any=list(indexes)))] if indexes else []
            for name in _id_values(document_id):
                is_document = any_key(keys.lookup_keys, models.MatchValue(value=name))
                alternatives.append(models.Filter(must=[is_document, *in_part]))
        return models.Filter(should=alternatives)

    def _documents(self, vectorstore: Any, wanted: Any, condition: Any) -> list[Document]:
        """Return the documents of all points that pass both, with the metadata that Qdrant's own search gives them."""
        from qdrant_client import models

        collection, payload = vectorstore.collection_name, vectorstore.metadata_payload_key
        both = models.Filter(must=[wanted] if condition is None else [wanted, condition])
        return [
            Document(
                page_content=point.payload.get(vectorstore.content_payload_key, ""),
                metadata={**(point.payload.get(payload) or {}), "_id": point.id, "_collection_name": collection},
            )
            for point in scroll_points(vectorstore.client, collection, PAGE_SIZE, scroll_filter=both, with_payload=True)
        ]


GENERIC, POSTGRES = VectorStoreKind(), VectorStoreKind()
"""Two kinds, since a store over one can't apply a filter of the other in its own query."""
KINDS: Mapping[str, VectorStoreKind] = {
    "AsyncPGVectorStore": POSTGRES,
    "Chroma": Chroma(),
    "FAISS": _Faiss(),
    "PGVector": POSTGRES,
    "PGVectorStore": POSTGRES,
    "QdrantVectorStore": Qdrant(),
}
"""By the name of the class."""


def is_postgres(vectorstore: object) -> bool:
    """Return True if the class of `vectorstore` is one of langchain-postgres, or derived from one."""
    return any(kind.__module__.partition(".")[0] == "langchain_postgres" for kind in type(vectorstore).__mro__)


def unwrap(vectorstore: Any) -> Any:
    """Return the `AsyncPGVectorStore` in a `PGVectorStore`, which has its columns and settings; others unchanged."""
    return getattr(vectorstore, "_PGVectorStore__vs", vectorstore)


def kind_of(vectorstore: Any) -> VectorStoreKind:
    """Return the kind of `vectorstore`, also if its class is derived from one of LangChain's.

    A class that only has the name of one may filter by itself.
    """
    parents = (kind for kind in type(vectorstore).__mro__ if kind.__module__.startswith("langchain"))
    return next((KINDS[kind.__name__] for kind in parents if kind.__name__ in KINDS), GENERIC)


def finds_metadata(vectorstore: Any) -> bool:
    """Return True if `vectorstore` can be queried by the metadata of documents."""
    return isinstance(kind_of(vectorstore), (Chroma, Qdrant))


def predicate(vectorstore: Any, condition: Any) -> Predicate:
    """Return a test for documents from any store: True for those that a filter of `vectorstore` lets pass.

    Raises:
        ConfigError: `condition` is too large, or has a form that can't be evaluated. It is never ignored.
    """
    check_size(condition)
    return kind_of(vectorstore).predicate(vectorstore, condition)


def check_filter(vectorstore: Any, condition: Any) -> None:
    """Raise a ConfigError if `get_documents` could not apply `condition`."""
    check_size(condition)
    if is_filter(condition) and not _is_native(vectorstore, condition):
        predicate(vectorstore, condition)


def get_documents(vectorstore: Any, ids: Sequence[str], condition: Any) -> list[Document]:
    """Return the documents under `ids` that pass `condition`: by the vector store's own query where it has one."""
    kind = kind_of(vectorstore)
    if not isinstance(kind, (Chroma, Qdrant)):
        return _passing(vectorstore, vectorstore.get_by_ids(ids), condition)
    native = condition if _is_native(vectorstore, condition) else None
    return _passing(vectorstore, kind.select(vectorstore, ids, native), condition)


async def aget_documents(vectorstore: Any, ids: Sequence[str], condition: Any) -> list[Document]:
    """Async version of `get_documents`; the queries of Chroma and Qdrant run in a thread."""
    if finds_metadata(vectorstore):
        return await asyncio.to_thread(get_documents, vectorstore, ids, condition)
    return _passing(vectorstore, await vectorstore.aget_by_ids(ids), condition)


def find_by_metadata(vectorstore: Any, refs: Sequence[ChunkRef], keys: MetadataKeys, condition: Any) -> list[Chunk]:
    """Return the chunks at the indexes and next to the offsets of `refs` that pass `condition`.

    The vector store is one that `finds_metadata`.
    """
    kind: Any = kind_of(vectorstore)
    native = condition if _is_native(vectorstore, condition) else None

    def find(queries: Sequence[IndexQuery]) -> list[Chunk]:
        found = kind.find(vectorstore, queries, keys, native) if queries else ()
        return [chunk_from(document, keys) for document in _passing(vectorstore, found, condition)]

    near = [ref for ref in refs if ref.around_offset]
    names = [name for ref in near for name in (ref.document_id, ref.around_offset and ref.around_offset[-1]) if name]
    whole = find([(name, ()) for name in dict.fromkeys(names)])
    indexes: dict[str, set[Any]] = defaultdict(set)
    for ref in refs:
        if not ref.around_offset:
            indexes[ref.document_id].add(ref.index)
    queries = [(name, () if None in wanted else tuple(sorted(wanted))) for name, wanted in indexes.items()]
    return [*find(queries), *MemoryStore(whole).fetch(near)]


def and_filters(first: Any, second: Any) -> Any:
    """Return one filter that means both `first` and `second`; None if their form has no AND known here."""
    if _is_qdrant_filter(first) and _is_qdrant_filter(second):
        return type(first)(must=[first, second])
    return filters.and_filters(first, second)


def _is_native(vectorstore: Any, condition: Any) -> bool:
    """Return True if the vector store applies `condition` in its own query."""
    kind = kind_of(vectorstore)
    return isinstance(kind, (Chroma, Qdrant)) and is_filter(condition) and kind.is_native(condition)


def _passing(vectorstore: Any, documents: Iterable[Document], condition: Any) -> list[Document]:
    """Return the documents that pass `condition`, where the query hasn't applied it."""
    if not is_filter(condition) or _is_native(vectorstore, condition):
        return list(documents)
    return list(filter(predicate(vectorstore, condition), documents))


def _is_qdrant_filter(condition: Any) -> bool:
    kind = type(condition)
    return kind.__name__ == "Filter" and kind.__module__.partition(".")[0] == "qdrant_client"


def _is_cloud(vectorstore: Any) -> bool:
    """Return True for a collection of Chroma Cloud."""
    read_settings = getattr(getattr(vectorstore, "_client", None), "get_settings", None)
    return str(read_settings and read_settings().chroma_server_host).endswith("trychroma.com")


def _count_predicates(where: Any) -> int:
    return sum(
        sum(map(_count_predicates, value)) if key in ("$and", "$or") else 1 for key, value in (where or {}).items()
    )


def _payload_path(payload: str, key: str) -> str:
    """Return the path of a metadata key in a payload; what isn't a plain or dotted name is quoted."""
    return f"{payload}.{key}" if re.fullmatch(r"[\w-]+(\.[\w-]+)*", key) else f'{payload}."{key}"'


def _id_values(document_id: str) -> list[str | int]:
    """Return the values under which metadata may hold a document's id: a number was made text."""
    is_number = re.fullmatch(r"0|-?[1-9]\d{0,17}", document_id)
    return [document_id, int(document_id)] if is_number else [document_id]
