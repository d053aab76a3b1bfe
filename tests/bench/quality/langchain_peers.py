"""LangChain's document transformers.

They know no budget. Who has one cuts by rank and reorders what is left; the other way round the cut would take the
better half away.
"""

from __future__ import annotations

import logging
import sys
import warnings
from functools import cache
from importlib import import_module
from typing import Any

from ctxassembly import Hit
from quality import minilm
from quality.aligned import source_runs
from quality.data import QuestionSet
from quality.filling import Answer, Case, Fill, Strategy, cut, whole

NEEDS = "langchain_community"
FILTER_NEEDS = (NEEDS, "langchain_classic", "langchain_text_splitters", minilm.NEEDS)
PIECE_CHARS = 300
"""Characters of a piece of a chunk, as its documentation splits."""


def reorder(_: QuestionSet) -> Strategy:
    """LongContextReorder: the best at both ends."""
    return lambda case: cut([whole(hit.chunk) for hit in case.hits], _reordered)


def redundant_filter(_: QuestionSet) -> Strategy:
    """EmbeddingsRedundantFilter with its own threshold of 0.95, then LongContextReorder."""
    return filtered(_embeddings())


def filtered(embeddings: Any) -> Strategy:
    """The same with `embeddings`."""
    transformer = _transformers().EmbeddingsRedundantFilter(embeddings=embeddings)

    def strategy(case: Case) -> Fill:
        kept = transformer.transform_documents([_document(hit, rank) for rank, hit in enumerate(case.hits)])
        return cut([whole(case.hits[document.metadata["rank"]].chunk) for document in kept], _reordered)

    return strategy


def embeddings_filter(_: QuestionSet) -> Strategy:
    """Return the pipeline of its documentation: split, EmbeddingsRedundantFilter, EmbeddingsFilter.

    The filter keeps the pieces most similar to the question, as many as fit. The threshold of its documentation, .76,
    is for another model. Unlike there, pieces keep the period that they are split at: else none of them is whole.
    """
    from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline, EmbeddingsFilter
    from langchain_text_splitters import CharacterTextSplitter

    # It logs each sentence that is longer than a piece.
    logging.getLogger("langchain_text_splitters").setLevel(logging.ERROR)
    splitter = CharacterTextSplitter(chunk_size=PIECE_CHARS, chunk_overlap=0, separator=". ", keep_separator="end")
    embeddings = _embeddings()
    redundant = _transformers().EmbeddingsRedundantFilter(embeddings=embeddings)
    relevant = EmbeddingsFilter(embeddings=embeddings, k=sys.maxsize)
    pipeline = DocumentCompressorPipeline(transformers=[splitter, redundant, relevant])

    def strategy(case: Case) -> Fill:
        documents = [_document(hit, rank) for rank, hit in enumerate(case.hits)]
        found = pipeline.compress_documents(documents, case.question.text) if documents else []
        pieces = [(each.page_content, case.hits[each.metadata["rank"]].chunk) for each in found]
        return cut([Answer(text, source_runs(text, chunk)) for text, chunk in pieces])

    return strategy


def _reordered(pieces: list[Answer]) -> list[Answer]:
    from langchain_core.documents import Document

    documents = [Document(piece.text, metadata={"rank": rank}) for rank, piece in enumerate(pieces)]
    return [
        pieces[each.metadata["rank"]] for each in _transformers().LongContextReorder().transform_documents(documents)
    ]


@cache
def _transformers() -> Any:
    with warnings.catch_warnings():
        # It says that it is no longer maintained, and names no other home for these two.
        warnings.filterwarnings("ignore", "`langchain-community` is being sunset", DeprecationWarning)
        return import_module("langchain_community.document_transformers")


def _document(hit: Hit, rank: int) -> Any:
    from langchain_core.documents import Document

    return Document(hit.chunk.text, metadata={"rank": rank})


def _embeddings() -> Any:
    """MiniLM as LangChain asks for it."""
    from langchain_core.embeddings import Embeddings

    class MiniLM(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            vectors: list[list[float]] = minilm.embed_cached(texts).tolist()
            return vectors

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    return MiniLM()
