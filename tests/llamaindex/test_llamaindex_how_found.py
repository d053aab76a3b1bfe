"""How a context was found, in one line of a notebook."""

from __future__ import annotations

import asyncio

from ctxassembly import Chunk, MemoryIndex
from llamaindex_ctxassembly import ContextRetriever
from llamaindex_samples import TEXTS, WordEmbedding

CHUNKS = [Chunk(f"lake-{at}", "lake", text, at, metadata={"file_name": "lake.txt"}) for at, text in enumerate(TEXTS)]
QUERY = "Who carried the dye across the lake?"
embed = WordEmbedding().get_query_embedding
RETRIEVER = ContextRetriever(MemoryIndex(CHUNKS, [embed(chunk.text) for chunk in CHUNKS]), embed, similarity_top_k=2)


def test_a_context_shows_how_its_hits_were_found() -> None:
    context = RETRIEVER.context(QUERY)
    assert context.retrieved == RETRIEVER.hits(QUERY)
    assert "The steps of retrieval" in context._repr_html_()
    assert asyncio.run(RETRIEVER.acontext(QUERY)).retrieved == context.retrieved


def test_a_retrieval_shows_itself() -> None:
    assert "How it was found" in RETRIEVER.hits(QUERY)._repr_html_()
