"""What a vector store is, told without importing any."""

from __future__ import annotations

from typing import Any


def is_postgres(vectorstore: object) -> bool:
    """Whether `vectorstore` is of a class of langchain-postgres, or one derived from it."""
    return any(kind.__module__.partition(".")[0] == "langchain_postgres" for kind in type(vectorstore).__mro__)


def unwrapped(vectorstore: Any) -> Any:
    """The `AsyncPGVectorStore` inside a `PGVectorStore`, which keeps columns and settings to itself; else the same."""
    return getattr(vectorstore, "_PGVectorStore__vs", vectorstore)


def is_langchains(kind: type) -> bool:
    """Whether a class is of LangChain's packages.

    How others search is theirs to say: a class of one's own may filter by itself.
    """
    return kind.__module__.partition(".")[0].startswith("langchain")
