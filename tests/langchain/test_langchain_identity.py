"""Two collections that both have a `handbook.pdf#0`: no text of one is lost for the other, or read on into it."""

from __future__ import annotations

import asyncio
import operator
import uuid
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import pytest
from langchain_chroma import Chroma
from langchain_classic.retrievers import EnsembleRetriever, MergerRetriever
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_postgres import PGEngine, PGVector, PGVectorStore
from langgraph.graph import START, StateGraph
from sqlalchemy import create_engine
from typing_extensions import TypedDict

from agent_samples import Scripted, agent, asked, calls, index, search, tool_messages
from chain_samples import Scripted as Asked
from chain_samples import following
from ctxassembly import (
    AssemblyConfig,
    Chunk,
    Context,
    MemoryIndex,
    NothingToJoinWarning,
    RetrievalConfig,
    resolve,
)
from ctxassembly.answering import AnswerConfig
from ctxassembly.stores.postgres import PostgresIndex
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    ContextChannel,
    ContextMiddleware,
    ContextRetriever,
    PGVectorNeighbors,
    VectorStoreNeighbors,
    answer_chain,
    context_node,
    number_chunks,
)
from langchain_samples import WordEmbeddings

OPEN = AssemblyConfig(neighbors="unfiltered")

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


class Branches(TypedDict):
    query: str
    documents: Annotated[list[list[Document]], operator.add]
    context: Annotated[Context, ContextChannel]


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")
def test_branches_of_a_graph_over_two_collections_keep_their_texts_apart() -> None:
    graph = StateGraph(Branches)
    for name, found in (("north", [NORTH[0], NORTH[1]]), ("south", [SOUTH[0], SOUTH[2]])):
        graph.add_node(name, lambda state, found=found: {"documents": [found]})
        graph.add_edge(START, name)
    graph.add_node("assemble", context_node(ContextAssembler()))
    graph.add_edge(["north", "south"], "assemble")
    context = graph.compile().invoke({"query": "What is the rule?", "documents": []})["context"]
    own = labels_of(context, *(each.page_content for each in (NORTH[0], NORTH[1], SOUTH[0], SOUTH[2])))
    assert own in ([["1"], ["1"], ["2"], ["2"]], [["2"], ["2"], ["1"], ["1"]])


def test_two_channels_over_two_collections_bring_both_texts() -> None:
    channels: Any = {"vector": one(NORTH[0]), "keyword": one(SOUTH[0])}
    retriever = ContextRetriever(channels=channels, config=RetrievalConfig(strategy="hybrid"))
    context = retriever.context("harbour rule")
    assert sorted(labels_of(context, *TEXTS)) == [["1"], ["2"]]


@UNFILTERED
@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
def test_sub_questions_over_two_collections_bring_both_texts(how: str) -> None:
    """The retriever of the chain is a router: the words of a question decide which collection it asks."""
    collections = {"north": one(*NORTH), "south": one(*SOUTH)}
    router = RunnableLambda(
        lambda query: [found for name, own in collections.items() if name in query for found in own.invoke(query)]
    )
    parts = ["harbour in the north?", "harbour in the south?"]
    llm = Asked(says=following({"sub_questions": parts}, "Both [1] [2]."))
    chain = answer_chain(llm, router, AnswerConfig(decompose="auto"))
    question = {"input": "What is the harbour rule here and there?"}
    output = asyncio.run(chain.ainvoke(question)) if how == "ainvoke" else chain.invoke(question)
    context = output["result"].context
    assert sorted(labels_of(context, *TEXTS)) == [["1"], ["2"]]
    assert [each["chunk_ids"] for each in output["citations"]] == [["handbook.pdf#0"]] * 2
    assert {each["document_id"] for each in output["citations"]} == {"handbook.pdf", "handbook.pdf (2)"}
    for passage in context.passages:
        assert not ("north" in passage.text and "south" in passage.text)


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


def chroma(documents: Sequence[Document]) -> Any:
    store = Chroma(collection_name=f"t{uuid.uuid4().hex}", embedding_function=WordEmbeddings())
    store.add_documents(list(documents))
    return store


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


@UNFILTERED
def test_a_middleware_with_the_store_of_one_tool_joins_nothing_to_the_finds_of_the_other() -> None:
    model = Scripted(
        AIMessage("", tool_calls=[*calls("ember", name="north").tool_calls, *calls("ember", name="south").tool_calls]),
        AIMessage("Both [1]."),
    )
    store = VectorStoreNeighbors(index(*NORTH))
    middleware = ContextMiddleware(ContextAssembler(store=store, neighbors="unfiltered"), tools=["north", "south"])
    tools = search(one(NORTH[2]), "north"), search(one(SOUTH[2]), "south")
    with pytest.warns(NothingToJoinWarning, match=NOT_HELD):
        messages = agent(model, *tools, middleware=middleware).invoke(asked("ember?"))["messages"]
    context = Context.from_dict(tool_messages(messages)[0].artifact)
    assert [each.page_content in context.text for each in NORTH] == [False, True, True, True, False]
    assert [each.page_content in context.text for each in SOUTH] == [False, False, True, False, False]


