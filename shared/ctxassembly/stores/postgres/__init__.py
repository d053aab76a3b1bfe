"""PostgreSQL: neighbors of chunks from any table of them, an index to search one by words and vectors, a taxonomy."""

from __future__ import annotations

from importlib import import_module

from ctxassembly.errors import missing_extra
from ctxassembly.lazy import lazy_names

try:
    import sqlalchemy as _sqlalchemy  # noqa: F401

    # Other packages bring SQLAlchemy alone; its asyncio part, which the extra brings, needs this. It carries no types.
    import_module("greenlet")
except ModuleNotFoundError as error:
    raise missing_extra(__name__, "postgres") from error

__all__, __getattr__, __dir__ = lazy_names(__name__)
