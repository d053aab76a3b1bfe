"""Two collections that both have a `handbook.pdf#0`: no text of one is lost for the other, or read on into it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_classic.retrievers import EnsembleRetriever, MergerRetriever
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.vectorstores import InMemoryVectorStore

from agent_samples import Scripted, agent, asked, calls, index, search, tool_messages
from ctxassembly import (
    AssemblyConfig,
    Chunk,
    Context,
    NothingToJoinWarning,
    RetrievalConfig,
    resolve,
)
from ctxassembly.stores.postgres import PostgresIndex
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    ContextMiddleware,
    ContextRetriever,
    PGVectorNeighbors,
    VectorStoreNeighbors,
    number_chunks,
)
from langchain_samples import WordEmbeddings
from postgres_stores import PostgresStores
from vector_stores import chroma

OPEN = AssemblyConfig(neighbors="unfiltered", candidate_window=1)

WORDS = ["harbour", "falcon", "ember", "lantern", "meadow"]
NOT_HELD = "The store doesn't contain"


def handbook(whose: str, count: int = 5) -> list[Document]:
    """The chunks of a file as most have it: numbered, with `source` and `page`."""
    texts = [
        f"At {whose} the {WORDS[at]} rule number {at} of {whose} is kept by the {whose} clerk." for at in range(count)
    ]
    return number_chunks(
        [Document(text, metadata={"source": "handbook.pdf", "page": at}) for at, text in enumerate(texts)]
    )


NORTH, SOUTH = handbook("north"), handbook("south")
TEXTS = [NORTH[0].page_content, SOUTH[0].page_content]
UNFILTERED = pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")


def one(*documents: Document) -> Any:
    return index(*documents).as_retriever(search_kwargs={"k": 1})


def labels_of(context: Context, *texts: str) -> list[list[str]]:
    """For each text the labels of the blocks that have it."""
    return [
        [block.citation.label for block in context.blocks if block.citation and text in block.text] for text in texts
    ]


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")
def test_two_tools_over_two_collections_give_both_texts_and_point_to_their_own_labels() -> None:
    model = Scripted(
        AIMessage(
            "", tool_calls=[*calls("harbour", name="north").tool_calls, *calls("harbour", name="south").tool_calls]
        ),
        AIMessage("Both [1] [2]."),
    )
    tools = search(one(NORTH[0]), "north"), search(one(SOUTH[0]), "south")
    middleware = ContextMiddleware(tools=["north", "south"])
    messages = agent(model, *tools, middleware=middleware).invoke(asked("What is the rule?"))["messages"]
    first, second = tool_messages(messages)
    assert all(text in first.text for text in TEXTS)
    assert "given above ([2])" in second.text
    context = Context.from_dict(first.artifact)
    assert labels_of(context, *TEXTS) == [["1"], ["2"]]
    assert [each.chunk_ids for each in resolve(messages[-1].text, messages).citations] == [("handbook.pdf#0",)] * 2


def test_two_channels_over_two_collections_bring_both_texts() -> None:
    channels: Any = {"vector": one(NORTH[0]), "keyword": one(SOUTH[0])}
    retriever = ContextRetriever(channels=channels, config=RetrievalConfig(strategy="hybrid"))
    context = retriever.context("harbour rule")
    assert sorted(labels_of(context, *TEXTS)) == [["1"], ["2"]]


@pytest.mark.parametrize("kind", ["ensemble", "merger"])
def test_an_ensemble_over_two_collections_makes_two_documents_and_joins_neither_to_the_other(kind: str) -> None:
    parts = index(NORTH[0], NORTH[1]).as_retriever(), index(SOUTH[0], SOUTH[1]).as_retriever()
    both: Any = EnsembleRetriever(retrievers=[*parts]) if kind == "ensemble" else MergerRetriever(retrievers=[*parts])
    context = ContextAssembler().as_context().invoke(both.invoke("harbour rule"))
    own = labels_of(context, *(each.page_content for each in (*NORTH[:2], *SOUTH[:2])))
    assert all(len(labels) == 1 for labels in own)
    assert own[0] != own[2]
    for passage in context.passages:
        assert not ("north" in passage.text and "south" in passage.text)


# The store


def by_id(documents: Sequence[Document]) -> InMemoryVectorStore:
    return index(*documents)


def unnumbered(documents: Sequence[Document]) -> list[Document]:
    """The same chunks by their offsets in the page alone."""
    return [
        each.model_copy(
            update={"metadata": {"source": "handbook.pdf", "start_index": at * len(documents[0].page_content)}}
        )
        for at, each in enumerate(documents)
    ]


STORES = [
    pytest.param(by_id, list, id="by id"),
    pytest.param(chroma, list, id="by metadata"),
    pytest.param(chroma, unnumbered, id="by offset"),
]


@UNFILTERED
@pytest.mark.parametrize(("make", "written"), STORES)
def test_of_two_collections_only_the_hits_of_the_store_get_neighbors(make: Any, written: Any) -> None:
    assembler = ContextAssembler(store=VectorStoreNeighbors(make(written(NORTH))), neighbors="unfiltered")
    with pytest.warns(NothingToJoinWarning, match="doesn't contain 1 of 2 retrieved chunks"):
        context = assembler.as_context().invoke([written(SOUTH)[1], written(NORTH)[2]])
    assert [each.page_content in context.text for each in NORTH] == [False, True, True, True, False]
    assert [each.page_content in context.text for each in SOUTH] == [False, True, False, False, False]
    for passage in context.passages:
        assert not ("north" in passage.text and "south" in passage.text)
    assert len(context.citations) == 2


@UNFILTERED
@pytest.mark.parametrize(("make", "written"), STORES[:2])  # offsets count in the stored text
def test_a_hit_that_a_step_has_changed_keeps_its_neighbors(make: Any, written: Any) -> None:
    assembler = ContextAssembler(store=VectorStoreNeighbors(make(written(NORTH))), neighbors="unfiltered")
    hit = written(NORTH)[2]
    for text in (
        f"**{hit.page_content}**",
        hit.page_content[:40],
        f"From the handbook.\n\n{hit.page_content}",
        hit.page_content.replace("north", "<PLACE>"),
    ):
        context = assembler.as_context().invoke([hit.model_copy(update={"page_content": text})])
        assert NORTH[1].page_content in context.text
        assert NORTH[3].page_content in context.text


def chunks(documents: Sequence[Document]) -> list[Chunk]:
    return [Chunk(str(d.id), "handbook.pdf", d.page_content, at, metadata=d.metadata) for at, d in enumerate(documents)]


def index_of(url: str, whose: str) -> PostgresIndex:
    made = PostgresIndex.create(url, table=f"{whose}_index", dimensions=64)
    made.add(chunks(handbook(whose)), WordEmbeddings().embed_documents([one.page_content for one in handbook(whose)]))
    return made


@pytest.mark.parametrize("kind", ["json", "json, by offset", "old"])
def test_neighbors_of_one_table_or_collection_are_none_for_hits_of_another(database_url: str, kind: str) -> None:
    written: Any = unnumbered if "offset" in kind else list
    with PostgresStores(database_url) as stores:
        north, south = (
            stores.make(kind.partition(",")[0], written(documents), table=whose, ids=[str(uuid.uuid4()) for _ in WORDS])
            for whose, documents in (("north", NORTH), ("south", SOUTH))
        )
        (own,) = ContextAssemblyRetriever.from_vectorstore(south, hits=1, config=OPEN).invoke("ember")
        assert [each.page_content in own.page_content for each in SOUTH] == [False, True, True, True, False]
        others: list[Any] = [PGVectorNeighbors(north)]
        others += [PostgresIndex.attach(north)] if kind != "old" else []
        others += [index_of(database_url, "north")] if kind == "json" else []
        for store in others:
            crossed = ContextAssemblyRetriever.from_vectorstore(south, hits=1, store=store, config=OPEN)
            awaited = kind != "old"  # a PGVector made for sync calls
            with pytest.warns(NothingToJoinWarning, match=NOT_HELD) as seen:
                (first,) = crossed.invoke("ember")
            (second,) = asyncio.run(crossed.ainvoke("ember")) if awaited else crossed.invoke("ember")
            assert len(seen) == 1
            for found in (first, second):
                assert [each.page_content in found.page_content for each in SOUTH] == [at == 2 for at in range(5)]
                assert "north" not in found.page_content
