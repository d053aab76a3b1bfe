"""Neighbors in Chroma and Qdrant by document and place in their metadata, whatever the ids are."""

from __future__ import annotations

import time
import uuid
import warnings
from typing import Any

import pytest
from langchain_core.documents import Document
from qdrant_client import QdrantClient, models

from ctxassembly import AssemblyConfig, ChunkRef, MetadataKeys
from ctxassembly.data.chunks import OffsetRange
from ctxassembly.errors import ConfigError
from ctxassembly.testing import store_cases
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, VectorStoreNeighbors
from langchain_samples import WordEmbeddings, document, sentence

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from langchain_chroma import Chroma
    from langchain_qdrant import QdrantVectorStore

DOCUMENTS = ["A", "B", "7"]
CORPUS = [document(name, at, tenant="theirs" if at % 2 else "ours", level=at) for name in DOCUMENTS for at in range(9)]
QUERY = CORPUS[4].page_content


def with_uuids(corpus: list[Document]) -> list[Document]:
    return [each.model_copy(update={"id": str(uuid.uuid4())}) for each in corpus]


def chroma(corpus: list[Document]) -> Any:
    store = Chroma(collection_name=f"test-{uuid.uuid4().hex}", embedding_function=WordEmbeddings())
    store.add_documents(with_uuids(corpus))
    return store


def qdrant(corpus: list[Document]) -> Any:
    return QdrantVectorStore.from_documents(
        with_uuids(corpus), WordEmbeddings(), location=":memory:", collection_name="chunks"
    )


def chroma_filter(tenant: str) -> Any:
    return {"tenant": tenant}


def qdrant_filter(tenant: str) -> Any:
    match = models.MatchValue(value=tenant)
    return models.Filter(must=[models.FieldCondition(key="metadata.tenant", match=match)])


STORES = [pytest.param(chroma, chroma_filter, id="chroma"), pytest.param(qdrant, qdrant_filter, id="qdrant")]


def places(found: Any) -> list[tuple[str, int]]:
    return sorted((str(chunk.document_id), chunk.index) for chunk in found)


async def both_ways(store: VectorStoreNeighbors, refs: list[ChunkRef]) -> list[tuple[str, int]]:
    found = places(store.fetch(refs))
    assert places(await store.afetch(refs)) == found
    return found


@pytest.mark.parametrize(("make", "condition"), STORES)
async def test_one_line_finds_the_neighbors(make: Any, condition: Any) -> None:
    corpus = make(CORPUS)
    open_to_all = AssemblyConfig(window=2, neighbors="unfiltered")
    made = ContextAssemblyRetriever.from_vectorstore(corpus, hits=1, config=open_to_all)
    for (found,) in (made.invoke(QUERY), await made.ainvoke(QUERY)):
        for at in range(2, 8):
            assert sentence("A", at) in found.page_content
    ours = {"k": 1, "filter": condition("ours")}
    made = ContextAssemblyRetriever.from_vectorstore(corpus, search_kwargs=ours, config=AssemblyConfig(window=2))
    for (found,) in (made.invoke(QUERY), await made.ainvoke(QUERY)):
        assert len(found.metadata["chunk_ids"]) == 3
        assert [at for at in range(9) if CORPUS[at].page_content in found.page_content] == [2, 4, 6]


@pytest.mark.parametrize("make", [chroma, qdrant])
async def test_they_answer_as_every_store_has_to(make: Any) -> None:
    # Chroma keeps no order of keys, and Qdrant adds two of its own: what comes back is the measure.
    store = VectorStoreNeighbors(make(CORPUS))
    chunks = store.fetch([ChunkRef(name) for name in DOCUMENTS])
    assert len(chunks) == len(CORPUS)
    for case in store_cases(chunks):
        case.check(store.fetch(case.refs))
        case.check(await store.afetch(case.refs))


@pytest.mark.parametrize(("make", "condition"), STORES)
async def test_places_of_several_documents_are_found(make: Any, condition: Any) -> None:
    corpus = make(
        [*CORPUS, *(Document(page_content=f"n {at}", metadata={"ref_doc_id": 8, "index": at}) for at in (1, 2))]
    )
    store = VectorStoreNeighbors(corpus)
    refs = [ChunkRef("A", 1), ChunkRef("A", 2), ChunkRef("B", 8), ChunkRef("B", 99), ChunkRef("8", 2)]
    assert await both_ways(store, refs) == [("8", 2), ("A", 1), ("A", 2), ("B", 8)]
    assert await both_ways(store, [ChunkRef("7")]) == [("7", at) for at in range(9)]
    assert await both_ways(store, [ChunkRef("nobody's", 1)]) == []
    assert await both_ways(store, []) == []
    held = VectorStoreNeighbors(corpus, filter=condition("theirs"))
    assert await both_ways(held, [*refs, ChunkRef("7")]) == [("7", 1), ("7", 3), ("7", 5), ("7", 7), ("A", 1)]
    by_function = VectorStoreNeighbors(corpus, filter=lambda each: each.metadata["tenant"] == "ours")
    assert await both_ways(by_function, refs[:4]) == [("A", 2), ("B", 8)]


