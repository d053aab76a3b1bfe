"""Warnings through real chains: at the caller's line, once an object, one for all, and short before the remedy."""

from __future__ import annotations

import asyncio
import copy
import linecache
import pickle
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import chromadb
import pytest
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.runnables import ConfigurableField, Runnable, RunnableLambda
from langchain_core.tools import create_retriever_tool, tool
from langchain_core.vectorstores import InMemoryVectorStore

from agent_samples import Scripted, agent, asked, calls
from ctxassembly import Chunk, FilterNotSeenWarning, MemoryIndex, NothingToJoinWarning, RetrievalConfig
from ctxassembly.user_warnings import MAX_FACT_CHARS, REMEDY
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    ContextMiddleware,
    ContextRetriever,
    number_chunks,
)
from langchain_samples import WordEmbeddings, memory_store

QUERY = "weavers and wool"


def leaflets(count: int = 6, **metadata: Any) -> list[Document]:
    """As most indexes have them: under a random id, with `source` and `page`."""
    return [
        Document(
            f"In year {at} the weavers paid {at} bales of wool.", metadata={"source": "a.pdf", "page": at, **metadata}
        )
        for at in range(count)
    ]


def ordinary() -> InMemoryVectorStore:
    store = InMemoryVectorStore(WordEmbeddings())
    store.add_documents(leaflets(), ids=[str(uuid.uuid4()) for _ in range(6)])
    return store


def piped() -> Runnable[Any, Any]:
    return ordinary().as_retriever() | ContextAssembler()  # made here


@contextmanager
def issued() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield seen


def check(seen: list[warnings.WarningMessage], mark: str, lines: int = 1) -> None:
    """One warning of the right shape, with so many lines to write, at the line with `mark`."""
    (warning,) = seen
    *_, fact, remedy = str(warning.message).split("\n")[-1].split(REMEDY)
    assert str(warning.message).count(REMEDY) == lines
    assert len(fact) <= 2 * MAX_FACT_CHARS  # with its effect
    assert fact.endswith(".")
    assert not fact[0].islower()
    assert remedy
    assert warning.filename == __file__
    assert mark in linecache.getline(warning.filename, warning.lineno)


# The caller's line


def once(chain: Any) -> None:
    chain.invoke(QUERY)  # the caller


def of_a_batch(chain: Any) -> None:
    chain.batch([QUERY, "years"])


def streamed(chain: Any) -> None:
    for _ in chain.stream(QUERY):  # the caller
        pass


def awaited(chain: Any) -> None:
    asyncio.run(chain.ainvoke(QUERY))


def awaited_within(chain: Any) -> None:
    async def inner() -> None:
        await chain.ainvoke(QUERY)

    async def main() -> None:
        await asyncio.create_task(inner())

    asyncio.run(main())


def gathered(chain: Any) -> None:
    async def main() -> None:
        await asyncio.gather(chain.ainvoke(QUERY), chain.ainvoke("years"))

    asyncio.run(main())


def with_a_timeout(chain: Any) -> None:
    async def main() -> None:
        await asyncio.wait_for(chain.ainvoke(QUERY), 60)

    asyncio.run(main())


def astreamed(chain: Any) -> None:
    async def main() -> None:
        async for _ in chain.astream(QUERY):
            pass

    asyncio.run(main())


def watched(chain: Any) -> None:
    async def main() -> None:
        async for _ in chain.astream_events(QUERY, version="v2"):
            pass

    asyncio.run(main())


def of_an_abatch(chain: Any) -> None:
    async def main() -> None:
        await chain.abatch([QUERY, "years"])

    asyncio.run(main())


def in_a_thread(chain: Any) -> None:
    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(chain.invoke, QUERY) for _ in range(4)]:
            future.result()


def in_a_thread_of_the_loop(chain: Any) -> None:
    async def main() -> None:
        await asyncio.to_thread(chain.invoke, QUERY)

    asyncio.run(main())


CALLS = [once, streamed]
IN_THREADS = [of_a_batch, in_a_thread, in_a_thread_of_the_loop]
IN_TASKS = [awaited, awaited_within, gathered, with_a_timeout, astreamed, watched, of_an_abatch]
"""Where no line of the caller is on the stack, the line counts that made the object."""
ALL = [*((call, "# the caller") for call in CALLS), *((call, "# made here") for call in (*IN_THREADS, *IN_TASKS))]
each_call = pytest.mark.parametrize(("call", "mark"), ALL, ids=[call.__name__ for call, _ in ALL])


@each_call
def test_a_pipe_names_the_callers_line_once(call: Callable[[Any], None], mark: str) -> None:
    chain = piped()
    with issued() as seen:
        call(chain)
    check(seen, mark)
    with issued() as again:
        call(chain)
        once(chain)
    assert again == []


@each_call
@pytest.mark.parametrize("wrapped", ["retry", "config", "bound", "configurable", "lambda"])
def test_so_does_a_wrapped_one(call: Callable[[Any], None], mark: str, wrapped: str) -> None:
    chain: Any = piped()
    if wrapped == "retry":
        chain = chain.with_retry()
    elif wrapped == "config":
        chain = chain.with_config(tags=["t"])
    elif wrapped == "bound":
        chain = chain.bind()
    elif wrapped == "configurable":
        assembler = ContextAssembler().configurable_fields(filter=ConfigurableField("filter"))  # made here
        chain = ordinary().as_retriever() | assembler
    else:
        chain = RunnableLambda(lambda query: query) | chain
    with issued() as seen:
        call(chain)
        call(chain)
    check(seen, mark)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_retriever_with_retry_in_an_agents_tool(is_async: bool) -> None:
    retriever = ContextAssemblyRetriever(retriever=ordinary().as_retriever()).with_retry()

    @tool
    def search(query: str) -> str:
        """Search."""
        return "\n".join(each.page_content for each in retriever.invoke(query))  # the caller

    made = agent(
        Scripted(calls("a"), AIMessage("b"), calls("c"), AIMessage("d")),
        search,
        middleware=ContextMiddleware(tools=["search"]),
    )
    with issued() as seen:
        for question in ("one", "two"):
            asyncio.run(made.ainvoke(asked(question))) if is_async else made.invoke(asked(question))
    check(seen, "# the caller")


