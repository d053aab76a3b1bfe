"""The two lines of the readme over an ordinary PGVectorStore table: uuid ids, source, page, start_index, a tenant."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.documents import Document
from langchain_postgres import PGEngine, PGVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from chain_samples import Scripted
from ctxassembly import AssemblyConfig, RetrievalConfig
from ctxassembly.stores.postgres import PostgresIndex
from langchain_ctxassembly import ContextAssembler, ContextRetriever, answer_chain
from langchain_samples import WordEmbeddings

SUBJECTS = ("anaesthesia", "parking", "bloodletting", "visiting hours", "payment", "discharge")


def page(tenant: str, number: int) -> str:
    subject = SUBJECTS[number % len(SUBJECTS)]
    rules = range(4 + 2 * number)
    lines = [f"On {subject}, rule {number}.{at} of {tenant} says what staff do at step {at}." for at in rules]
    return " ".join(lines)


def pages(tenant: str) -> list[Document]:
    """A PDF as its loader gives it: a document a page, offsets that begin anew on each."""
    return [
        Document(page(tenant, number), metadata={"source": f"{tenant}.pdf", "page": number, "tenant": tenant})
        for number in range(1, 7)
    ]


@pytest.fixture
def vectorstore(database_url: str) -> Iterator[PGVectorStore]:
    engine = PGEngine.from_connection_string(database_url)
    engine.init_vectorstore_table("chunks", 64)
    store = PGVectorStore.create_sync(engine, WordEmbeddings(), "chunks")
    splitter = RecursiveCharacterTextSplitter(chunk_size=180, chunk_overlap=60, add_start_index=True)
    store.add_documents(splitter.split_documents([*pages("north"), *pages("south")]))
    yield store
    asyncio.run(engine.close())


QUERY = "What does rule 3.4 of north say on visiting hours?"


def test_two_lines_find_by_words_and_join_within_the_page(vectorstore: PGVectorStore) -> None:
    index = PostgresIndex.attach(vectorstore)
    assembler = ContextAssembler(config=AssemblyConfig(candidate_window=1))
    retriever = ContextRetriever(index, WordEmbeddings(), k=1, assembler=assembler)
    [found] = retriever.invoke(QUERY)  # without a warning: search and neighbors read one table, and neither filters
    assert found.page_content.startswith("[1] Source: north.pdf, page 3\n")
    assert "rule 3.4" in found.page_content
    assert len(found.metadata["citation"]["chunk_ids"]) == 3  # one chunk on each side, found by offset
    body = found.page_content.partition("\n")[2]
    assert body.strip("[.]\n ") in page("north", 3)  # one run of one page, and nothing twice
    # The last chunk of a page has nothing after it, though longer pages have chunks at the next offset.
    [last] = retriever.invoke("What does rule 3.9 of north say on visiting hours?")
    assert last.page_content.partition("\n")[2].strip("[.]\n ") in page("north", 3)
    assert index.with_filter(None).holds_filter is False


def test_a_filter_holds_in_every_channel_and_for_neighbors_in_a_second_call_too(vectorstore: PGVectorStore) -> None:
    retriever = ContextRetriever(PostgresIndex.attach(vectorstore), WordEmbeddings())
    for tenant, other in (("north", "south"), ("south", "north")):
        text = "\n".join(document.page_content for document in retriever.invoke(QUERY, filter={"tenant": tenant}))
        assert f"Source: {tenant}.pdf" in text
        assert f"of {other}" not in text
    assert retriever.invoke(QUERY, filter={"tenant": "east"}) == []


def test_a_query_is_two_round_trips(vectorstore: PGVectorStore) -> None:
    retriever = ContextRetriever(PostgresIndex.attach(vectorstore), WordEmbeddings(), filter={"tenant": "north"})
    assert retriever.retrieve(QUERY).trace.round_trips == 2


def test_many_users_at_once_get_their_own(vectorstore: PGVectorStore) -> None:
    """Threads and tasks on one retriever: a call changes nothing for another, nor does it meet its text."""
    index = PostgresIndex.attach(vectorstore, timeout_seconds=60.0)  # each call waits for those before it
    retriever = ContextRetriever(index, WordEmbeddings(), config=RetrievalConfig(timeout_seconds=60.0))
    calls = [({"tenant": tenant}, k) for k in (1, 2, 4, 8, 16) for tenant in ("north", "south")] * 4
    expected = {str(call): retriever.context(QUERY, filter=call[0], k=call[1]).text for call in calls[:10]}
    for tenant, other in (("north", "south"), ("south", "north")):
        assert not any(f"of {other}" in text for call, text in expected.items() if tenant in call)

    def read(call: tuple[dict[str, str], int]) -> str:
        return retriever.context(QUERY, filter=call[0], k=call[1]).text

    async def read_all() -> list[str]:
        found = await asyncio.gather(*(retriever.acontext(QUERY, filter=held, k=k) for held, k in calls))
        return [context.text for context in found]

    with ThreadPoolExecutor(32) as threads:
        assert list(threads.map(read, calls)) == [expected[str(call)] for call in calls]
    assert asyncio.run(read_all()) == [expected[str(call)] for call in calls]


@pytest.mark.parametrize("awaited", [False, True])
def test_tenants_with_one_cache_read_their_own_rows_alone(vectorstore: PGVectorStore, *, awaited: bool) -> None:
    def asked(chain: Any, **given: Any) -> Any:
        question = {"input": "What does rule 3.4 say on visiting hours?", **given}
        return asyncio.run(chain.ainvoke(question)) if awaited else chain.invoke(question)

    index, cache, before = PostgresIndex.attach(vectorstore), InMemoryCache(), set()
    words = RetrievalConfig(strategy="keyword", limit=2)
    for tenant in ("north", "south", "north"):
        llm = Scripted()
        retriever = ContextRetriever(index.with_filter({"tenant": tenant}), config=words)
        output = asked(answer_chain(llm, retriever, cache=cache, cache_scope=tenant))
        assert {one["source"] for one in output["citations"]} == {f"{tenant}.pdf"}
        assert len(llm.asked) == (0 if tenant in before else 1)
        before.add(tenant)
