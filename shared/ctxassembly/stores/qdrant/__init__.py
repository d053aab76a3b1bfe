"""Qdrant: an index over a collection of chunks, searched by words and vectors, and asked for neighbors."""

from ctxassembly.errors import missing_extra

try:
    from ctxassembly.stores.qdrant.index import QdrantIndex
except ModuleNotFoundError as error:
    raise missing_extra(error, __name__, "qdrant", ("qdrant_client",)) from error

__all__ = ["QdrantIndex"]
