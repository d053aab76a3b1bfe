"""Milvus: an index over a collection of chunks, searched by words and vectors, and asked for neighbors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxassembly.errors import missing_extra
from ctxassembly.lazy import lazy_names

try:
    import pymilvus as _pymilvus  # noqa: F401
except ModuleNotFoundError as error:
    raise missing_extra(error, __name__, "milvus", ("pymilvus",)) from error

if TYPE_CHECKING:
    from ctxassembly.stores.milvus.index import MilvusIndex

    __all__ = ["MilvusIndex"]
else:
    __all__, __getattr__, __dir__ = lazy_names(__name__, {f"{__name__}.index": "MilvusIndex"})