@pytest.mark.parametrize("is_async", [False, True])
def test_a_retriever_that_is_itself_the_tool(is_async: bool) -> None:
    """A tool runs in a thread or in a task: no line of the caller's is on the stack."""
    retriever = ContextAssemblyRetriever(
        retriever=ordinary().as_retriever(),
        assembler=ContextAssembler(),  # made here
    )
    search = create_retriever_tool(retriever, "search", "Search.", response_format="content_and_artifact")
    made = agent(Scripted(calls("a"), AIMessage("b"), calls("c"), AIMessage("d")), search)

    async def main(question: str) -> None:
        await made.ainvoke(asked(question))

    with issued() as seen:
        for question in ("one", "two"):
            asyncio.run(main(question)) if is_async else made.invoke(asked(question))
    check(seen, "# made here")


# Once an object


def invoked(made: Any) -> list[warnings.WarningMessage]:
    with issued() as seen:
        made.invoke(leaflets())
    return seen


def test_copies_share_it_and_a_new_object_warns_again() -> None:
    made = ContextAssembler()
    assert len(invoked(made)) == 1
    copies = (
        made.model_copy(),
        made.model_copy(deep=True),
        copy.copy(made),
        copy.deepcopy(made),
        made.with_config(tags=["t"]),
    )
    for each in (*copies, made.bind(), made.model_copy(update={"config": made.config})):
        assert invoked(each) == []
    assert len(invoked(ContextAssembler())) == 1


def test_a_pickled_one_is_an_object_of_its_own() -> None:
    made = ContextAssembler()
    invoked(made)
    restored = pickle.loads(pickle.dumps(made))
    assert restored == made
    assert len(invoked(restored)) == 1
    assert invoked(restored) == invoked(made) == []


def test_an_index_under_the_filter_of_each_call_warns_once() -> None:
    """Each call gets another store, `index.with_filter(filter)`."""
    texts = ["weavers and wool", "wool and looms", "looms and weavers"]
    index = MemoryIndex([Chunk(str(uuid.uuid4()), "a.pdf", text, metadata={"user": "me"}) for text in texts])
    made = ContextRetriever(index=index, config=RetrievalConfig(strategy="keyword"))
    with issued() as seen:
        for _ in range(3):
            made.invoke("weavers", filter={"user": "me"})
    assert len(seen) <= 1


def test_many_threads_warn_once() -> None:
    made = ContextAssembler()
    with issued() as seen, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: made.invoke(leaflets()), range(32)))
    assert len(seen) == 1


def test_what_is_missing_for_several_reasons_is_one_warning() -> None:
    """A filter that nobody gave, and hits of another retriever without an index."""
    numbered = number_chunks(
        [Document(f"Text {at}.", metadata={"source": "b.pdf", "page": 0, "ward": at}) for at in range(5)]
    )
    with issued() as seen:
        ContextAssembler(store=memory_store(numbered)).invoke([numbered[2], *leaflets(2)])  # the caller
    check(seen, "# the caller", lines=2)
    assert str(seen[0].message).startswith(
        "2 things to fix:\n1. Adjacent chunks with another 'ward' than the retrieved chunk"
    )
    assert (
        seen[0].category.__mro__.count(FilterNotSeenWarning)
        == seen[0].category.__mro__.count(NothingToJoinWarning)
        == 1
    )
    assert "filter=" in str(seen[0].message)
    assert "number_chunks" in str(seen[0].message)


def test_python_shows_the_line_and_its_own_filters_work() -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(3):
            ContextAssembler().invoke(leaflets())
    assert len(seen) == 1  # the same text at the same line
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", module=__name__)
        ContextAssembler().invoke(leaflets())


# Others' neighbors


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("kind", ["chroma", "memory"])
def test_a_filtered_call_whose_neighbors_are_all_of_others_is_silent(kind: str, is_async: bool) -> None:
    """Every other chunk is of another user. The store finds the hit under the filter, so it lacks nothing."""
    texts = [Document(f"Wool of year {at}.", metadata={"source": "a.pdf", "user": "ab"[at % 2]}) for at in range(8)]
    chunks = number_chunks(texts)
    condition: Any = {"user": "a"} if kind == "chroma" else lambda each: each.metadata["user"] == "a"
    if kind == "chroma":
        client = chromadb.EphemeralClient()
        store: Any = Chroma(uuid.uuid4().hex, WordEmbeddings(), client=client)
    else:
        store = InMemoryVectorStore(WordEmbeddings())
    store.add_documents(chunks, ids=[str(each.id) for each in chunks])
    made = ContextAssemblyRetriever.from_vectorstore(store, hits=1, search_kwargs={"filter": condition})
    with issued() as seen:
        for query in ("Wool of year 2.", "Wool of year 4."):
            (found,) = asyncio.run(made.ainvoke(query)) if is_async else made.invoke(query)
            assert len(found.metadata["chunk_ids"]) == 1
    assert [str(each.message) for each in seen] == []
