"""Haystack's LostInTheMiddleRanker, which counts words itself, and its SentenceWindowRetriever, which doesn't count.

Haystack reports its use over the network unless told not to; importing this module tells it not to.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ctxassembly import Chunk, Hit
from quality.data import QuestionSet, Span
from quality.filling import Answer, Case, Fill, Strategy, cut, joined, whole

NEEDS = "haystack"
WORDS_A_TOKEN = 0.75
"""The usual rule of thumb for turning a token budget into the words that its ranker asks for."""

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")


def lost_in_the_middle(questions: QuestionSet) -> Strategy:
    """LostInTheMiddleRanker with its own threshold. What it gives is not cut, so that its violations can be seen."""
    from haystack.components.rankers import LostInTheMiddleRanker

    ranker = LostInTheMiddleRanker()

    def strategy(case: Case) -> Fill:
        documents = [_document(hit.chunk, hit.score) for hit in case.hits]

        def fill(budget: int) -> Answer:
            most = max(1, int(budget * WORDS_A_TOKEN))
            ranked = ranker.run(documents=documents, word_count_threshold=most)["documents"]
            return joined([whole(questions.chunks[document.id]) for document in ranked])

        return fill

    return strategy


def sentence_window(questions: QuestionSet) -> Strategy:
    """SentenceWindowRetriever with a window of one: each hit with its neighbors is a piece."""

    def strategy(case: Case) -> Fill:
        return windows(questions, store_around(questions, case.hits))(case)

    return strategy


def store_around(questions: QuestionSet, hits: Sequence[Hit]) -> Any:
    """A store of what the windows reach and no more, since it is filtered by reading all of it."""
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    near = {chunk.id: chunk for hit in hits for chunk in questions.around(hit.chunk, 1)}
    store = InMemoryDocumentStore()
    store.write_documents([_document(chunk) for chunk in near.values()])
    return store


def windows(questions: QuestionSet, store: Any) -> Strategy:
    """The same over a store that is at hand."""
    from haystack.components.retrievers import SentenceWindowRetriever

    retriever = SentenceWindowRetriever(document_store=store, window_size=1)

    def strategy(case: Case) -> Fill:
        found = retriever.run(retrieved_documents=[_document(hit.chunk) for hit in case.hits])
        texts = found["context_windows"]
        runs = [_merged(questions.around(hit.chunk, 1)) for hit in case.hits]
        return cut([Answer(*each) for each in zip(texts, runs, strict=True)])

    return strategy


def _merged(chunks: list[Chunk]) -> tuple[Span, ...]:
    """What its merging leaves of each chunk: the part behind the end of the chunk before."""
    runs, end = [], 0
    for chunk in sorted(chunks, key=lambda each: each.start or 0):
        begin, end = max(chunk.start or 0, end), (chunk.start or 0) + len(chunk.text)
        if begin < end:
            runs.append(Span(chunk.document_id, begin, end))
    return tuple(runs)


def _document(chunk: Chunk, score: float | None = None) -> Any:
    from haystack import Document

    meta = {"source_id": chunk.document_id, "split_id": chunk.index, "split_idx_start": chunk.start}
    return Document(id=chunk.id, content=chunk.text, meta=meta, score=score)
