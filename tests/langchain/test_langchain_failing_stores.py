"""Vector stores without a working `get_by_ids`: another query of theirs is used where one is known; else a warning."""

from __future__ import annotations

import asyncio
import uuid
import warnings
from collections.abc import Sequence
from typing import Any

import chromadb
import pytest
from langchain_community.vectorstores import FAISS
from langchain_community.vectorstores import Chroma as CommunityChroma
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from qdrant_client import models

from ctxassembly import NothingToJoinWarning
from langchain_ctxassembly import ContextAssemblyRetriever, number_chunks
from langchain_samples import WordEmbeddings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from langchain_chroma import Chroma
    from langchain_qdrant import QdrantVectorStore

EMBEDDINGS = WordEmbeddings()
QUERY = "Wool of year 3."


class NoIds:
    """Answers ids as the base class of all vector stores does, or with another error."""

    error: Exception | None = None

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        raise self.error or NotImplementedError(f"{type(self).__name__} does not yet support get_by_ids.")


class OwnChroma(NoIds, Chroma):
    pass


class OwnQdrant(NoIds, QdrantVectorStore):
    pass


class OwnFaiss(NoIds, FAISS):
    pass


class OwnMemory(NoIds, InMemoryVectorStore):
    pass


def filled(kind: Any, chunks: list[Document]) -> Any:
    ids = [str(uuid.uuid4()) for _ in chunks]
    if kind is OwnQdrant:
        return kind.from_documents(chunks, EMBEDDINGS, ids=ids, location=":memory:", collection_name="chunks")
    if kind is OwnFaiss:
        return kind.from_documents(chunks, EMBEDDINGS, ids=ids)
    if kind is OwnMemory:
        store = kind(EMBEDDINGS)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the class of langchain-community is deprecated
            store = kind(uuid.uuid4().hex, EMBEDDINGS, client=chromadb.EphemeralClient())
    store.add_documents(chunks, ids=ids)
    return store


def chunks(place: str, user: str = "ann") -> list[Document]:
    """Chunks of one page, whose places are told by an index or by offsets."""
    texts = [f"Wool of year {year}." for year in range(8)]
    found = [
        Document(text, metadata={"source": "a.pdf", "page": 1, "user": user, "start_index": 17 * at})
        for at, text in enumerate(texts)
    ]
    if place == "offset":
        return found
    for each in found:
        del each.metadata["start_index"]
    return number_chunks(found)


def answered(made: Any, *, is_async: bool) -> tuple[list[Document], list[str]]:
    """The documents of two calls, and the messages of the warnings."""
    found = []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            found += asyncio.run(made.ainvoke(QUERY)) if is_async else made.invoke(QUERY)
    return found, [str(each.message) for each in seen if issubclass(each.category, NothingToJoinWarning)]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("place", ["index", "offset"])
@pytest.mark.parametrize("kind", [OwnChroma, CommunityChroma, OwnQdrant])
def test_under_a_filter_too(kind: Any, place: str, is_async: bool) -> None:
    """Another user's chunks stand at the same places of a file with the same name."""
    others = chunks(place, "bob")
    for each in others:
        each.page_content = each.page_content.replace("Wool", "Silk")
    condition: Any = {"user": "ann"}
    if kind is OwnQdrant:
        match = models.MatchValue(value="ann")
        condition = models.Filter(must=[models.FieldCondition(key="metadata.user", match=match)])
    store = filled(kind, [*chunks(place), *others])
    made = ContextAssemblyRetriever.from_vectorstore(store, hits=1, search_kwargs={"filter": condition})
    found, messages = answered(made, is_async=is_async)
    assert messages == []
    assert [len(each.metadata["chunk_ids"]) for each in found] == [3, 3]
    assert not any("Silk" in each.page_content for each in found)
