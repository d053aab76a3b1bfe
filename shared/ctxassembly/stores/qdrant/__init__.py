"""Qdrant: an index over a collection of chunks, searched by words and vectors, and asked for neighbors."""

from ctxassembly.errors import missing_extra

try:
    from ctxassembly.stores.qdrant.index import QdrantIndex
except ModuleNotFoundError as error:
    raise missing_extra(__name__, "qdrant") from error

__all__ = ["QdrantIndex"]
