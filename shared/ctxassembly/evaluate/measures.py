"""The measures of one result for one question."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ctxassembly.evaluate.corpus import Corpus, Located, locate
from ctxassembly.evaluate.meter import size
from ctxassembly.evaluate.questions import Evidence, LabeledQuestion
from ctxassembly.evaluate.systems import SystemResult
from ctxassembly.text.words import normalize_wording, words
from ctxassembly.tokens.counter import counter_for
from ctxassembly.wording.languages import LANGUAGES, stop_words

DEPTHS = (125, 250, 500, 1_000, 2_000, 4_000)
"""Tokens from the beginning of a context."""


ABSTENTIONS = tuple(
    normalize_wording(
        "i don't know|i do not know|empty response|ik weet het niet|ich weiß es nicht|das weiß ich nicht|je ne sais pas"
        "|no lo sé"
    ).split("|")
)
"""The beginnings of answers that prompts of others ask for; LlamaIndex answers "Empty Response" without nodes."""


class Measure(NamedTuple):
    """The name of a measure in tables, and how its values are written."""

    title: str
    decimals: int = 3


MEASURES: Mapping[str, Measure] = {
    "recall": Measure("evidence recall"),
    "complete": Measure("all evidence in the context"),
    "tokens": Measure("tokens", 0),
    "recall_per_1000_tokens": Measure("recall per 1,000 tokens"),
    **{f"within_{depth}": Measure(f"all evidence in the first {depth:,} tokens") for depth in DEPTHS},
    "duplicates": Measure("duplicates"),
    "clean": Measure("clean borders"),
    "stretch_length": Measure("characters of a stretch", 0),
    "over_budget": Measure("over the budget"),
    "citations": Measure("citations right"),
    "abstention": Measure("abstention right"),
    "answer": Measure("answer right, by the judge"),
    "seconds": Measure("seconds"),
    "cost": Measure("cost in US dollars", 5),
}
"""By name, in the order of the tables. The documentation describes each."""
Values = dict[str, float | None]
"""The measures of one result by name; None where there is nothing to measure."""


@dataclass(frozen=True)
class Measuring:
    """What results are measured with."""

    corpus: Corpus
    encoding: str | Callable[[str], int] = "cl100k_base"
    budget: int | None = None

    def count(self, text: str) -> int:
        """Return the tokens of `text`."""
        return counter_for(self.encoding).count(text)

    def measure(self, question: LabeledQuestion, result: SystemResult) -> Values:
        """Return the measures of `result` that need no model."""
        tokens = self.count(result.text)
        located = locate(question.evidence, result.pieces, self.corpus)
        recall, end = _recall(question, result, located)
        depth = None if end is None else self.count(result.text[:end])
        is_reached = [float(depth is not None and depth <= most) for most in DEPTHS] if recall is not None else []
        return {
            "recall": recall,
            "complete": None if recall is None else float(end is not None),
            "tokens": float(tokens),
            "recall_per_1000_tokens": None if recall is None else 1000 * recall / tokens if tokens else 0.0,
            **{f"within_{most}": reached for most, reached in zip(DEPTHS, is_reached, strict=False)},
            "duplicates": located.meter.duplicates(located.places) if result.pieces else None,
            "clean": self.corpus.borders.clean_share(located.runs) if located.is_placed else None,
            "stretch_length": located.meter.stretch_length(located.places),
            "over_budget": None if self.budget is None else float(tokens > self.budget),
            "citations": _right_citations(question.evidence, result, located),
            "abstention": _right_abstention(question, result),
            "seconds": result.seconds,
        }


def _recall(question: LabeledQuestion, result: SystemResult, located: Located) -> tuple[float | None, int | None]:
    """Return the share of the evidence in the context, and the characters up to its end; None for no evidence.

    The end is None if some evidence is missing.
    """
    if located.evidence:
        # A quotation counts wherever its words are, however short it is.
        least = 0 if all(one.quotation is not None for one in question.evidence) else None
        end = located.meter.evidence_end(located.evidence, located.marks, result.text, least)
        return located.meter.recall(located.evidence, located.marks, least), end
    if question.answer and question.is_answerable:
        return _answer_words(question.answer, result.text)
    return None, None


def _answer_words(answer: str, text: str) -> tuple[float, int | None]:
    """Return the share of the words of `answer` that `text` has, without stop words, and the end of the last."""
    wanted = frozenset(words(answer))
    wanted = wanted - stop_words(wanted) or wanted
    if not wanted:
        return 0.0, None

    def share(chars: int) -> float:
        return len(wanted.intersection(words(text[:chars]))) / len(wanted)

    found = share(len(text))
    return found, bisect_left(range(len(text) + 1), True, key=lambda chars: share(chars) == 1) if found == 1 else None


def _right_citations(evidence: Sequence[Evidence], result: SystemResult, located: Located) -> float | None:
    """Return the share of the labels in the answer whose source has evidence; None if there are none to check."""
    labels = result.cited_labels
    if not labels or not located.evidence:
        return None
    marked = {(one.kind, one.chunk_id if one.kind == "chunk" else one.document_id) for one in evidence}
    right = 0
    for label in labels:
        spans = zip(result.pieces, located.runs, located.places, strict=True)
        cited = [each for each in spans if each[0].label == label]
        ids = {id_ for piece, *_ in cited for id_ in (("document", piece.document_id), ("chunk", piece.chunk_id))}
        by_id = not marked.isdisjoint(ids)
        own = [located.meter.dense.span(span) for _, *both in cited for span in both]
        right += by_id or size(located.meter.found(located.evidence, own)) > 0
    return right / len(labels)


def _right_abstention(question: LabeledQuestion, result: SystemResult) -> float | None:
    """Return 1 if the system abstains where there is no answer, and answers where there is one; else 0.

    A context without text abstains, too. None if a system that only gives contexts is asked what has an answer.
    """
    if result.answer is None:
        return None if question.is_answerable else float(not result.text.strip())
    return float(has_abstained(result) != question.is_answerable)


def has_abstained(result: SystemResult) -> bool:
    """Return True if the answer of `result` is that there is none.

    That is an empty answer, the sentence that our prompts ask for, or one that begins with one of `ABSTENTIONS`.

    >>> [has_abstained(SystemResult("", answer=answer)) for answer in ("I don't know.", "Two hours.")]
    [True, False]
    """
    if result.abstained is not None:
        return result.abstained
    answer = normalize_wording(result.answer or "")
    asked_for = (normalize_wording(one.not_enough).rstrip(".") for one in LANGUAGES.values())
    return not answer or answer.startswith(ABSTENTIONS) or any(sentence in answer for sentence in asked_for)
