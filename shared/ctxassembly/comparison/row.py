"""One row of a comparison, and the names of its documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ctxassembly.comparison.align import Sentence
from ctxassembly.context import Context
from ctxassembly.data.candidates import Shortening
from ctxassembly.data.citations import Assembled
from ctxassembly.data.trace import Decision
from ctxassembly.views.evidence import Located, Marks, marks
from ctxassembly.views.html import shortened
from ctxassembly.views.limits import ORDER_LABELS
from ctxassembly.wording.languages import LANGUAGES


@dataclass(frozen=True, slots=True)
class Compared:
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
    mean_run_chars: float
    """Mean number of characters of a passage; 0 if there is none."""
    evidence: float | None
    """Mean share of the evidence that stands in the context, 0 to 1; None if none was given."""
    order: tuple[tuple[str, str], ...]
    """Document id and source of each label, in reading order."""
    context: Context = field(repr=False)
    located: tuple[Located, ...] = field(default=(), repr=False)
    """The pieces of evidence, each with the places where it was found."""

    @property
    def marks(self) -> Marks:
        """The evidence as it is marked in the context."""
        return marks(self.located)


def sources(rows: Sequence[Compared], labels: int | None = ORDER_LABELS) -> dict[str, str]:
    """The names of the documents of the first `labels` of each row, by id, in the order of their letters.

    A document whose source is unknown is named by its id. None means all labels.
    """
    found: dict[str, str] = {}
    for row in rows:
        unknown = LANGUAGES[row.context.language].unknown
        for document_id, source in row.order[:labels]:
            found.setdefault(document_id, document_id if source == unknown else source)
    return found


def titles(rows: Sequence[Compared], limit: int) -> list[str]:
    """The names of `rows` in `limit` characters each; numbered if two would look the same."""
    short = [shortened(row.name, limit) for row in rows]
    return [
        name if short.count(name) == 1 else shortened(f"{place}. {name}", limit) for place, name in enumerate(short, 1)
    ]


_SHORTENED: Mapping[Shortening, str] = {
    "budget": "cut to the budget",
    "max_chunk_tokens": "cut to max_chunk_tokens",
    "sentence": "other sentences of its chunk were chosen",
    "extractive": "compressed",
    "llm": "compressed by a model",
    "repeated": "a better-ranked passage has it",
}
REASONS = 2
"""Most reasons in a cell."""


@dataclass(frozen=True)
class Absent:
    """The decisions of one context, by the chunk and the best first."""

    decisions: dict[str, Decision]

    @classmethod
    def of(cls, context: Assembled) -> Absent:
        """Those of `context`."""
        found: dict[str, Decision] = {}
        for decision in context.trace.decisions:
            if decision.chunk_id not in found or decision.stands:
                found[decision.chunk_id] = decision
        return cls(found)

    def why(self, lacking: Sequence[Sentence], known: frozenset[str]) -> str:
        """The reason why `lacking` doesn't stand here, where the words of `known` stand.

        >>> Absent({}).why([Sentence("Drink water.", "Drink water.", "a#0")], frozenset())
        'not here: not fetched'
        """
        if all(one.words in known for one in lacking):
            return "stands elsewhere in this document"
        chunks = dict.fromkeys(one.chunk_id for one in lacking if one.words not in known)
        reasons = list(dict.fromkeys(self._reason(chunk_id) for chunk_id in chunks))
        more = f" and {len(reasons) - REASONS} more reasons" if len(reasons) > REASONS else ""
        return f"not here: {', '.join(reasons[:REASONS])}{more}"

    def _reason(self, chunk_id: str) -> str:
        decision = self.decisions.get(chunk_id)
        if decision is None:
            return "not fetched"
        if decision.outcome in ("cut", "compressed"):
            return next((said for reason, said in _SHORTENED.items() if reason == decision.reason), decision.reason)
        return "left out of its chunk" if decision.stands else decision.reason
