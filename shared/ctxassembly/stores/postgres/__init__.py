"""PostgreSQL: neighbors of chunks from any table of them, an index to search one by words and vectors, a taxonomy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ctxassembly.errors import missing_extra

try:
    import sqlalchemy as _sqlalchemy  # noqa: F401

    # Other packages bring SQLAlchemy alone; its asyncio part, which the extra brings, needs this. It carries no types.
    import_module("greenlet")
except ModuleNotFoundError as error:
    raise missing_extra(error, __name__, "postgres", ("greenlet", "sqlalchemy")) from error

if TYPE_CHECKING:
    from ctxassembly.stores.postgres.index import PostgresIndex
    from ctxassembly.stores.postgres.taxonomy import aread_taxonomy, read_taxonomy

__all__ = ["PostgresIndex", "aread_taxonomy", "read_taxonomy"]

_MODULES = {"PostgresIndex": "index", "aread_taxonomy": "taxonomy", "read_taxonomy": "taxonomy"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
