"""Milvus: an index over a collection of chunks, searched by words and vectors, and asked for neighbors."""

from ctxassembly.errors import missing_extra

try:
    from ctxassembly.stores.milvus.index import MilvusIndex
except ModuleNotFoundError as error:
    raise missing_extra(error, __name__, "milvus", ("pymilvus",)) from error

__all__ = ["MilvusIndex"]
