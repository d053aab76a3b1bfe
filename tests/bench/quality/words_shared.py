"""Which questions share the fewest words with their evidence.

Most questions were written with the evidence in view, and choosing by words profits from that. Those that weren't, or
that don't look so, are reported apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from quality.baselines import stems
from quality.data import Question, QuestionSet


def shared(question: Question, questions: QuestionSet) -> float:
    """Share of the question's different words that stand in its evidence, by stems of six letters."""
    texts = (questions.documents[span.document_id].text[span.start : span.end] for span in question.evidence)
    asked = set(stems(question.text))
    return len(asked & {stem for text in texts for stem in stems(text)}) / max(len(asked), 1)


def lowest_third(asked: Sequence[Question], questions: QuestionSet) -> list[bool]:
    """For each of `asked` whether it is in the third that shares the fewest; of equal ones the first."""
    order = sorted(range(len(asked)), key=lambda at: shared(asked[at], questions))
    lowest = set(order[: len(asked) // 3])
    return [at in lowest for at in range(len(asked))]
