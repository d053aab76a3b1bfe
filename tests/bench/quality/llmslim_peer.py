"""llmslim: one budget for all hits, spent on the units that share the question's words.

Joined as its documentation does. It asks for a share of the tokens and doesn't count what joins the documents, so it is
asked for less until the text fits; its own `fit_text` does so, but lets 2 % through.
"""

from __future__ import annotations

from ctxassembly.tokens.counter import load_encoding
from quality.aligned import source_runs
from quality.data import QuestionSet
from quality.filling import EMPTY, ENCODING, Answer, Case, Fill, Strategy, count, joined, within

NEEDS = "llmslim"


def focused(_: QuestionSet) -> Strategy:
    """Return `compress_documents` with its own settings."""
    from llmslim import compress_documents

    load_encoding(ENCODING)  # else it may estimate

    def strategy(case: Case) -> Fill:
        chunks = [hit.chunk for hit in case.hits]
        total = sum(count(chunk.text) for chunk in chunks)

        def ask(room: int) -> Answer:
            if not chunks:
                return EMPTY
            texts = [chunk.text for chunk in chunks]
            found = compress_documents(texts, query=case.question.text, target_ratio=min(1.0, room / total))
            kept = [(each.compressed_text, chunk) for each, chunk in zip(found, chunks, strict=True)]
            return joined([Answer(text, source_runs(text, chunk)) for text, chunk in kept if text])

        return within(ask)

    return strategy
