"""The kinds of vector stores: how each reads a filter, and how its chunks are held to one.

A search and the neighbours of its hits must be filtered alike, but each vector store has a filter language of its own:
the same mapping means different things to FAISS and to Chroma. So a filter is never translated. The vector store
applies it in its own query where it has one (`select`, `find`, `beside`); else the chunks that came are tested one by
one, as that vector store would test them (`passes`). A filter that neither way can apply is a ConfigError.

A vector store is known by the name of its class, so that none is imported that isn't in use already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document

from ctxassembly.data import filters
from ctxassembly.data.filters import as_predicate, check_size, is_filter
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from langchain_ctxassembly.stores.identity import is_langchains
from langchain_ctxassembly.stores.metadata_queries import (
    Asked,
    Spot,
    chroma_beside,
    chroma_documents,
    chroma_places,
    qdrant_beside,
    qdrant_documents,
    qdrant_places,
)

Test = Callable[[Document], bool]


@dataclass(frozen=True)
class Kind:
    """One kind of vector store: its ways to apply a filter, and to find chunks by metadata."""

    passes: Callable[[Any, Any], Test]
    """From a vector store and a filter to a test: True for a document that the vector store itself would let pass.

    Raises ConfigError if the filter has another form."""
    select: Callable[[Any, Sequence[str], Any], list[Document]] | None = None
    """From a vector store, ids and a filter or None: the documents under those ids that pass, by one query; None if the
    vector store has no such query. It is also used where `get_by_ids` isn't implemented."""
    in_own_form: Callable[[Any], bool] = lambda _: False
    """True for a filter in the form that `select`, `find` and `beside` take."""
    find: Callable[[Any, Sequence[Asked], MetadataKeys, Any], list[Document]] | None = None
    """From a vector store, places, the keys of their metadata and a filter or None: the documents at these places that
    pass; None if the vector store can't be asked by metadata."""
    beside: Callable[[Any, Sequence[Spot], MetadataKeys, Any], list[Any]] | None = None
    """From the same, with offsets in place of places: the ids of the documents beside these that pass."""


def kind_of(vectorstore: Any) -> Kind:
    """The kind of `vectorstore`, also if its class is derived from one that is known."""
    names = (parent.__name__ for parent in type(vectorstore).__mro__ if is_langchains(parent))
    return next((KINDS[name] for name in names if name in KINDS), GENERIC)


def passes(vectorstore: Any, condition: Any) -> Test:
    """A test for documents from any store: True for those that a filter of `vectorstore` lets pass.

    Raises:
        ConfigError: `condition` is too large, or has a form that can't be evaluated. It is never ignored.
    """
    check_size(condition)
    return kind_of(vectorstore).passes(vectorstore, condition)


def check(vectorstore: Any, condition: Any) -> None:
    """Raise a ConfigError if `got` could not apply `condition`."""
    check_size(condition)
    if is_filter(condition) and not kind_of(vectorstore).in_own_form(condition):
        passes(vectorstore, condition)


def got(vectorstore: Any, ids: Sequence[str], condition: Any) -> list[Document]:
    """The documents under `ids` that pass `condition`: by the vector store's own query where it has one."""
    kind = kind_of(vectorstore)
    if is_filter(condition) and kind.select and kind.in_own_form(condition):
        return kind.select(vectorstore, ids, condition)
    try:
        documents = vectorstore.get_by_ids(ids)
    except NotImplementedError:
        if kind.select is None:
            raise
        documents = kind.select(vectorstore, ids, None)
    return _passing(vectorstore, documents, condition)


async def agot(vectorstore: Any, ids: Sequence[str], condition: Any) -> list[Document]:
    """The same, awaited. None of these queries has an async form of its own: LangChain too runs them in a thread."""
    kind = kind_of(vectorstore)
    if is_filter(condition) and kind.select and kind.in_own_form(condition):
        return await asyncio.to_thread(kind.select, vectorstore, ids, condition)
    try:
        documents = await vectorstore.aget_by_ids(ids)
    except NotImplementedError:
        if kind.select is None:
            raise
        documents = await asyncio.to_thread(kind.select, vectorstore, ids, None)
    return _passing(vectorstore, documents, condition)


def finds_places(vectorstore: Any) -> bool:
    """True if `vectorstore` can be asked for a document and an index in the metadata, whatever the ids are."""
    return kind_of(vectorstore).find is not None