def chunks(documents: Sequence[Document]) -> list[Chunk]:
    return [Chunk(str(d.id), "handbook.pdf", d.page_content, at, metadata=d.metadata) for at, d in enumerate(documents)]


def test_an_index_that_searches_one_collection_and_reads_another_joins_nothing() -> None:
    retriever = ContextRetriever(
        MemoryIndex(chunks(SOUTH)),
        config=RetrievalConfig(strategy="keyword", limit=1),
        assembler=ContextAssembler(store=MemoryIndex(chunks(NORTH)), neighbors="unfiltered"),
    )
    with pytest.warns(NothingToJoinWarning, match=NOT_HELD):
        context = retriever.context("ember rule of south")
    assert "north" not in context.text


@pytest.fixture
def engine(database_url: str) -> Iterator[PGEngine]:
    engine = PGEngine.from_connection_string(database_url)
    yield engine
    asyncio.run(engine.close())


def in_table(engine: PGEngine, table: str, documents: Sequence[Document]) -> PGVectorStore:
    engine.init_vectorstore_table(table, 64)
    store = PGVectorStore.create_sync(engine, WordEmbeddings(), table)
    store.add_documents(list(documents), ids=[str(uuid.uuid4()) for _ in documents])
    return store


@pytest.mark.parametrize("written", [list, unnumbered], ids=["by index", "by offset"])
def test_neighbors_of_one_table_are_none_for_hits_of_another(engine: PGEngine, written: Any) -> None:
    stores = {whose: in_table(engine, whose, written(handbook(whose))) for whose in ("north", "south")}
    own = ContextAssemblyRetriever.from_vectorstore(stores["south"], hits=1, config=OPEN).invoke("ember")
    assert [each.page_content in own[0].page_content for each in SOUTH] == [False, True, True, True, False]
    for store in (PGVectorNeighbors(stores["north"]), PostgresIndex.attach(stores["north"])):
        crossed = ContextAssemblyRetriever.from_vectorstore(stores["south"], hits=1, store=store, config=OPEN)
        with pytest.warns(NothingToJoinWarning, match=NOT_HELD) as seen:
            read = [*crossed.invoke("ember"), *crossed.invoke("ember"), *asyncio.run(crossed.ainvoke("ember"))]
        assert len(seen) == 1
        for found in read:
            assert [each.page_content in found.page_content for each in SOUTH] == [at == 2 for at in range(5)]
            assert "north" not in found.page_content


def test_neighbors_of_one_collection_are_none_for_hits_of_another_in_the_same_table(database_url: str) -> None:
    connection = create_engine(database_url)
    stores = {}
    for whose in ("north", "south"):
        stores[whose] = PGVector(WordEmbeddings(), connection=connection, collection_name=whose)
        stores[whose].add_documents(handbook(whose), ids=[str(uuid.uuid4()) for _ in WORDS])
    crossed = ContextAssemblyRetriever(
        retriever=stores["south"].as_retriever(search_kwargs={"k": 1}),
        assembler=ContextAssembler(store=PGVectorNeighbors(stores["north"]), neighbors="unfiltered"),
    )
    with pytest.warns(NothingToJoinWarning, match=NOT_HELD) as seen:
        read = [crossed.invoke("ember")[0].page_content for _ in "ab"]
    connection.dispose()
    assert len(seen) == 1
    for text in read:
        assert [each.page_content in text for each in SOUTH] == [at == 2 for at in range(5)]
        assert "north" not in text


def test_neighbors_of_one_index_are_none_for_hits_of_another(database_url: str) -> None:
    made = {}
    for whose in ("north", "south"):
        made[whose] = PostgresIndex.create(database_url, table=whose, dimensions=64)
        texts = [each.page_content for each in handbook(whose)]
        made[whose].add(chunks(handbook(whose)), WordEmbeddings().embed_documents(texts))
    retriever = ContextRetriever(
        made["south"],
        WordEmbeddings(),
        config=RetrievalConfig(limit=1),
        assembler=ContextAssembler(store=made["north"], neighbors="unfiltered"),
    )
    with pytest.warns(NothingToJoinWarning, match=NOT_HELD) as seen:
        read = [retriever.context("ember rule of south").text for _ in "ab"]
    assert len(seen) == 1
    for text in read:
        assert [each.page_content in text for each in SOUTH] == [at == 2 for at in range(5)]
        assert "north" not in text
