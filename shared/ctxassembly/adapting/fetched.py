"""The outcome of a retriever of another make, as an answer chain reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ctxassembly.chain.requests import Search
from ctxassembly.data.chunks import Hit
from ctxassembly.data.filters import as_predicate
from ctxassembly.data.retrieval import RetrievalTrace
from ctxassembly.retrieved import Retrieved


@dataclass(frozen=True, slots=True)
class Fetched(Retrieved):
    """Hits that nobody explains: the retriever's, in its order, with the scores that it gave, if any."""

    given: tuple[Hit, ...] = ()

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits for assembly."""
        return self.given


def fetched(
    request: Search,
    hits: Iterable[Hit],
    retriever: object,
    notes: Sequence[str] = (),
    facts: tuple[str, ...] = (),
) -> Fetched:
    """The first `mode.kept` of `hits` that pass the filter which a model inferred.

    The caller's own filter is the retriever's to apply. `notes` are for the trace, `facts` for a supplement.
    """
    passes = as_predicate(request.narrowed)
    kept = tuple(hit for hit in hits if passes(hit.chunk))[: request.mode.kept]
    by = f"searched by {type(retriever).__name__}"
    words = request.question.meant
    trace = RetrievalTrace("other", notes=(by, *notes), round_trips=1)
    return Fetched(words, (), trace, facts, intent=request.question.intent, given=kept)
