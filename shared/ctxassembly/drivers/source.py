"""Where an answer chain gets its evidence: an index that is searched, and the assembly of what it finds."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ctxassembly.chain.carried import agreeing, as_stored, passing, refs_of
from ctxassembly.chain.reach import Hidden, Reach
from ctxassembly.chain.requests import Assemble, Readmit, Search
from ctxassembly.concurrency import in_thread
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.context import Context
from ctxassembly.conversations.labels import Labels
from ctxassembly.data.chunks import Hit
from ctxassembly.data.filters import as_predicate, combined
from ctxassembly.data.trace import StageBegan, StageEnded
from ctxassembly.drivers.assemble import aassemble, assemble
from ctxassembly.drivers.places import reach_over
from ctxassembly.drivers.retrieve import aretrieve, retrieve
from ctxassembly.drivers.watched import arun_watched, run_watched
from ctxassembly.retrieval.question import Question
from ctxassembly.retrieved import Retrieved


class EvidenceSource(Protocol):
    """What an answer chain searches with and assembles by. It may have `asearch` and `aassemble`, too.

    With `readmit(request)` it says which chunks of a conversation a call may read; without it they have to agree with
    a hit, as neighbours have to where the filter can't be seen. With `reach(filter)` it says what a call may read;
    without it no answer is cached.
    """

    def search(self, request: Search) -> Retrieved:
        """The hits for one search."""

    def assemble(self, request: Assemble) -> Context:
        """The context of the hits of all searches."""


@dataclass(frozen=True, slots=True)
class IndexSource:
    """An `EvidenceSource` over an index."""

    index: Any
    retrieval: RetrievalConfig
    assembly: AssemblyConfig
    labels: Labels | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    """The other arguments of `retrieve`."""
    scorer: Any = None
    """The scorer of the assembly."""

    def search(self, request: Search) -> Retrieved:
        """The hits for one search. It is a stage of its own: several may be under way at once."""
        on_stage = self.given.get("on_stage")
        return self._search(request) if on_stage is None else run_watched(_stage(request), self._search, on_stage)

    async def asearch(self, request: Search) -> Retrieved:
        """The same, awaited."""
        on_stage = self.given.get("on_stage")
        if on_stage is None:
            return await self._asearch(request)
        return await arun_watched(_stage(request), self._asearch, on_stage)

    def assemble(self, request: Assemble) -> Context:
        """The context, with neighbours from the index if it has them, held to the filter."""
        return assemble(request.hits, self.assembly, store=self._store(request), **self._assembled(request))

    async def aassemble(self, request: Assemble) -> Context:
        """The same, awaited."""
        store = self._store(request)
        return await aassemble(request.hits, self.assembly, store=store, **self._assembled(request))

    def readmit(self, request: Readmit) -> tuple[Hit, ...]:
        """Those of the chunks cited before that are in the index, and pass every filter of the call, as it has them."""
        store, cited = self._looked_up(request), self._readable(request)
        return as_stored(cited, store.fetch(refs_of(cited))) if hasattr(store, "fetch") else cited

    async def areadmit(self, request: Readmit) -> tuple[Hit, ...]:
        """The same, awaited."""
        store, cited = self._looked_up(request), self._readable(request)
        if store is None:
            return cited
        return as_stored(
            cited, await (store.afetch if hasattr(store, "afetch") else in_thread(store.fetch))(refs_of(cited))
        )

    def reach(self, filter: Any) -> Reach:
        """What a call with `filter` may read."""
        channels = {name: Hidden(f"channels[{name!r}]") for name in self.given.get("channels") or {}}
        return reach_over(self.index, filter, self.assembly, channels)

    def _looked_up(self, request: Readmit) -> Any:
        """The index held to the filter, if it can be, and can be asked for a chunk by its id."""
        return self._store(request) if hasattr(self.index, "under") else None

    def _readable(self, request: Readmit) -> tuple[Hit, ...]:
        """The same as far as it is known without asking: channels, or an index without `under`, may filter, too."""
        cited, channels = request.cited, self.given.get("channels")
        if self._looked_up(request) is None:
            conditions = (request.filter, *(getattr(self.index, "filters", None) or ()))
            cited = passing(cited, [as_predicate(condition) for condition in conditions])
        elif not channels:
            return cited
        return cited if self.assembly.neighbours == "unfiltered" else agreeing(cited, request.found, self.assembly)

    def _search(self, request: Search) -> Retrieved:
        return retrieve(narrowed(request), in_mode(self.retrieval, request), index=self.index, **self._given(request))

    async def _asearch(self, request: Search) -> Retrieved:
        given = self._given(request)
        return await aretrieve(narrowed(request), in_mode(self.retrieval, request), index=self.index, **given)

    def _given(self, request: Search) -> dict[str, Any]:
        return {**self.given, **({} if request.mode.rerank else {"rerankers": ()})}

    def _store(self, request: Assemble | Readmit) -> Any:
        if not (hasattr(self.index, "fetch") or hasattr(self.index, "afetch")):
            return None
        return self.index.under(request.filter) if hasattr(self.index, "under") else self.index

    def _assembled(self, request: Assemble) -> dict[str, Any]:
        return {"query": request.query, "supplement": request.supplement, "labels": self.labels, "scorer": self.scorer}


def _stage(request: Search) -> Generator[Search | StageBegan | StageEnded, Any, Retrieved]:
    """`request` as a stage, with the steps of its retrieval within."""
    yield StageBegan("retrieve", {"search": request.name, "query": request.question.meant})
    found: Retrieved = yield request
    yield StageEnded("retrieve", {"chunks": len(found.found), "queries": found.trace.round_trips})
    return found


def narrowed(request: Search) -> Question:
    """The question of a search, its filter narrowed by what the model inferred."""
    question, inferred = request.question, request.narrowed
    given: Any = as_predicate(inferred) if callable(question.filter) and inferred else inferred
    allowed = "a mapping or a function, where a model may narrow it (filter_fields)"
    return replace(question, filter=combined(question.filter, given, "filter", allowed, culprit=question.filter))


def in_mode(config: RetrievalConfig, request: Search) -> RetrievalConfig:
    """The settings of retrieval for one search: those of the mode in the place of its own."""
    mode = request.mode
    limit = mode.kept or config.limit
    candidates = mode.candidates or config.candidates
    similarity = config.min_similarity if mode.min_similarity is None else mode.min_similarity
    return replace(
        config,
        limit=limit,
        candidates=None if candidates is None else max(candidates, limit),
        rerank_candidates=mode.candidates or config.rerank_candidates,
        min_similarity=similarity,
        strategy="keyword" if request.by_words and config.strategy == "hybrid" else config.strategy,
    )
