"""trimwise: passages of all hits under one limit, chosen by the question's words, or by words and vectors.

It counts the rendered text exactly and stops where nothing more is relevant enough: its limit is no target.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxassembly import Chunk
from ctxassembly.tokens.counter import load_encoding
from quality import minilm
from quality.data import QuestionSet, Span
from quality.filling import ENCODING, SEPARATOR, Answer, Case, Fill, Strategy

NEEDS = "trimwise"


def auto(_: QuestionSet) -> Strategy:
    """Return its default, which with a question ranks by words."""
    return _trimmed("auto")


def hybrid(_: QuestionSet) -> Strategy:
    """Return words and vectors together. The vectors are all-MiniLM-L6-v2's, as of the other peers here."""
    return _trimmed("hybrid")


def _trimmed(name: str) -> Strategy:
    from trimwise import TrimConfig, Trimmer

    load_encoding(ENCODING)
    trimmer = Trimmer(TrimConfig(token_encoding=ENCODING), embedding_callback=_embedded)

    def strategy(case: Case) -> Fill:
        chunks = [hit.chunk for hit in case.hits]
        texts = [chunk.text for chunk in chunks]

        def fill(budget: int) -> Answer:
            asked = {"strategy": name, "query": case.question.text, "separator": SEPARATOR}
            found = trimmer.trim_context(texts, budget, **asked)
            runs = (run for source in found.sources for run in _runs(source, chunks[source.source_index]))
            return Answer(found.text or "", tuple(runs))

        return fill

    return strategy


def _runs(source: Any, chunk: Chunk) -> list[Span]:
    start = chunk.start or 0
    return [Span(chunk.document_id, start + span.start, start + span.end) for span in source.spans]


def _embedded(query: str, passages: Sequence[str]) -> tuple[Any, Any]:
    vectors = minilm.embed_cached([query, *passages])
    return vectors[0], vectors[1:]
