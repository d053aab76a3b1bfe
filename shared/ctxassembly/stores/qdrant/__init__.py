"""Qdrant: an index over a collection of chunks, searched by words and vectors, and asked for neighbors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxassembly.errors import missing_extra
from ctxassembly.lazy import lazy_names

try:
    import qdrant_client as _qdrant_client  # noqa: F401
except ModuleNotFoundError as error:
    raise missing_extra(error, __name__, "qdrant", ("qdrant_client",)) from error

if TYPE_CHECKING:
    from ctxassembly.stores.qdrant.index import QdrantIndex

    __all__ = ["QdrantIndex"]
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__, {f"{__name__}.index": "QdrantIndex"})
