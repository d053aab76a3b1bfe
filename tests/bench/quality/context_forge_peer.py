"""context-forge-py: whole hits by BM25 and maximal marginal relevance.

It estimates tokens from characters unless chunks come with a count. They do, so that its budget is everyone's.
"""

from __future__ import annotations

from quality.data import QuestionSet
from quality.filling import SEPARATOR, Answer, Case, Fill, Strategy, count, joined, whole, within

NEEDS = "context_forge"


def forged(questions: QuestionSet) -> Strategy:
    """Return `forge` with its own settings; its blocks are joined as those of LangChain and LlamaIndex."""
    from context_forge import forge

    def strategy(case: Case) -> Fill:
        texts = ((hit.chunk.id, hit.chunk.text) for hit in case.hits)
        chunks = [{"id": id_, "text": text, "tokens": count(text + SEPARATOR)} for id_, text in texts]

        def ask(room: int) -> Answer:
            blocks = forge(chunks, case.question.text, budget=room).blocks
            return joined([whole(questions.chunks[block["id"]]) for block in blocks])

        return within(ask)

    return strategy