@pytest.mark.parametrize(("make", "condition"), STORES)
def test_other_keys_are_read_as_the_config_has_them(make: Any, condition: Any) -> None:
    corpus = make([Document(page_content=f"n {at}", metadata={"doc key": "x", "at": at}) for at in range(4)])
    store = VectorStoreNeighbors(corpus, keys=MetadataKeys(document_id="doc key", index="at"))
    assert places(store.fetch([ChunkRef("x", 1), ChunkRef("x", 2)])) == [("x", 1), ("x", 2)]


def test_qdrant_finds_nested_keys_and_pages_through_all_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langchain_ctxassembly.stores.filters.PAGE_SIZE", 4)
    nested = [Document(page_content=f"n {at}", metadata={"of": {"doc": "x"}, "at": at}) for at in range(11)]
    store = VectorStoreNeighbors(qdrant(nested), keys=MetadataKeys(document_id="of.doc", index="at"))
    assert places(store.fetch([ChunkRef("x")])) == [("x", at) for at in range(11)]
    monkeypatch.setattr("langchain_ctxassembly.stores.filters.PAGE_SIZE", 1)
    assert places(store.fetch([ChunkRef("x", 1), ChunkRef("x", 2)])) == [("x", 1), ("x", 2)]


def test_one_query_is_made_for_all_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    refs = [ChunkRef(name, at) for name in DOCUMENTS for at in (1, 2)]
    asked: list[Any] = []
    get, scroll = Chroma.get, QdrantClient.scroll
    monkeypatch.setattr(Chroma, "get", lambda self, **more: asked.append(more) or get(self, **more))
    monkeypatch.setattr(QdrantClient, "scroll", lambda self, *a, **more: asked.append(more) or scroll(self, *a, **more))
    for make in (chroma, qdrant):
        store = VectorStoreNeighbors(make(CORPUS))
        asked.clear()
        assert len(store.fetch(refs)) == 6
        assert len(asked) == 1
    many = [ChunkRef(f"d{at}", 1) for at in range(33)]  # of Chroma, 32 in each query
    asked.clear()
    corpus = chroma(
        [Document(page_content="x", metadata={"document_id": ref.document_id, "chunk_index": 1}) for ref in many]
    )
    assert len(VectorStoreNeighbors(corpus).fetch(many)) == len(many)
    assert len(asked) == 2


def predicates(where: Any) -> int:
    """The comparisons in a filter of Chroma."""
    if isinstance(where, list):
        return sum(map(predicates, where))
    return sum(predicates(part) if key in ("$and", "$or") else 1 for key, part in where.items())


def test_chroma_cloud_gets_no_more_comparisons_than_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = chroma([*CORPUS, *(Document("x", metadata={"source": "s", "start_index": at}) for at in (0, 9, 20))])
    settings = corpus._client.get_settings().model_copy(update={"chroma_server_host": "api.trychroma.com"})
    monkeypatch.setattr(corpus._client, "get_settings", lambda: settings)
    asked: list[Any] = []
    get = Chroma.get
    monkeypatch.setattr(Chroma, "get", lambda self, **more: asked.append(more) or get(self, **more))
    around = ChunkRef("s", around_offset=OffsetRange(9, 1))
    for own in (None, {"$and": [{"tenant": "ours"}, {"$or": [{"level": {"$lt": 4}}, {"level": {"$gt": 6}}]}]}):
        store = VectorStoreNeighbors(corpus, filter=own)
        assert places(store.fetch([ChunkRef("A", 2), ChunkRef("7", 3), ChunkRef("7", 8)])) == (
            [("7", 3), ("7", 8), ("A", 2)] if own is None else [("7", 8), ("A", 2)]
        )
    assert len(VectorStoreNeighbors(corpus).fetch([around])) == 3
    assert max(predicates(each["where"]) for each in asked if each.get("where")) <= 8  # its limit


@pytest.mark.filterwarnings("ignore:The store failed")
@pytest.mark.parametrize("make", [chroma, qdrant])
async def test_what_takes_too_long_is_a_timeout_error(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = make(CORPUS)
    store = VectorStoreNeighbors(corpus, timeout_seconds=0.05)
    for kind, name in ((Chroma, "get"), (QdrantClient, "scroll")):
        monkeypatch.setattr(kind, name, lambda *_, **__: time.sleep(1))
    with pytest.raises(TimeoutError, match=r"no answer within 0\.05 s"):
        store.fetch([ChunkRef("A", 1)])
    with pytest.raises(TimeoutError, match=r"no answer within 0\.05 s"):
        await store.afetch([ChunkRef("A", 1)])
    hit = CORPUS[4]
    (found,) = ContextAssembler(store=store, neighbors="unfiltered").invoke([hit])
    assert hit.page_content in found.page_content
    assert "no answer within 0.05 s" in found.metadata["trace"]["notes"][0]
    for wrong in (0, -1, float("inf")):
        with pytest.raises(ConfigError, match="timeout_seconds"):
            VectorStoreNeighbors(corpus, timeout_seconds=wrong)
