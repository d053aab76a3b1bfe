"""A document that the best hit names by its title joins a LangChain chain's context, if the caller may read it."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ctxassembly import AssemblyConfig, MemoryIndex, MetadataKeys, RetrievalConfig
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, ContextRetriever, number_chunks
from langchain_ctxassembly.convert.documents import chunk_from
from langchain_samples import vector_store

QUESTION = "In which city was the founder of the Lighthouse Choir born?"
CONFIG = AssemblyConfig(max_tokens=200)


def document(title: str, text: str, tenant: str) -> Document:
    return Document(text, metadata={"source": f"{tenant}/{title}.txt", "title": title, "tenant": tenant})


def corpus(tenant: str, born: str) -> list[Document]:
    return [
        document("Lighthouse Choir", "The founder of the Lighthouse Choir is Marta Quist.", tenant),
        document("Marta Quist", f"She came from {born}, and sang there as a child until she went to sea.", tenant),
        *(
            document(f"{name} Choir", f"The {name} choir of the city has a founder, born in the city.", tenant)
            for name in ("Northern", "Southern")
        ),
    ]


SPLIT = number_chunks(
    RecursiveCharacterTextSplitter(chunk_size=200, chunk_overlap=20, add_start_index=True).split_documents(
        [*corpus("north", "Aarhus"), *corpus("south", "Seville")]
    )
)
INDEX = MemoryIndex(chunk_from(one, MetadataKeys()) for one in SPLIT)


def text_of(documents: list[Document]) -> str:
    return "\n\n".join(one.page_content for one in documents)


def retriever_for(tenant: str, **settings: Any) -> ContextAssemblyRetriever:
    return ContextAssemblyRetriever.from_vectorstore(
        vector_store(SPLIT),
        assembler=ContextAssembler(config=CONFIG, store=INDEX, **settings),
        search_kwargs={"k": 3, "filter": lambda one: one.metadata["tenant"] == tenant},
    )


def test_the_named_document_joins_under_the_filter_of_the_search() -> None:
    for tenant, own, other in (("north", "Aarhus", "Seville"), ("south", "Seville", "Aarhus")):
        text = text_of(retriever_for(tenant).invoke(QUESTION))
        assert own in text
        assert other not in text


def test_nothing_joins_where_the_filter_is_not_seen() -> None:
    plain = vector_store(SPLIT).as_retriever(
        search_kwargs={"k": 3, "filter": lambda one: one.metadata["tenant"] == "north"}
    )
    hits = plain.invoke(QUESTION)
    assembler = ContextAssembler(config=CONFIG, store=INDEX)
    text = text_of(assembler.invoke({"documents": hits, "query": QUESTION}))
    assert "Aarhus" not in text
    assert "Seville" not in text


def test_an_index_of_our_own_searches_and_adds_under_one_filter() -> None:
    retriever = ContextRetriever(
        INDEX, config=RetrievalConfig(strategy="keyword", limit=3), assembler=ContextAssembler(config=CONFIG)
    )
    text = text_of(retriever.with_filter({"tenant": "north"}).invoke(QUESTION))
    assert "Aarhus" in text
    assert "Seville" not in text
