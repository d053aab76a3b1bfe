"""Warnings through real chains: once an object, and short before the remedy."""

from __future__ import annotations

import asyncio
import copy
import pickle
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import ConfigurableField, Runnable
from langchain_core.vectorstores import InMemoryVectorStore

from ctxassembly import AssemblyConfig, FilterNotSeenWarning, NothingToJoinWarning
from ctxassembly.user_warnings import MAX_FACT_CHARS, REMEDY
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    number_chunks,
)
from langchain_samples import WordEmbeddings, memory_store, vector_store
from vector_stores import chroma

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
    return ordinary().as_retriever() | ContextAssembler()


@contextmanager
def issued() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield seen


def check(seen: list[warnings.WarningMessage]) -> None:
    """One warning of the right shape."""
    (warning,) = seen
    *_, fact, remedy = str(warning.message).split("\n")[-1].split(REMEDY)
    assert str(warning.message).count(REMEDY) == 1
    assert len(fact) <= 2 * MAX_FACT_CHARS  # with its effect
    assert fact.endswith(".")
    assert not fact[0].islower()
    assert remedy


# In any chain


def once(chain: Any) -> None:
    chain.invoke(QUERY)


def of_a_batch(chain: Any) -> None:
    chain.batch([QUERY, "years"])


def awaited(chain: Any) -> None:
    asyncio.run(chain.ainvoke(QUERY))


def gathered(chain: Any) -> None:
    async def main() -> None:
        await asyncio.gather(chain.ainvoke(QUERY), chain.ainvoke("years"))

    asyncio.run(main())


def in_a_thread(chain: Any) -> None:
    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(chain.invoke, QUERY) for _ in range(4)]:
            future.result()


CALLS = (of_a_batch, in_a_thread, awaited, gathered)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("wrapped", ["pipe", "retry", "configurable"])
def test_a_chain_warns_once(call: Callable[[Any], None], wrapped: str) -> None:
    chain: Any = piped()
    if wrapped == "retry":
        chain = chain.with_retry()
    elif wrapped == "configurable":
        chain = ordinary().as_retriever() | ContextAssembler().configurable_fields(filter=ConfigurableField("filter"))
    with issued() as seen:
        call(chain)
        call(chain)
        once(chain)
    check(seen)


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


def test_what_is_missing_for_two_reasons_is_two_warnings() -> None:
    """A filter that nobody gave, and hits of another retriever without an index."""
    numbered = number_chunks(
        [Document(f"Text {at}.", metadata={"source": "b.pdf", "page": 0, "ward": at}) for at in range(5)]
    )
    with issued() as seen:
        ContextAssembler(store=memory_store(numbered)).invoke([numbered[2], *leaflets(2)])
    assert [one.category for one in seen] == [FilterNotSeenWarning, NothingToJoinWarning]
    assert "filter=" in str(seen[0].message)
    assert "number_chunks" in str(seen[1].message)


# Others' neighbors


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("kind", ["chroma", "memory"])
def test_a_filtered_call_whose_neighbors_are_all_of_others_is_silent(kind: str, is_async: bool) -> None:
    """Every other chunk is of another user. The store finds the hit under the filter, so it lacks nothing."""
    texts = [Document(f"Wool of year {at}.", metadata={"source": "a.pdf", "user": "ab"[at % 2]}) for at in range(8)]
    chunks = number_chunks(texts)
    condition: Any = {"user": "a"} if kind == "chroma" else lambda each: each.metadata["user"] == "a"
    store = chroma(chunks, [str(each.id) for each in chunks]) if kind == "chroma" else vector_store(chunks)
    config = AssemblyConfig(candidate_window=1)
    made = ContextAssemblyRetriever.from_vectorstore(store, hits=1, search_kwargs={"filter": condition}, config=config)
    with issued() as seen:
        for query in ("Wool of year 2.", "Wool of year 4."):
            (found,) = asyncio.run(made.ainvoke(query)) if is_async else made.invoke(query)
            assert len(found.metadata["chunk_ids"]) == 1
    assert [str(each.message) for each in seen] == []
