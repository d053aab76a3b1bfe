"""LangChain's document transformers.

They know no budget. Who has one cuts by rank and reorders what is left; the other way round the cut would take the
better half away.
"""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from typing import Any

from ctxassembly import Hit
from quality import minilm
from quality.data import QuestionSet
from quality.filling import Case, Fill, Strategy, cut, whole
from quality.metrics import Answer

NEEDS = "langchain_community"


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
    """MiniLM as LangChain asks for it; a text that comes again isn't embedded again."""
    from langchain_core.embeddings import Embeddings

    class Remembering(Embeddings):
        def __init__(self) -> None:
            self.known: dict[str, list[float]] = {}

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            new = [text for text in dict.fromkeys(texts) if text not in self.known]
            if new:
                self.known.update(zip(new, minilm.embed(new).tolist(), strict=True))
            return [self.known[text] for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    return Remembering()