def found(vectorstore: Any, asked: Sequence[Asked], keys: MetadataKeys, condition: Any) -> list[Document]:
    """The documents at the places that pass `condition`; none unless the vector store `finds_places`."""
    kind = kind_of(vectorstore)
    if kind.find is None:
        return []
    if not is_filter(condition):
        return kind.find(vectorstore, asked, keys, None)
    if kind.in_own_form(condition):
        return kind.find(vectorstore, asked, keys, condition)
    return _passing(vectorstore, kind.find(vectorstore, asked, keys, None), condition)


def found_beside(vectorstore: Any, asked: Sequence[Spot], keys: MetadataKeys, condition: Any) -> list[Document]:
    """The documents beside the offsets that pass `condition`; none unless the vector store `finds_places`."""
    kind = kind_of(vectorstore)
    if kind.beside is None:
        return []
    own = condition if is_filter(condition) and kind.in_own_form(condition) else None
    ids = kind.beside(vectorstore, asked, keys, own)
    return got(vectorstore, ids, condition) if ids else []


def both(first: Any, second: Any) -> Any:
    """One filter that means both `first` and `second`; None if their form has no AND known here."""
    if _is_qdrants(first) and _is_qdrants(second):
        return type(first)(must=[first, second])
    return filters.both(first, second)


def _passing(vectorstore: Any, documents: Sequence[Document], condition: Any) -> list[Document]:
    if not is_filter(condition):
        return list(documents)
    test = passes(vectorstore, condition)
    return [document for document in documents if test(document)]


def _as_predicate(vectorstore: Any, condition: Any) -> Test:  # noqa: ARG001 - one signature for all kinds
    return as_predicate(condition, "Document")


# FAISS: a function of the metadata, or a mapping. It reads a mapping unlike any other store, so its own private reading
# is called: a FAISS without it can't be filtered here.


def _faiss_passes(vectorstore: Any, condition: Any) -> Test:
    read = getattr(vectorstore, "_create_filter_func", None)
    if read is None:
        raise ConfigError("filter", "one that this FAISS can evaluate; give store= a filter of its own", condition)
    try:
        test = read(condition)
    except (AttributeError, TypeError, ValueError) as error:
        raise ConfigError("filter", "a function of the metadata, or a mapping as FAISS reads it", condition) from error
    return lambda document: bool(test(document.metadata))


# Chroma: a mapping, `where` in its own words.


def _chroma_select(vectorstore: Any, ids: Sequence[str], condition: Any) -> list[Document]:
    return list(chroma_documents(vectorstore.get(ids=list(ids), where=condition)))


# Qdrant: a `models.Filter` over payloads, in which the metadata stand under a key of their own.


def _is_qdrants(condition: Any) -> bool:
    kind = type(condition)
    return kind.__name__ == "Filter" and kind.__module__.partition(".")[0] == "qdrant_client"


def _qdrant_select(vectorstore: Any, ids: Sequence[str], condition: Any) -> list[Document]:
    from qdrant_client import models

    of_ids = models.HasIdCondition(has_id=list(ids))
    wanted = models.Filter(must=[of_ids, *([condition] if condition is not None else [])])
    return list(qdrant_documents(vectorstore, wanted))


def _qdrant_passes(vectorstore: Any, condition: Any) -> Test:
    if not _is_qdrants(condition):
        return as_predicate(condition, "Document")
    # What Qdrant's local mode decides by.
    from qdrant_client.local.payload_filters import check_filter

    content, metadata = vectorstore.content_payload_key, vectorstore.metadata_payload_key

    def test(document: Document) -> bool:
        payload = {content: document.page_content, metadata: dict(document.metadata)}
        return bool(check_filter(condition, payload, document.metadata.get("_id", document.id or ""), {}))

    return test


GENERIC = Kind(_as_predicate)
"""A function Document -> bool, or a mapping as `as_predicate` describes it. `InMemoryVectorStore` takes the first."""
POSTGRES = Kind(_as_predicate)
"""Held to in SQL by `PGVectorNeighbours`; elsewhere as far as `as_predicate` knows its operators."""
CHROMA = Kind(
    _as_predicate, _chroma_select, lambda condition: isinstance(condition, Mapping), chroma_places, chroma_beside
)
QDRANT = Kind(_qdrant_passes, _qdrant_select, _is_qdrants, qdrant_places, qdrant_beside)
KINDS: Mapping[str, Kind] = {
    "AsyncPGVectorStore": POSTGRES,
    "Chroma": CHROMA,
    "FAISS": Kind(_faiss_passes),
    "PGVector": POSTGRES,
    "PGVectorStore": POSTGRES,
    "Qdrant": Kind(_qdrant_passes),
    "QdrantVectorStore": QDRANT,
}
"""By the name of the class."""
