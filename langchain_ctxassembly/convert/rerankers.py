"""LangChain's compressors and cross-encoders as rerankers of a retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from langchain_core.documents import BaseDocumentCompressor, Document

from ctxassembly.data.chunks import Chunk
from ctxassembly.integrations.cross_encoder import reranker_of
from ctxassembly.protocols import Ranked, Reranker

PLACE = "ctxassembly_place"
"""The metadata key by which a compressor's documents are known again, whatever it does with ids."""
SCORES = ("relevance_score", "rerank_score", "score")


def as_reranker(given: Any) -> Reranker:
    """The reranking of `given`: a compressor, a cross-encoder with `score` or `predict`, or a function as it is.

    Raises:
        ConfigError: `given` is none of these.
    """
    if isinstance(given, BaseDocumentCompressor):
        return partial(_compressed, given)
    return reranker_of(given, "compressors, cross-encoders or functions")


def _compressed(compressor: BaseDocumentCompressor, query: str, chunks: Sequence[Chunk]) -> list[Ranked]:
    documents = [
        Document(id=chunk.id, page_content=chunk.text, metadata={**chunk.metadata, PLACE: place})
        for place, chunk in enumerate(chunks)
    ]
    ranked: list[Ranked] = []
    for document in compressor.compress_documents(documents, query):
        place = document.metadata.get(PLACE)
        if not isinstance(place, int) or not 0 <= place < len(chunks):
            continue
        before = chunks[place].metadata
        scores = (document.metadata.get(key) for key in SCORES if document.metadata.get(key) != before.get(key))
        score = next((score for score in scores if score is not None), None)
        ranked.append((place, None if score is None else float(score)))
    return ranked
