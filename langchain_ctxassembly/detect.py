"""What langchain-postgres' vector stores are, told without importing it."""

from __future__ import annotations

from typing import Any


def is_postgres(vectorstore: object) -> bool:
    """Whether `vectorstore` is of a class of langchain-postgres, or one derived from it."""
    return any(kind.__module__.partition(".")[0] == "langchain_postgres" for kind in type(vectorstore).__mro__)


def unwrapped(vectorstore: Any) -> Any:
    """The `AsyncPGVectorStore` inside a `PGVectorStore`, which keeps columns and settings to itself; else the same."""
    return getattr(vectorstore, "_PGVectorStore__vs", vectorstore)
