"""One call of `assemble` as the flow of a system sees it: a published system, or a caller's own.

A flow is a generator. It yields what it needs (chunks, vectors, answers of a model) and returns the context. `Call` has
what came in, asks for chunks and vectors, times the stages, and keeps the reason for each chunk that is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

from ctxassembly.assembly.dedup.dedup import Duplicates
from ctxassembly.assembly.dedup.semantic import Vector, request_vectors
from ctxassembly.assembly.expansion.admit import AdmittedHits
from ctxassembly.assembly.expansion.expand import expand_hits
from ctxassembly.assembly.expansion.fetch import StoreTraits, fetch_policy
from ctxassembly.assembly.supplement import Supplement
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.data.candidates import OUTSIDE_WINDOW, OVER_BUDGET, Candidate, Reason
from ctxassembly.data.requests import Request
from ctxassembly.tracing import TraceRecorder

Items = TypeVar("Items", bound=Sequence[Any])
Result = TypeVar("Result", bound=Sequence[Any])
SystemFlow = Generator[Request, Any, Context]


@runtime_checkable
class System(Protocol):
    """An assembly of its own: a published system, or a class of the caller.

    Its attributes `keys` (`MetadataKeys`) and `neighbors` ("auto", "filtered", "unfiltered") are respected, if it has
    them.
    """

    def flow(self, call: Call) -> SystemFlow:
        """Yield requests, and return the context."""


@dataclass(frozen=True, slots=True)
class Call:
    """The arguments of `assemble` for a flow, and the record of what the flow does with them."""

    hits: tuple[Candidate, ...]
    """The hits that have text, best first. Each has its `chunk`, `score`, `rank` and `text`."""
    query: str | None = None
    supplement: Supplement | None = None
    """Text that is in no chunk; None if there is none."""
    store: StoreTraits | None = None
    """What the store can do; None if neighbors can't be fetched."""
    can_embed: bool = False
    can_compress: bool = False
    first_label: int = 1
    """The number of the first label: a conversation continues its numbering."""
    admitted: AdmittedHits = field(default=AdmittedHits((), (), ()), repr=False)
    """All hits as they came, and those without text."""
    log: TraceRecorder = field(default_factory=lambda: TraceRecorder(lambda: 0.0), repr=False)
    neighbors: list[Candidate] = field(default_factory=list, repr=False)
    """All chunks that the store returned."""
    drops: dict[int, tuple[Reason, Candidate | None]] = field(default_factory=dict, repr=False)
    """What was given to `drop`, by the key of the candidate: the reason, and the chunk that made it superfluous."""

    def stage(self, name: str, items: Items, function: Callable[[Items], Result]) -> Generator[Request, Any, Result]:
        """Return `function(items)` as a stage of its own in the trace: `kept = yield from call.stage(...)`."""
        yield from self.log.begin(name, _count(items))
        result = function(items)
        yield from self.log.end(_count(result))
        return result

    def drop(self, candidate: Candidate, reason: Reason = OVER_BUDGET, because_of: Candidate | None = None) -> None:
        """Record why `candidate` is left out. One that is left out without a reason is in the trace as "budget"."""
        self.drops[candidate.key] = reason, because_of

    def note(self, text: str) -> None:
        """Add a line to the notes of the trace."""
        self.log.notes.append(text)

    def expand(
        self, hits: Sequence[Candidate], window: int, system: object = None
    ) -> Generator[Request, Any, tuple[Candidate, ...]]:
        """Return `hits`, followed by the chunks within `window` of one, each with its position in its document.

        A neighbor has half the score of its best hit for each step. It passes the same checks as in the
        default pipeline: the caller's filter, or agreement with its hit. `keys` and `neighbors` come from `system`.
        """
        own = {name: getattr(system, name) for name in ("keys", "neighbors") if hasattr(system, name)}
        config = AssemblyConfig(window=window, dedup="none", **own)
        duplicates = Duplicates(config, self.log, can_embed=False)
        policy = fetch_policy(config, None, self.store)
        admitted = self.admitted._replace(candidates=tuple(hits))
        found, usable = yield from expand_hits(admitted, config, None, policy, duplicates, self.log)
        self.neighbors.extend(found)
        for far in (candidate for candidate in found if candidate.distance > window):
            self.drop(far, OUTSIDE_WINDOW)
        return tuple(candidate for candidate in usable if candidate.distance <= window)

    def embed(self, candidates: Iterable[Candidate]) -> Generator[Request, Any, dict[int, Vector]]:
        """Return the vectors of `candidates`, scaled to length 1, by key: their own, or those that `embeddings` gives.

        One without a vector is left out, and a note counts them.
        """
        return (yield from request_vectors(tuple(candidates), self.log.notes, can_embed=self.can_embed))


def _count(items: Sequence[Any]) -> int:
    """Return the number of chunks among `items`: chunks, groups of them, or blocks."""
    return sum(1 if isinstance(item, Candidate) else len(getattr(item, "candidates", item)) for item in items)
