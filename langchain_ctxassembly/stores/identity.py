"""The location of a vector store's documents, by which a search and a store of neighbors are compared."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


def is_postgres(vectorstore: object) -> bool:
    """Return True if the class of `vectorstore` is one of langchain-postgres, or derived from one."""
    return any(kind.__module__.partition(".")[0] == "langchain_postgres" for kind in type(vectorstore).__mro__)


def unwrap(vectorstore: Any) -> Any:
    """Return the `AsyncPGVectorStore` in a `PGVectorStore`, which has its columns and settings; others unchanged."""
    return getattr(vectorstore, "_PGVectorStore__vs", vectorstore)


def loop_of(vectorstore: Any) -> AbstractEventLoop | None:
    """Return the event loop that the engine of a PGVectorStore runs in a thread of its own; None if it has none."""
    loop: AbstractEventLoop | None = getattr(getattr(vectorstore, "_engine", None), "_loop", None)
    return loop


def is_langchain_class(kind: type) -> bool:
    """Return True if a class is from one of LangChain's packages.

    Nobody knows how others search: a class of the caller may filter by itself.
    """
    return kind.__module__.partition(".")[0].startswith("langchain")


# ruff: noqa: SLF001 - the engine of PGVector and the collection of Chroma have no public names

Location = tuple[Hashable, ...]
"""Equal for two vector stores over the same documents."""


def has_same_documents(store: Any, vectorstore: Any) -> bool:
    """Return True if `store`, which brings neighbors, reads the documents that `vectorstore` searches.

    It does if its `vectorstore` is the same object, or one over the same table or collection for the same database
    user. Any other store, in memory or not, may hold documents that the search would never have found.
    """
    own = getattr(store, "vectorstore", None)
    if own is None:
        return False
    if own is vectorstore:
        return True
    location = location_of(own)
    return location is not None and location == location_of(vectorstore)


def location_of(vectorstore: Any) -> Location | None:
    """Return the place of the documents of `vectorstore`; None if it is unknown."""
    inner = unwrap(vectorstore)
    names = (kind.__name__ for kind in type(inner).__mro__ if is_langchain_class(kind))
    get_location = next((LOCATION_GETTERS[name] for name in names if name in LOCATION_GETTERS), None)
    return None if get_location is None else get_location(inner)


def _database_key(engine: Any) -> Hashable:
    """Return server, database and user, whatever the driver. Users count, since each may see different rows."""
    return engine.url.set(drivername="postgresql")  # type: ignore[no-any-return]


def _collection_location(store: Any) -> Location | None:
    engine = store._async_engine if store.async_mode else store._engine
    return None if engine is None else ("collection", _database_key(engine), store.collection_name)


LOCATION_GETTERS: Mapping[str, Callable[[Any], Location | None]] = {
    "AsyncPGVectorStore": lambda store: ("table", _database_key(store.engine), store.schema_name, store.table_name),
    "Chroma": lambda store: ("chroma", store._collection.id),
    "PGVector": _collection_location,
    "QdrantVectorStore": lambda store: ("qdrant", id(store.client), store.collection_name),
}
"""Functions by the name of the class, so that no package is imported that isn't in use."""
