"""A filter means what the vector store that it belongs to takes it for, wherever the neighbors come from."""

from __future__ import annotations

import uuid
import warnings
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from qdrant_client import models

from ctxassembly import AssemblyConfig, ChunkRef
from ctxassembly.errors import ConfigError
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, VectorStoreNeighbors
from langchain_samples import WordEmbeddings, document, memory_store, vector_store

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # langchain-community's, of the package as a whole
    from langchain_chroma import Chroma
    from langchain_community.vectorstores import FAISS
    from langchain_qdrant import QdrantVectorStore

CORPUS = [document("A", at, tenant="theirs" if at % 2 else "ours", level=at) for at in range(9)]
QUERY = CORPUS[4].page_content
REFS = [ChunkRef("A", at) for at in range(2, 7)]


def uuid_of(document_id: str, index: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{document_id}#{index}"))


def matching(**wanted: Any) -> models.Filter:
    return models.Filter(
        must=[
            models.FieldCondition(key=f"metadata.{key}", match=models.MatchValue(value=value))
            for key, value in wanted.items()
        ]
    )


def above(level: int) -> models.Filter:
    return models.Filter(must=[models.FieldCondition(key="metadata.level", range=models.Range(gt=level))])


def qdrant(**options: Any) -> Any:
    ids = [uuid_of("A", at) for at in range(9)]
    return QdrantVectorStore.from_documents(
        CORPUS, WordEmbeddings(), ids=ids, location=":memory:", collection_name="chunks", **options
    )


def chroma() -> Any:
    store = Chroma(collection_name=f"test-{uuid.uuid4().hex}", embedding_function=WordEmbeddings())
    store.add_documents(CORPUS)
    return store


def faiss() -> Any:
    return FAISS.from_documents(CORPUS, WordEmbeddings())


def over(corpus: Any, condition: Any = None) -> VectorStoreNeighbors:
    if isinstance(corpus, QdrantVectorStore):
        return VectorStoreNeighbors(corpus, id_of=uuid_of, filter=condition)
    return VectorStoreNeighbors(corpus, filter=condition)


def indexes(found: Any) -> list[int]:
    return sorted(chunk.index for chunk in found)


# Its own form, and two at once

FORMS = [
    pytest.param(
        lambda: vector_store(CORPUS), lambda each: each.metadata["tenant"] == "ours",
        lambda each: each.metadata["level"] > 3, id="memory",
    ),
    pytest.param(chroma, {"tenant": "ours"}, {"level": {"$gt": 3}}, id="chroma"),
    pytest.param(faiss, {"tenant": "ours"}, {"level": {"$gt": 3}}, id="faiss"),
    pytest.param(faiss, lambda each: each["tenant"] == "ours", {"$not": {"level": [2, 3]}}, id="faiss-function"),
    pytest.param(faiss, {"tenant": ["ours"]}, lambda each: each["level"] > 3, id="faiss-list"),
    pytest.param(qdrant, matching(tenant="ours"), above(3), id="qdrant"),
    pytest.param(
        lambda: qdrant(content_payload_key="text", metadata_payload_key="metadata"),
        matching(tenant="ours"), above(3), id="qdrant-keys",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("make", "condition", "second"), FORMS)
async def test_neighbors_are_held_to_a_filter_in_the_vector_stores_own_form(
    make: Any, condition: Any, second: Any
) -> None:
    corpus = make()
    store = over(corpus, condition)
    assert store.holds_filter is True
    assert indexes(store.fetch(REFS)) == [2, 4, 6]
    assert indexes(await store.afetch(REFS)) == [2, 4, 6]
    assert over(corpus).holds_filter is None
    assert indexes(over(corpus).fetch(REFS)) == [2, 3, 4, 5, 6]
    # The store's own, the assembler's and the search's: all hold.
    options = {"k": 1, "filter": condition}
    config = AssemblyConfig(window=2)
    for assembler in (
        ContextAssembler(store=over(corpus), filter=second, config=config),
        ContextAssembler(store=over(corpus, second), config=config),
        ContextAssembler(store=over(corpus, second), filter=second, config=config),
    ):
        made = ContextAssemblyRetriever(retriever=corpus.as_retriever(search_kwargs=options), assembler=assembler)
        for (found,) in (made.invoke(QUERY), await made.ainvoke(QUERY)):
            assert found.metadata["chunk_ids"] == ["A#4", "A#6"]


@pytest.mark.parametrize(("make", "condition", "second"), FORMS)
async def test_so_are_neighbors_from_any_other_store(make: Any, condition: Any, second: Any) -> None:
    corpus = make()
    for store in (memory_store(CORPUS), VectorStoreNeighbors(InMemory(CORPUS)), over(faiss())):
        made = ContextAssemblyRetriever(
            retriever=corpus.as_retriever(search_kwargs={"k": 1, "filter": condition}),
            assembler=ContextAssembler(store=store, config=AssemblyConfig(window=2)),
        )
        for (found,) in (made.invoke(QUERY), await made.ainvoke(QUERY)):
            assert found.metadata["chunk_ids"] == ["A#2", "A#4", "A#6"]


class InMemory(InMemoryVectorStore):
    def __init__(self, corpus: list[Document]) -> None:
        super().__init__(WordEmbeddings())
        self.add_documents(corpus)


TAGS = "metadata.tags"


@pytest.mark.parametrize(
    ("condition", "passes"),
    [
        ({"must": [models.FieldCondition(key=TAGS, match=models.MatchAny(any=["b"]))]}, True),
        ({"must_not": [models.FieldCondition(key=TAGS, match=models.MatchValue(value="b"))]}, False),
        ({"must": [models.IsEmptyCondition(is_empty=models.PayloadField(key="metadata.none"))]}, True),
        ({"should": [above(9), models.FieldCondition(key=TAGS, match=models.MatchValue(value="a"))]}, True),
        ({"must": [models.FieldCondition(key="page_content", match=models.MatchText(text="text"))]}, True),
        ({"must": [models.HasIdCondition(has_id=["y"])]}, False),
    ],
)
@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")  # the hit fails it as well
def test_qdrants_own_conditions_are_decided_as_it_decides_them(condition: Any, passes: bool) -> None:
    """For neighbors that a store of one's own reads beside it."""

    hit, near = (
        Document(f"the text {at}", id=f"A#{at}", metadata={"document_id": "A", "chunk_index": at, "tags": ["a", "b"]})
        for at in (4, 5)
    )

    class Own:
        vectorstore = qdrant()
        fetch = memory_store([hit, near]).fetch

    (found,) = ContextAssembler(store=Own(), filter=models.Filter(**condition)).invoke([hit])
    assert found.metadata["chunk_ids"] == (["A#4", "A#5"] if passes else ["A#4"])


# Forms that can't be applied


@pytest.mark.parametrize("condition", ["tenant = 'ours'", 3, ["tenant"], {"tenant": {"$regex": "o%"}}, {3: 4}])
@pytest.mark.parametrize("make", [lambda: vector_store(CORPUS), faiss])
def test_a_form_that_cannot_be_applied_is_an_error_at_construction(make: Any, condition: Any) -> None:
    corpus = make()
    with pytest.raises(ConfigError, match=r"^filter"):
        over(corpus, condition)
    with pytest.raises(ValueError, match="filter"):
        ContextAssemblyRetriever.from_vectorstore(corpus, search_kwargs={"filter": condition})


class Answering(InMemoryVectorStore):
    """Takes any filter."""

    def similarity_search_with_score(self, query: str, k: int = 4, **kwargs: Any) -> Any:
        return [(CORPUS[4], 1.0)]


async def test_or_when_a_call_gives_it() -> None:
    corpus = Answering(WordEmbeddings())
    for store in (None, memory_store(CORPUS)):
        made = ContextAssemblyRetriever.from_vectorstore(corpus, store=store)
        made.retriever.search_kwargs["filter"] = {"tenant": {"$regex": "o%"}}  # type: ignore[attr-defined]
        with pytest.raises(ConfigError, match=r"filter\['tenant'\] must be a value or operators"):
            made.invoke(QUERY)
        with pytest.raises(ConfigError, match=r"filter\['tenant'\] must be a value or operators"):
            await made.ainvoke(QUERY)


def test_a_filter_of_the_stores_own_stands_for_one_that_cannot_be_applied() -> None:
    corpus = Answering(WordEmbeddings())
    options = {"filter": "tenant = 'ours'", "k": 1}
    for store in (
        VectorStoreNeighbors(vector_store(CORPUS), filter=lambda each: each.metadata["tenant"] == "ours"),
        over(chroma(), {"tenant": "ours"}),
    ):
        made = ContextAssemblyRetriever.from_vectorstore(
            corpus, store=store, search_kwargs=options, config=AssemblyConfig(window=2)
        )
        (found,) = made.invoke(QUERY)
        assert found.metadata["chunk_ids"] == ["A#2", "A#4", "A#6"]


# What else excludes


def test_an_id_may_be_one_of_several() -> None:
    corpus = [
        Document(id=f"{tenant}-{at}", page_content=f"{tenant} {at}", metadata={**CORPUS[at].metadata, "tenant": tenant})
        for tenant in ("ours", "theirs")
        for at in range(3)
    ]
    store = VectorStoreNeighbors(
        vector_store(corpus), id_of=lambda _, index: [f"ours-{index}", f"theirs-{index}"], filter={"tenant": "theirs"}
    )
    assert [chunk.id for chunk in store.fetch([ChunkRef("A", 1), ChunkRef("A", 7)])] == ["theirs-1"]
