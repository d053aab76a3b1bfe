"""Which words of a question go to which search, and with what weight.

| search | vectors | keywords | rescue | weight |
|---|---|---|---|---|
| the question, rewritten if it was | rewritten, with names | the same, names of both | of both | 1.3, in parts .5 |
| the original, if it was rewritten | original | original | original | .5 |
| each keyword query | - | its words | its words | 1 |
| each sub-question | its words | its words | its words | 1 |

The first row's columns are those of `Question`. The weights are Onyx's for a rewritten question, keyword queries and
the original. A question that has parts counts less than they do: `merge` has the figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxassembly.chain.requests import Exchange, Search
from ctxassembly.config.answering import Mode
from ctxassembly.config.retrieval import Boost
from ctxassembly.data.retrieval import Understanding
from ctxassembly.retrieval.question import Question

MEANT, ORIGINAL, OTHERS = 1.3, 0.5, 1.0
CONTINUITY = 1.25
"""The published factor for documents of the conversation."""


def searches_for(
    question: str, understood: Understanding, history: Sequence[Exchange], mode: Mode, filter: Any
) -> list[Search]:
    """The searches for a question, the one that is meant first."""

    def search(name: str, asked: Question, weight: float, *, by_words: bool = False) -> Search:
        return Search(name, asked, mode, weight, understood.filter, by_words)

    boosts = _continuity(understood, history)
    meant = Question(question, understood.rewritten, understood.intent, boosts, filter)
    searches = [search("question", meant, ORIGINAL if understood.sub_questions else MEANT)]
    if understood.rewritten:
        searches.append(search("original", Question(question, intent=understood.intent, filter=filter), ORIGINAL))
    for words in understood.keywords:
        asked = Question(words, intent=understood.intent, filter=filter)
        searches.append(search(f"keywords: {words}", asked, OTHERS, by_words=True))
    parts = [(part, Question(part, intent=understood.intent, filter=filter)) for part in understood.sub_questions]
    return [*searches, *(search(part, asked, OTHERS) for part, asked in parts)]


def _continuity(understood: Understanding, history: Sequence[Exchange]) -> tuple[Boost, ...]:
    """A boost for the documents cited last, if the question leans on the conversation."""
    if not (understood.rewritten and history):
        return ()
    documents = sorted({hit.chunk.document_id for hit in history[-1].cited})
    where: Mapping[str, Any] = {"document_id": documents}
    return (Boost("conversation", CONTINUITY, where),) if documents else ()
