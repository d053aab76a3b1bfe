"""Chroma, Qdrant and FAISS in memory, and Qdrant's form of a filter."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Sequence
from typing import Any

import chromadb
from langchain_core.documents import Document
from qdrant_client import models

from langchain_samples import WordEmbeddings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # langchain-community's, of the package as a whole
    from langchain_chroma import Chroma
    from langchain_community.vectorstores import FAISS
    from langchain_qdrant import QdrantVectorStore

Ids = Sequence[str] | None


def random_ids(documents: Sequence[Document]) -> list[str]:
    return [str(uuid.uuid4()) for _ in documents]


def chroma(documents: Sequence[Document], ids: Ids = None, kind: Any = Chroma) -> Any:
    """Under `ids`, else random ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the class of langchain-community
        store = kind(f"c{uuid.uuid4().hex}", WordEmbeddings(), client=chromadb.EphemeralClient())
    store.add_documents([*documents], ids=ids or random_ids(documents))
    return store


def qdrant(documents: Sequence[Document], ids: Ids = None, kind: Any = QdrantVectorStore, **options: Any) -> Any:
    """Under `ids`, else random ones; only UUIDs may be ids."""
    return kind.from_documents(
        [*documents], WordEmbeddings(), ids=ids or random_ids(documents), location=":memory:",
        collection_name="chunks", **options,
    )  # fmt: skip


def faiss(documents: Sequence[Document], ids: Ids = None) -> Any:
    """Under `ids`, else under those of the documents."""
    return FAISS.from_documents([*documents], WordEmbeddings(), ids=ids or [one.id or "" for one in documents])


def matching(**wanted: Any) -> models.Filter:
    """Qdrant's filter for values of the metadata."""
    conditions: list[Any] = [
        models.FieldCondition(key=f"metadata.{key}", match=models.MatchValue(value=value))
        for key, value in wanted.items()
    ]
    return models.Filter(must=conditions)
