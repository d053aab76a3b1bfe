"""ContextRetriever wherever LangChain takes a retriever: batches, fallbacks, tools, agents, graphs; many at once."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.runnables import ConfigurableField
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ctxassembly import MemoryIndex
from langchain_ctxassembly import ContextRetriever
from langchain_samples import WordEmbeddings, chunks

SUBJECTS = {"north": "granite", "south": "falcon", "east": "copper", "west": "willow"}


def pages(tenant: str) -> list[Document]:
    """Chunks as most people have them: uuid ids, `source`, `page` and `start_index`."""
    texts = [
        " ".join(f"On page {page}, line {line}, the {SUBJECTS[tenant]} of {tenant} is seen." for line in range(6))
        for page in range(1, 5)
    ]
    made = [
        Document(text, metadata={"source": f"{tenant}.pdf", "page": page, "tenant": tenant})
        for page, text in enumerate(texts, 1)
    ]
    splitter = RecursiveCharacterTextSplitter(chunk_size=120, chunk_overlap=30, add_start_index=True)
    split = splitter.split_documents(made)
    return [one.model_copy(update={"id": str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{tenant}{at}"))})
            for at, one in enumerate(split)]  # fmt: skip


DOCUMENTS = [document for tenant in SUBJECTS for document in pages(tenant)]
QUERY = "Where are granite and falcon seen, on page 3?"


@pytest.fixture
def retriever() -> ContextRetriever:
    found = chunks(DOCUMENTS)
    vectors = WordEmbeddings().embed_documents([chunk.text for chunk in found])
    return ContextRetriever(MemoryIndex(found, vectors), WordEmbeddings(), k=6)


def read(found: list[Document]) -> list[tuple[str | None, str, Any]]:
    """All that a reader gets; the times in the trace differ from call to call."""
    return [(document.id, document.page_content, document.metadata["citation"]) for document in found]


def tenants(found: list[Document]) -> set[str]:
    return {document.metadata["tenant"] for document in found}


def test_fields_may_be_configured_by_the_call(retriever: ContextRetriever) -> None:
    configurable = retriever.configurable_fields(filter=ConfigurableField(id="filter"), k=ConfigurableField(id="k"))
    config: Any = {"configurable": {"filter": {"tenant": "south"}, "k": 1}}
    assert read(configurable.invoke(QUERY, config)) == read(retriever.invoke(QUERY, filter={"tenant": "south"}, k=1))
    assert read(configurable.invoke(QUERY)) == read(retriever.invoke(QUERY))


def test_it_stands_in_an_ensemble_and_in_compression(retriever: ContextRetriever) -> None:
    both = EnsembleRetriever(
        retrievers=[retriever.with_filter({"tenant": name}) for name in ("north", "south")], id_key=None
    )
    assert tenants(both.invoke(QUERY)) == {"north", "south"}

    from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline

    whole = DocumentCompressorPipeline(transformers=[])
    compressing = ContextualCompressionRetriever(base_compressor=whole, base_retriever=retriever)
    of_north = {"tenant": "north"}
    assert read(compressing.invoke(QUERY, filter=of_north)) == read(retriever.invoke(QUERY, filter=of_north))


class TestAtOnce:
    """One retriever serves many users at the same time: a call changes nothing for another."""

    CALLS = tuple((tenant, k) for k in (1, 3, 6, 9, 20) for tenant in SUBJECTS) * 10

    def expected(self, retriever: ContextRetriever) -> dict[tuple[str, int], list[Any]]:
        found = {call: retriever.invoke(QUERY, filter={"tenant": call[0]}, k=call[1]) for call in set(self.CALLS)}
        assert all(tenants(documents) == {tenant} for (tenant, _), documents in found.items())
        return {call: read(documents) for call, documents in found.items()}

    async def test_tasks(self, retriever: ContextRetriever) -> None:
        expected, before = self.expected(retriever), retriever.model_dump()
        assert len(self.CALLS) == 200
        found = await asyncio.gather(
            *(retriever.ainvoke(QUERY, filter={"tenant": tenant}, k=k) for tenant, k in self.CALLS)
        )
        assert list(map(read, found)) == [expected[call] for call in self.CALLS]
        assert retriever.model_dump() == before
        assert tenants(retriever.invoke(QUERY)) > {"north"}  # a call without a filter has none
