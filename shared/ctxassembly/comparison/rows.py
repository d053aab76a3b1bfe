"""One row of a comparison, and the names of its documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from ctxassembly.context import Context
from ctxassembly.views.evidence import EvidenceMarks, LocatedEvidence, mark_evidence
from ctxassembly.views.html import format_number, truncate
from ctxassembly.wording.languages import LANGUAGES

MAX_LABELS = 12
"""Labels shown of each context."""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """The context of one configuration, in numbers.

    >>> from ctxassembly import AssemblyConfig, Chunk, Hit
    >>> from ctxassembly.comparison import compare
    >>> hits = [Hit(Chunk("a#0", "a", "Drink water.", 0)), Hit(Chunk("b#0", "b", "Eat nothing.", 0))]
    >>> for row in compare(hits, [AssemblyConfig(), AssemblyConfig(max_tokens=12)]).rows:
    ...     print(f"{row.name}: {row.tokens} tokens, {row.documents} of 2 documents")
    default: 20 tokens, 2 of 2 documents
    max_tokens=12: 10 tokens, 1 of 2 documents
    """

    name: str
    context: Context = field(repr=False)
    located_evidence: tuple[LocatedEvidence, ...] = field(default=(), repr=False)
    """The pieces of evidence, each with the places where it was found."""

    @property
    def tokens(self) -> int:
        """The tokens of the context."""
        return self.context.token_count

    @property
    def chunks(self) -> int:
        """The number of chunks with text of their own in the context."""
        return sum(decision.is_in_context for decision in self.context.trace.decisions)

    @property
    def documents(self) -> int:
        """The number of documents in the context."""
        return len({passage.document_id for passage in self.context.passages})

    @property
    def passages(self) -> int:
        """The number of passages in the context."""
        return len(self.context.passages)

    @property
    def mean_passage_chars(self) -> float:
        """The mean number of characters of a passage; 0 if there is none."""
        return fmean(len(passage.text) for passage in self.context.passages) if self.context.passages else 0.0

    @property
    def evidence(self) -> float | None:
        """The mean share of the evidence that the context has, 0 to 1; None if none was given."""
        return fmean(map(_share_read, self.located_evidence)) if self.located_evidence else None

    @property
    def order(self) -> tuple[tuple[str, str], ...]:
        """The document id and source of each label, in reading order."""
        return tuple((citation.document_id, citation.source) for citation in self.context.citations)

    @property
    def marks(self) -> EvidenceMarks:
        """The evidence as it is marked in the context."""
        return mark_evidence(self.located_evidence)

    @property
    def document_order(self) -> list[str]:
        """The document ids of the first `MAX_LABELS` labels."""
        return [document_id for document_id, _ in self.order[:MAX_LABELS]]

    @property
    def more_labels(self) -> str:
        """The number of labels after `document_order`, in words; empty for none."""
        rest = len(self.order) - MAX_LABELS
        return f" and {rest:,} more" if rest > 0 else ""


def _share_read(piece: LocatedEvidence) -> float:
    """Return the share of a span that the context has; a text counts whole or not at all."""
    return float(piece.share_read >= 1) if isinstance(piece.evidence, str) else piece.share_read


NUMBERS = ("tokens", "chunks", "documents", "passages", "mean run", "evidence")
"""The columns of the numbers of a row. A mean run is the mean number of characters of a passage."""


def row_numbers(row: ComparisonRow) -> tuple[str, ...]:
    """Return the numbers of `row`, in the order of `NUMBERS`."""
    counts = map(format_number, (row.tokens, row.chunks, row.documents, row.passages))
    return (*counts, format_number(row.mean_passage_chars, 0), format_number(row.evidence, 2))


def document_sources(rows: Sequence[ComparisonRow], max_labels: int | None = MAX_LABELS) -> dict[str, str]:
    """Return the names of the documents of the first `max_labels` of each row, by id, in the order of their letters.

    A document whose source is unknown is named by its id. None means all labels.
    """
    names: dict[str, str] = {}
    for row in rows:
        unknown = LANGUAGES[row.context.language].unknown
        for document_id, source in row.order[:max_labels]:
            names.setdefault(document_id, document_id if source == unknown else source)
    return names


def row_titles(rows: Sequence[ComparisonRow], max_chars: int) -> list[str]:
    """Return the names of `rows` in `max_chars` characters each; numbered if two would look the same."""
    short = [truncate(row.name, max_chars) for row in rows]
    return [
        name if short.count(name) == 1 else truncate(f"{number}. {name}", max_chars)
        for number, name in enumerate(short, 1)
    ]
