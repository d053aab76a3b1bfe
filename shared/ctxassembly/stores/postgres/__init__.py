"""PostgreSQL: neighbours of chunks from any table of them, and an index to search one by words and vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxassembly.errors import missing_extra

try:
    import sqlalchemy as _sqlalchemy  # noqa: F401
except ModuleNotFoundError as error:
    raise missing_extra(error, __name__, "postgres", ("sqlalchemy",)) from error

if TYPE_CHECKING:
    from ctxassembly.stores.postgres.index import PostgresIndex

__all__ = ["PostgresIndex"]


def __getattr__(name: str) -> Any:
    if name != "PostgresIndex":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ctxassembly.stores.postgres.index import PostgresIndex

    return PostgresIndex
