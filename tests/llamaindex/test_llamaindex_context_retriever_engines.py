"""ContextRetriever wherever LlamaIndex takes a retriever: engines, fusion, routers, chats, tools; many at once."""

from __future__ import annotations

import asyncio
import copy
import pickle
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from llama_index.core.schema import MetadataMode, NodeWithScore

from ctxassembly import Chunk, MemoryIndex
from ctxassembly.retrieval import Question
from llamaindex_ctxassembly import ContextRetriever
from llamaindex_samples import WordEmbedding

SUBJECTS = {"north": "granite", "south": "falcon", "east": "copper", "west": "willow"}
QUERY = "Where are granite and falcon seen, on page 3?"
embed = WordEmbedding().get_query_embedding


def pages(tenant: str) -> list[Chunk]:
    """Chunks as most people have them: uuid ids, `file_name` and `page_label`, no index but an offset."""
    texts = [
        f"On page {page}, line {line}, the {SUBJECTS[tenant]} of {tenant} is seen."
        for page in range(1, 5)
        for line in range(6)
    ]
    return [
        Chunk(
            str(uuid.uuid5(uuid.NAMESPACE_DNS, text)),
            f"{tenant}.pdf",
            text,
            start=at * 100,
            metadata={"file_name": f"{tenant}.pdf", "page_label": str(1 + at // 6), "tenant": tenant},
        )
        for at, text in enumerate(texts)
    ]


CHUNKS = [chunk for tenant in SUBJECTS for chunk in pages(tenant)]
INDEX = MemoryIndex(CHUNKS, [embed(chunk.text) for chunk in CHUNKS])


@pytest.fixture
def retriever() -> ContextRetriever:
    return ContextRetriever(INDEX, embed, similarity_top_k=6)


def read(found: list[NodeWithScore]) -> list[tuple[str, str, Any]]:
    """All that a reader gets; the times in the trace differ from call to call."""
    return [(one.node_id, one.node.get_content(MetadataMode.LLM), one.node.metadata["citation"]) for one in found]


def tenants(found: list[NodeWithScore]) -> set[str]:
    return {one.node.metadata["tenant"] for one in found}


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))],
    ids=["copy", "deep", "pickle"],
)
def test_a_copy_finds_the_same(copied: Callable[[ContextRetriever], ContextRetriever]) -> None:
    held = ContextRetriever(INDEX, WordEmbedding(), similarity_top_k=6).with_filter({"tenant": "south"})
    again = copied(held)
    assert read(again.retrieve(QUERY)) == read(held.retrieve(QUERY))
    assert tenants(again.with_filter({"page_label": "3"}).retrieve(QUERY)) == {"south"}


def of_tenant(tenant: str) -> Question:
    return Question(QUERY, filter={"tenant": tenant})


async def test_one_retriever_serves_many_users_at_the_same_time(retriever: ContextRetriever) -> None:
    """In threads and as tasks: a call changes nothing for another."""
    expected = {tenant: retriever.context(of_tenant(tenant)).text for tenant in SUBJECTS}
    for tenant, text in expected.items():
        assert not any(name in text for name in SUBJECTS.keys() - {tenant})
    before, calls = retriever.context(QUERY).text, [*SUBJECTS] * 25

    def call(tenant: str) -> str:
        assert tenants(retriever.with_filter({"tenant": tenant}).retrieve(QUERY)) == {tenant}
        return retriever.context(of_tenant(tenant)).text

    with ThreadPoolExecutor(32) as threads:
        assert list(threads.map(call, calls)) == [expected[tenant] for tenant in calls]
    found = await asyncio.gather(*(retriever.acontext(of_tenant(tenant)) for tenant in calls))
    assert [context.text for context in found] == [expected[tenant] for tenant in calls]
    assert retriever.context(QUERY).text == before
