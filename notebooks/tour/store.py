"""The demo's documents in PostgreSQL while the kernel lives: a notebook has no `with` around all its cells."""

from __future__ import annotations

import atexit
from contextlib import ExitStack

from langchain_postgres import PGVectorStore
from rich.console import Console
from sqlalchemy import URL

from demo.corpus import load_chunks
from demo.store import database, vector_store

SILENT = Console(quiet=True)
"""What a notebook stores is the same wherever it runs: it doesn't say which server was started where."""
_OPEN = ExitStack()
atexit.register(_OPEN.close)


def database_url() -> URL:
    """The database of DATABASE_URL, or an embedded one that is up in a second and stops with the kernel."""
    return _OPEN.enter_context(database(SILENT))


def reference_store() -> PGVectorStore:
    """The Python language reference as `make demo` stores it. The first time it is embedded, which takes 10 seconds."""
    return _OPEN.enter_context(vector_store(database_url(), load_chunks(), SILENT))
