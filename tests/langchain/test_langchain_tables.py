"""Tables that a splitter cut: the rows in a LangChain chain's context have their header."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ctxassembly import AssemblyConfig, MemoryIndex, MetadataKeys
from ctxassembly.config.assembly import Granularity
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, number_chunks
from langchain_ctxassembly.convert.documents import chunk_from
from langchain_samples import vector_store

HEAD = "| dish | price in euros | allergens |\n|---|---|---|"
DISHES = [f"| dish {number} with cheese | {number}.50 | milk and nuts |" for number in range(90)]
INTRODUCTION = "The kitchen is open from noon to nine. " * 9
MENU = Document(f"# Menu\n\n{INTRODUCTION}\n\n{HEAD}\n" + "\n".join(DISHES), metadata={"source": "menu.md"})
SPLIT = number_chunks(
    RecursiveCharacterTextSplitter(chunk_size=600, chunk_overlap=60, add_start_index=True).split_documents([MENU])
)


def context_for(dish: int, config: AssemblyConfig) -> str:
    """The context for a question about one dish; its chunk is the only hit."""
    (hit,) = [one for one in SPLIT if DISHES[dish] in one.page_content][:1]
    assembler = ContextAssembler(config=config, store=MemoryIndex(chunk_from(one, MetadataKeys()) for one in SPLIT))
    retriever = ContextAssemblyRetriever(retriever=vector_store([hit]).as_retriever(), assembler=assembler)
    return "\n\n".join(one.page_content for one in retriever.invoke(f"What does dish {dish} cost?"))


@pytest.mark.parametrize("dish", [9, 20, 60])
@pytest.mark.parametrize("granularity", ["auto", "sentence", "chunk", "passage"])
def test_rows_of_a_later_chunk_have_the_header(granularity: Granularity, dish: int) -> None:
    text = context_for(dish, AssemblyConfig(granularity=granularity, max_tokens=400, format="minimal"))
    assert DISHES[dish] in text
    assert HEAD in text.partition(DISHES[dish])[0]
