"""Ordinary LangChain indexes: what they lack for neighbors is said, once an object, with the line that mends it."""

from __future__ import annotations

import asyncio
import uuid
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ctxassembly import AssemblyConfig, MetadataKeys, NothingToJoinWarning
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, VectorStoreNeighbors, number_chunks
from langchain_samples import WordEmbeddings, memory_store, vector_store

YEARS = [f"In year {year} the weavers of the valley paid {year + 7} bales of wool." for year in range(120)]
PAGES = [
    Document(" ".join(YEARS[40 * page : 40 * page + 40]), metadata={"source": "a.pdf", "page": page})
    for page in range(3)
]
SPLITTER = RecursiveCharacterTextSplitter(chunk_size=200, chunk_overlap=80)
QUERY = "How many bales of wool did the weavers pay in year 12?"
UNFILTERED = AssemblyConfig(neighbors="unfiltered", page_base=0, fill=True, order="documents")


def split(pages: Sequence[Document] = PAGES) -> list[Document]:
    return SPLITTER.split_documents(list(pages))


def stored(documents: Sequence[Document], ids: Any = None) -> InMemoryVectorStore:
    """As whoever stores them without ids of their own: under random ones."""
    store = InMemoryVectorStore(WordEmbeddings())
    store.add_documents(list(documents), ids=ids or [str(uuid.uuid4()) for _ in documents])
    return store


def over(store: Any, **settings: Any) -> ContextAssemblyRetriever:
    return ContextAssemblyRetriever.from_vectorstore(store, hits=20, **{"config": UNFILTERED, **settings})


def warned(run: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run()
    return [str(each.message) for each in seen if each.category is NothingToJoinWarning]


@pytest.fixture(params=["sync", "async"])
def invoke(request: pytest.FixtureRequest) -> Any:
    if request.param == "sync":
        return lambda made, given=QUERY: made.invoke(given)
    return lambda made, given=QUERY: asyncio.run(made.ainvoke(given))


class WithoutIds(InMemoryVectorStore):
    """As most vector stores are: it has no `get_by_ids` of its own."""

    get_by_ids = None  # type: ignore[assignment]
    aget_by_ids = None  # type: ignore[assignment]


def without_ids() -> WithoutIds:
    store = WithoutIds(WordEmbeddings())
    store.add_documents(number_chunks(split()))
    return store


NUMBER = "vectorstore.add_documents(number_chunks(documents))"
LACKING: dict[str, tuple[Any, str, str]] = {
    "an index": (lambda: stored(split()), "20 of 20 retrieved chunks have no chunk_", NUMBER),
    "a document": (
        lambda: stored([Document(each.page_content, metadata={"chunk_index": at}) for at, each in enumerate(split())]),
        "have neither document_id nor source (first: ",
        "",
    ),
    "ids that say the place": (
        lambda: stored(number_chunks(split())),
        "The store has no chunk next to the retrieved ones, but chunk ",
        NUMBER,
    ),
    "get_by_ids": (
        without_ids,
        "WithoutIds has no get_by_ids",
        "ContextAssemblyRetriever.from_vectorstore(vectorstore, store=MemoryStore(chunks))",
    ),
}


@pytest.mark.parametrize("lacks", LACKING)
def test_an_ordinary_index_says_what_it_lacks_once_and_the_trace_says_it_each_time(invoke: Any, lacks: str) -> None:
    make, fact, remedy = LACKING[lacks]
    made = over(make())
    (message,) = warned(lambda: invoke(made))
    assert fact in message
    assert message.endswith(remedy)
    found = invoke(made)  # the warning was given
    assert found[0].metadata["trace"]["missing"] == message


def test_without_a_store_hits_of_one_source_that_cannot_be_joined_are_told(invoke: Any) -> None:
    made = ContextAssembler()
    (message,) = warned(lambda: invoke(made, split()[:5]))
    assert "number_chunks(documents)" in message
    assert warned(lambda: invoke(ContextAssembler(), split()[:1])) == []
    assert warned(lambda: invoke(ContextAssembler(), number_chunks(split())[:5])) == []
    assert warned(lambda: invoke(ContextAssembler(), [Document("One."), Document("Two.")])) == []


@pytest.mark.parametrize("count", [1, 5])
def test_documents_of_one_chunk_lack_nothing(invoke: Any, count: int) -> None:
    chunks = number_chunks([Document(f"Fact {at}.", metadata={"source": f"{at}.txt"}) for at in range(count)])
    made = over(stored(chunks, [str(each.id) for each in chunks]))
    assert warned(lambda: invoke(made)) == []
    assert invoke(made)[0].metadata["trace"]["missing"] is None
    assert invoke(made)[0].metadata["trace"]["notes"] == []


def test_keys_of_the_config_hold_for_a_store_that_was_given_none(invoke: Any) -> None:
    chunks = [
        Document(each.page_content, id=f"a.pdf#{at}", metadata={"file": "a.pdf", "seq": at})
        for at, each in enumerate(split())
    ]
    keys = MetadataKeys(document_id="file", index="seq")
    config = AssemblyConfig(neighbors="unfiltered", keys=keys)
    for store in (VectorStoreNeighbors(vector_store(chunks)), VectorStoreNeighbors(vector_store(chunks), keys=keys)):
        (found,) = invoke(ContextAssembler(config=config, store=store), chunks[4:5])
        assert found.metadata["chunk_ids"] == ["a.pdf#3", "a.pdf#4", "a.pdf#5"]
    # One of one's own reads what it reads.
    (message,) = warned(lambda: invoke(ContextAssembler(config=config, store=memory_store(chunks)), chunks[4:5]))
    assert "AssemblyConfig(keys=MetadataKeys(" in message
