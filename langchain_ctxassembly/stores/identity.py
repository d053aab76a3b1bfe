"""The place where a vector store keeps its documents, by which a search and a store of neighbours are compared."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

from ctxassembly.answering.cache_key import Hidden, searched, token_of

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


def is_postgres(vectorstore: object) -> bool:
    """True if the class of `vectorstore` is one of langchain-postgres, or derived from one."""
    return any(kind.__module__.partition(".")[0] == "langchain_postgres" for kind in type(vectorstore).__mro__)


def unwrapped(vectorstore: Any) -> Any:
    """The `AsyncPGVectorStore` inside a `PGVectorStore`, which has its columns and settings; any other as it is."""
    return getattr(vectorstore, "_PGVectorStore__vs", vectorstore)


def loop_of(vectorstore: Any) -> AbstractEventLoop | None:
    """The event loop that the engine of a PGVectorStore runs in a thread of its own; None if it has none."""
    loop: AbstractEventLoop | None = getattr(getattr(vectorstore, "_engine", None), "_loop", None)
    return loop


def is_langchains(kind: type) -> bool:
    """True if a class is from one of LangChain's packages.

    Nobody knows how others search: a class of the caller may filter by itself.
    """
    return kind.__module__.partition(".")[0].startswith("langchain")


# ruff: noqa: SLF001  what is private here has no public way in: the engine of PGVector, the collection of Chroma


Home = tuple[Hashable, ...]
"""Equal for two vector stores over the same documents."""


def reads_the_same(store: Any, vectorstore: Any) -> bool:
    """True if `store`, which brings neighbours, reads the documents that `vectorstore` searches.

    It does if its `vectorstore` is the same object, or one over the same table or collection for the same database
    user. Any other store, in memory or not, may hold documents that the search would never have found.
    """
    own = getattr(store, "vectorstore", None)
    if own is None:
        return False
    if own is vectorstore:
        return True
    home = home_of(own)
    return home is not None and home == home_of(vectorstore)


def place_of(vectorstore: Any) -> Any:
    """The name of where a vector store keeps its documents, for the key of a kept answer.

    A table or a collection has a name in every process, any other place a token of the object. A vector store of the
    caller's own class may filter by itself: it is hidden.
    """
    if not is_langchains(type(vectorstore)):
        return Hidden(type(vectorstore).__name__, vectorstore)
    home = home_of(vectorstore)
    if home is None or home[0] == "qdrant":  # whose client has no name
        return token_of(unwrapped(vectorstore))
    return [part if isinstance(part, str) else _written(part) for part in home]


def store_named(store: Any) -> Any:
    """The name of a store of neighbours, with the filter that it has."""
    vectorstore = getattr(store, "vectorstore", None)
    if vectorstore is None or type(store).__module__.partition(".")[0] != __package__.partition(".")[0]:
        return searched(store)
    return {"place": place_of(vectorstore), "filter": getattr(store, "filter", None)}


def _written(part: Any) -> str:
    hidden = getattr(part, "render_as_string", None)
    return str(part) if hidden is None else str(hidden(hide_password=True))


def home_of(vectorstore: Any) -> Home | None:
    """The place of the documents of `vectorstore`; None if it is unknown."""
    inner = unwrapped(vectorstore)
    names = (kind.__name__ for kind in type(inner).__mro__ if is_langchains(kind))
    find = next((HOMES[name] for name in names if name in HOMES), None)
    return None if find is None else find(inner)


def _table(store: Any) -> Home | None:
    return ("table", _database(store.engine), store.schema_name, store.table_name)


def _collection(store: Any) -> Home | None:
    engine = store._async_engine if store.async_mode else store._engine
    return None if engine is None else ("collection", _database(engine), store.collection_name)


def _database(engine: Any) -> Hashable:
    """Server, database and user, whatever the driver. Users count, since each may see only rows of their own."""
    return engine.url.set(drivername="postgresql")  # type: ignore[no-any-return]


def _chroma(store: Any) -> Home | None:
    return ("chroma", store._collection.id)


def _qdrant(store: Any) -> Home | None:
    return ("qdrant", id(store.client), store.collection_name)


HOMES: Mapping[str, Callable[[Any], Home | None]] = {
    "AsyncPGVectorStore": _table,
    "Chroma": _chroma,
    "PGVector": _collection,
    "QdrantVectorStore": _qdrant,
}
"""Functions by the name of the class, so that no package is imported that isn't in use."""
