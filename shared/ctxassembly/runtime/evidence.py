"""`Evidence`: what an answer chain searches with and assembles by; and the evidence of an index.

An adapter makes it of its framework's retriever: the ports ask the retriever and its assembly, called or awaited.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ctxassembly.answering.requests import Assemble, Search
from ctxassembly.assembly.arguments import settings_of
from ctxassembly.assembly.call import System
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.data.filters import is_filter
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.data.trace import StageBegan, StageEnded
from ctxassembly.runtime.assemble import aassemble, assemble
from ctxassembly.runtime.driver import Port, adrive, drive, stage_ports
from ctxassembly.runtime.retrieve import aretrieve, retrieve


@dataclass(frozen=True, slots=True)
class Evidence:
    """What searches and assembles for an answer chain."""

    search: Port
    """From a `Search` to its `Retrieved`. Several searches may run at once."""
    assemble: Port
    """From an `Assemble` to its `Context`."""
    assembly: AssemblyConfig
    """The settings of the assembly: refusals are in its language, and prompts are held to the window of its budget."""
    depends_on: Callable[[], tuple[Mapping[str, Any], tuple[Any, ...]]]
    """All that the evidence depends on but the call and the index, for the key of a cached answer: settings, and the
    filters that apply in addition to the one of the call."""
    call_filter: Callable[[Any], Any] | None = None
    """From the filter of a call to the one that its requests carry; None leaves it as it is."""


def index_evidence(
    index: Any, retrieval: RetrievalConfig, assembly: AssemblyConfig | System, scorer: Any, arguments: Mapping[str, Any]
) -> Evidence:
    """Return the evidence of `index`; `arguments` are the other ones of `retrieve`, `scorer` is the assembly's."""

    def store(filter: Any) -> Any:
        if not has_chunks(index):
            return None
        if not is_filter(filter):
            return index
        return index.with_filter(filter) if hasattr(index, "with_filter") else None

    def arguments_of(request: Assemble) -> tuple[dict[str, Any]]:
        given = {
            "hits": request.hits,
            "config": request.limit_config(assembly),
            "query": request.query,
            "store": store(request.filter),
            "supplement": request.supplement,
            "conversation": request.conversation,
            "scorer": scorer,
        }
        return (given,)

    search: dict[str, Any] = {"config": retrieval, "index": index, **arguments}
    own = {"retrieval": retrieval, "assembly": assembly, "scorer": scorer}
    return Evidence(
        Port(partial(search_index, **search), partial(asearch_index, **search)),
        Port(lambda given: assemble(**given), lambda given: aassemble(**given)).taking(arguments_of),
        settings_of(assembly),
        lambda: (own | {name: one for name, one in arguments.items() if name != "on_stage"}, filters_of(index)),
    )


def has_chunks(index: Any) -> bool:
    """Return True if chunks can be fetched from `index`."""
    return hasattr(index, "fetch") or hasattr(index, "afetch")


def filters_of(index: Any) -> tuple[Any, ...]:
    """Return the filters that `index` itself has."""
    return getattr(index, "filters", None) or ()


def search_index(request: Search, config: RetrievalConfig, on_stage: Any = None, **arguments: Any) -> Retrieved:
    """Return what `retrieve` finds for one search of a question, as a stage if stages are observed."""

    def search(request: Search) -> Retrieved:
        return retrieve(**_retrieve_arguments(request, config, arguments), on_stage=on_stage)

    ports = {Search: Port(search), **stage_ports(on_stage, needs_sync=True)}
    return drive(_search_flow(request, is_observed=on_stage is not None), ports)


async def asearch_index(request: Search, config: RetrievalConfig, on_stage: Any = None, **arguments: Any) -> Retrieved:
    """Async version of `search_index`."""

    async def search(request: Search) -> Retrieved:
        return await aretrieve(**_retrieve_arguments(request, config, arguments), on_stage=on_stage)

    ports = {Search: Port(None, search), **stage_ports(on_stage, needs_sync=False)}
    return await adrive(_search_flow(request, is_observed=on_stage is not None), ports)


def _search_flow(request: Search, *, is_observed: bool) -> Generator[Search | StageBegan | StageEnded, Any, Retrieved]:
    """Return the reply to `request`, as a stage with the steps of its retrieval within."""
    if is_observed:
        yield StageBegan("retrieve", {"search": request.name, "query": request.question.effective_query})
    found: Retrieved = yield request
    if is_observed:
        yield StageEnded("retrieve", {"chunks": len(found.chunks), "queries": found.trace.round_trips})
    return found


def _retrieve_arguments(request: Search, config: RetrievalConfig, arguments: Mapping[str, Any]) -> dict[str, Any]:
    own = {"query": request.question, "config": _apply_mode(config, request)}
    return {**arguments, **own, **({} if request.mode.rerank else {"rerankers": ()})}


def _apply_mode(config: RetrievalConfig, request: Search) -> RetrievalConfig:
    """Return the retrieval settings for one search: of each setting of its mode and of `config` the wider one."""
    mode = request.mode
    limit = max(mode.limit or 0, config.limit)
    candidates = config.candidates
    if mode.candidates or candidates:
        candidates = max(mode.candidates or 0, config.candidates_per_channel, limit)
    floors = (config.min_similarity, mode.min_similarity)
    return replace(
        config,
        limit=limit,
        candidates=candidates,
        rerank_candidates=config.rerank_candidates and max(mode.candidates or 0, config.rerank_candidates),
        min_similarity=config.min_similarity if None in floors else min(floors),  # type: ignore[type-var]
    )
