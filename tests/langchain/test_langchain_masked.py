"""Neighbors undo what another step masked or removed in the documents, unless it is `transform_fetched`, too.

The worked example: names are masked in what is retrieved, in the step before the assembler.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda

from ctxassembly import AssemblyConfig, Chunk
from ctxassembly.errors import ConfigError, InputError
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, VectorStoreNeighbors
from langchain_samples import WORDS, vector_store

NAME = re.compile(r"\b[A-Z][a-z]+ (?:Visser|Bakker|Smit)\b")
NAMES = ["Anna Visser", "Bram Bakker", "Cees Smit"]
CORPUS = [
    Document(
        id=f"notes#{at}",
        page_content=f"{NAMES[at % 3]} was seen about the {WORDS[at]}; {NAMES[(at + 1) % 3]} asked for it.",
        metadata={"document_id": "notes", "chunk_index": at, "source": "notes.pdf"},
    )
    for at in range(9)
]
QUERY = CORPUS[4].page_content
CONFIG = AssemblyConfig(window=3)


class Mask(BaseDocumentTransformer):
    """As a PII transformer does: over documents."""

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        return [each.model_copy(update={"page_content": masked(each.page_content)}) for each in documents]


def masked(text: str) -> str:
    return NAME.sub("<PERSON>", text)


def mask(chunks: Sequence[Chunk]) -> list[Chunk]:
    return [replace(chunk, text=masked(chunk.text)) for chunk in chunks]


async def amask(chunks: Sequence[Chunk]) -> list[Chunk]:
    await asyncio.sleep(0)
    return mask(chunks)


def prompt_after(assembler: ContextAssembler) -> Any:
    """A chain whose documents are masked before they are assembled, up to the prompt."""
    compressor = DocumentCompressorPipeline(transformers=[Mask(), assembler])
    retriever = ContextualCompressionRetriever(
        base_compressor=compressor, base_retriever=vector_store(CORPUS).as_retriever(search_kwargs={"k": 1})
    )
    joined = RunnableLambda(lambda found: {"context": "\n\n".join(each.page_content for each in found)})
    return retriever | joined | ChatPromptTemplate.from_template("{context}")


def assembler(**options: Any) -> ContextAssembler:
    store = VectorStoreNeighbors(vector_store(CORPUS))
    return ContextAssembler(store=store, config=CONFIG, neighbors="unfiltered", **options)


async def test_names_that_were_masked_before_do_not_come_back_with_neighbors() -> None:
    bare = prompt_after(ContextAssembler(config=CONFIG))
    assert NAME.findall(bare.invoke(QUERY).to_string()) == []
    undone = prompt_after(assembler()).invoke(QUERY).to_string()
    assert len(NAME.findall(undone)) == 12
    chain = prompt_after(assembler(transform_fetched=mask))
    for prompt in (chain.invoke(QUERY), await chain.ainvoke(QUERY)):
        assert NAME.findall(prompt.to_string()) == []
        assert prompt.to_string().count("<PERSON>") == 14  # and all the neighbors are there
    awaited = await prompt_after(assembler(transform_fetched=amask)).ainvoke(QUERY)
    assert awaited.to_string() == masked(undone)


async def test_a_hook_that_can_only_be_awaited_is_an_error_in_a_sync_chain() -> None:
    with pytest.raises(InputError, match="transform_fetched can only be awaited"):
        assembler(transform_fetched=amask).invoke([CORPUS[4]])
    with pytest.raises(ConfigError, match="transform_fetched"):
        assembler(transform_fetched="mask")
    with pytest.raises(
        ConfigError,
        match="assembler must be given without config and store",
    ):
        ContextAssemblyRetriever.from_vectorstore(vector_store([]), assembler=assembler(), config=CONFIG)
