"""The class of a vector store, and what is inside of langchain-postgres' own."""

from __future__ import annotations

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
