"""One row of a comparison, and the names of its documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ctxassembly.context import Context
from ctxassembly.inspect.evidence import Located
from ctxassembly.inspect.limits import ORDER_LABELS
from ctxassembly.inspect.marks import Marks, marks
from ctxassembly.inspect.markup import shortened
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
