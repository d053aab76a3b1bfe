"""One row of a comparison, and the names of its documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ctxassembly.comparison.align import ContextSentence
from ctxassembly.context import Context
from ctxassembly.data.candidates import Shortening
from ctxassembly.data.citations import ContextData
from ctxassembly.data.trace import Decision
from ctxassembly.views.evidence import EvidenceMarks, LocatedEvidence, mark_evidence
from ctxassembly.views.html import truncate
from ctxassembly.views.limits import MAX_LABELS
from ctxassembly.wording.languages import LANGUAGES


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """The context of one configuration, in numbers.

    >>> from ctxassembly import AssemblyConfig, Chunk, Hit, compare
    >>> hits = [Hit(Chunk("a#0", "a", "Drink water.", 0)), Hit(Chunk("b#0", "b", "Eat nothing.", 0))]
    >>> for row in compare(hits, [AssemblyConfig(), AssemblyConfig(max_tokens=12)]).rows:
    ...     print(f"{row.name}: {row.tokens} tokens, {row.documents} of 2 documents")
    default: 20 tokens, 2 of 2 documents
    max_tokens=12: 10 tokens, 1 of 2 documents
    """

    name: str
    tokens: int
    chunks: int
    """Chunks with text of their own in the context."""
    documents: int
    passages: int
    mean_passage_chars: float
    """Mean number of characters of a passage; 0 if there is none."""
    evidence: float | None
    """Mean share of the evidence that stands in the context, 0 to 1; None if none was given."""
    order: tuple[tuple[str, str], ...]
    """Document id and source of each label, in reading order."""
    context: Context = field(repr=False)
    located_evidence: tuple[LocatedEvidence, ...] = field(default=(), repr=False)
    """The pieces of evidence, each with the places where it was found."""

    @property
    def marks(self) -> EvidenceMarks:
        """The evidence as it is marked in the context."""
        return mark_evidence(self.located_evidence)


def document_sources(rows: Sequence[ComparisonRow], max_labels: int | None = MAX_LABELS) -> dict[str, str]:
    """The names of the documents of the first `max_labels` of each row, by id, in the order of their letters.

    A document whose source is unknown is named by its id. None means all labels.
    """
    names: dict[str, str] = {}
    for row in rows:
        unknown = LANGUAGES[row.context.language].unknown
        for document_id, source in row.order[:max_labels]:
            names.setdefault(document_id, document_id if source == unknown else source)
    return names


def row_titles(rows: Sequence[ComparisonRow], max_chars: int) -> list[str]:
    """The names of `rows` in `max_chars` characters each; numbered if two would look the same."""
    short = [truncate(row.name, max_chars) for row in rows]
    return [
        name if short.count(name) == 1 else truncate(f"{place}. {name}", max_chars)
        for place, name in enumerate(short, 1)
    ]


_SHORTENING_REASONS: Mapping[Shortening, str] = {
    "budget": "cut to the budget",
    "max_chunk_tokens": "cut to max_chunk_tokens",
    "sentence": "other sentences of its chunk were chosen",
    "extractive": "compressed",
    "llm": "compressed by a model",
    "repeated": "a better-ranked passage has it",
}
MAX_REASONS = 2
"""Most reasons in a cell."""


@dataclass(frozen=True)
class AbsenceReasons:
    """The decisions of one context, by the chunk and the best first."""

    decisions: dict[str, Decision]

    @classmethod
    def from_context(cls, context: ContextData) -> AbsenceReasons:
        """Those of `context`."""
        first: dict[str, Decision] = {}
        for decision in context.trace.decisions:
            if decision.chunk_id not in first or decision.is_in_context:
                first[decision.chunk_id] = decision
        return cls(first)

    def explain(self, missing: Sequence[ContextSentence], present: frozenset[str]) -> str:
        """The reason why `missing` doesn't stand here, where the words of `present` stand.

        >>> AbsenceReasons({}).explain([ContextSentence("Drink water.", "Drink water.", "a#0")], frozenset())
        'not here: not fetched'
        """
        if all(one.normalized in present for one in missing):
            return "stands elsewhere in this document"
        chunks = dict.fromkeys(one.chunk_id for one in missing if one.normalized not in present)
        reasons = list(dict.fromkeys(self._reason(chunk_id) for chunk_id in chunks))
        more = f" and {len(reasons) - MAX_REASONS} more reasons" if len(reasons) > MAX_REASONS else ""
        return f"not here: {', '.join(reasons[:MAX_REASONS])}{more}"

    def _reason(self, chunk_id: str) -> str:
        decision = self.decisions.get(chunk_id)
        if decision is None:
            return "not fetched"
        if decision.outcome in ("cut", "compressed"):
            return next(
                (text for reason, text in _SHORTENING_REASONS.items() if reason == decision.reason), decision.reason
            )
        return "left out of its chunk" if decision.is_in_context else decision.reason
