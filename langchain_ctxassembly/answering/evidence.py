"""The retriever of an answer chain or of a graph's node, with the assembler for what it finds.

A `ContextRetriever` brings its assembler along; any other retriever gets one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, NamedTuple

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langchain_core.runnables.config import ensure_config

from ctxassembly.adapters.metadata import retriever_result
from ctxassembly.answering.cache import name_of
from ctxassembly.answering.requests import Assemble, Search
from ctxassembly.assembly.selection.supplement import SupplementInput, resolve_supplement
from ctxassembly.context import Context
from ctxassembly.data.chunks import Hit
from ctxassembly.data.filters import is_filter
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.errors import ConfigError
from ctxassembly.runtime.driver import Port
from ctxassembly.runtime.evidence import Evidence, asearch_index, filters_of, search_index
from langchain_ctxassembly.assembler import ContextAssembler, assembler_inputs
from langchain_ctxassembly.context_retriever import ContextRetriever
from langchain_ctxassembly.convert.documents import document_of, read_documents
from langchain_ctxassembly.retriever import ContextAssemblyRetriever
from langchain_ctxassembly.search import DIRECT_RETRIEVERS, filter_arguments, search_filter
from langchain_ctxassembly.spans import Spans
from langchain_ctxassembly.stores.filters import predicate

DEFAULT_K = 4
"""The number of documents that vector stores find by default."""


class Source(NamedTuple):
    """A retriever, with the assembler and the supplement for what it finds."""

    retriever: Any
    assembler: ContextAssembler
    supplement: SupplementInput = None


def source_of(retriever: Any, assembler: ContextAssembler | None) -> Source:
    """Return `retriever` with its assembler.

    Raises:
        ConfigError: `retriever` is not a retriever; `assembler` is not a ContextAssembler, or has configurable fields;
            or an assembler is given for a retriever that has one.
    """
    if not (assembler is None or isinstance(assembler, ContextAssembler)):
        hint = "; a filter can be given in each call, and for other settings a chain can be made for each"
        allowed = "a ContextAssembler without configurable fields, or None"
        raise ConfigError("assembler", allowed, assembler, hint if isinstance(assembler, Runnable) else "")
    if isinstance(retriever, (ContextRetriever, ContextAssemblyRetriever)) and assembler is not None:
        raise ConfigError("assembler", f"None with a {type(retriever).__name__}, which has one", assembler)
    if isinstance(retriever, ContextRetriever):
        return Source(retriever, retriever.assembler, retriever.supplement)
    if isinstance(retriever, ContextAssemblyRetriever):
        if retriever.k is not None:
            raise ConfigError("retriever.k", "None in an answer chain, whose modes set how much is kept", retriever.k)
        return Source(retriever.retriever, retriever.assembler, retriever.supplement)
    if not isinstance(retriever, Runnable):
        raise ConfigError("retriever", "a retriever, or another Runnable from a query to documents", retriever)
    return Source(retriever, assembler or ContextAssembler())


def evidence_of(source: Source, config: RunnableConfig) -> Evidence:
    """Return what searches and assembles for a call in the run of `config`."""
    if isinstance(source.retriever, ContextRetriever):
        return _context_retriever_evidence(source, source.retriever, config)
    return _retriever_evidence(source, config)


def _context_retriever_evidence(source: Source, retriever: ContextRetriever, config: RunnableConfig) -> Evidence:
    """Return the evidence of a `ContextRetriever`, which takes modes, filters, intents and boosts."""

    def search(request: Search) -> Retrieved:
        return search_index(request, **retriever.search_arguments(), on_stage=Spans(ensure_config()).on_stage)

    async def asearch(request: Search) -> Retrieved:
        return await asearch_index(request, **retriever.search_arguments(), on_stage=Spans(ensure_config()).aon_stage)

    return Evidence(
        Port(search, asearch),
        _assembly_port(source, retriever.filtered_assembler, config),
        source.assembler.assembly_settings,
        lambda: (retriever.settings, (source.assembler.filter, filters_of(retriever.index))),
        retriever.call_filter,
    )


def _retriever_evidence(source: Source, config: RunnableConfig) -> Evidence:
    """Return the evidence of any other retriever: it takes a query, and a vector store's also `k` and a filter.

    A `k` is only passed to a retriever whose own number is known, so that no mode finds less than it does by itself.
    Rerankers, similarity thresholds, boosts and keyword search are up to the retriever.
    """
    retriever, assembler, supplement = source

    def search(request: Search) -> Retrieved:
        query, arguments = request.question.effective_query, _search_arguments(retriever, request)
        return _to_retrieved(source, request, retriever.invoke(query, ensure_config(), **arguments))

    async def asearch(request: Search) -> Retrieved:
        query, arguments = request.question.effective_query, _search_arguments(retriever, request)
        return _to_retrieved(source, request, await retriever.ainvoke(query, ensure_config(), **arguments))

    def assembler_for(condition: Any) -> ContextAssembler:
        return assembler.limited_to(search_filter(retriever, filter_arguments(retriever, condition)))

    def depends_on() -> tuple[Mapping[str, Any], tuple[Any, ...]]:
        settings = {"retriever": name_of(retriever), "supplement": supplement, "assembler": assembler.settings}
        if isinstance(retriever, DIRECT_RETRIEVERS):
            settings |= {"type": retriever.search_type, "arguments": retriever.search_kwargs}
        own = search_filter(retriever)
        return settings, (assembler.filter, own.condition if own else None)

    return Evidence(
        Port(search, asearch),
        _assembly_port(source, assembler_for, config),
        assembler.assembly_settings,
        depends_on,
        lambda condition: condition if filter_arguments(retriever, condition) else None,
    )


def _assembly_port(
    source: Source, assembler_for: Callable[[Any], ContextAssembler], run_config: RunnableConfig
) -> Port:
    """Return the port that assembles, in a run below the run of `run_config`.

    `assembler_for` returns the assembler whose neighbors must pass the filters of a call and of the search.
    """

    def prepare(request: Assemble) -> tuple[RunnableLambda[Any, Context], Mapping[str, Any]]:
        assembler = assembler_for(request.filter)
        config = request.limit_config(assembler.config)
        if config is not assembler.config:
            assembler = assembler.model_copy(update={"config": config})
        runnable = RunnableLambda(assembler.assemble_context, assembler.aassemble_context, name="assemble")
        own = resolve_supplement(request.query, source.supplement)
        supplement = request.supplement if own is None else own
        return runnable, assembler_inputs(request.hits, request.query, supplement, request.conversation)

    def assemble(request: Assemble) -> Context:
        runnable, inputs = prepare(request)
        return runnable.invoke(inputs, run_config)

    async def aassemble(request: Assemble) -> Context:
        runnable, inputs = prepare(request)
        return await runnable.ainvoke(inputs, run_config)

    return Port(assemble, aassemble)


def _search_arguments(retriever: Any, request: Search) -> dict[str, Any]:
    own, wanted = _own_limit(retriever), request.mode.limit
    limit = {} if own is None or wanted is None else {"k": max(own, wanted)}
    return {**limit, **filter_arguments(retriever, request.question.filter)}


def _to_retrieved(source: Source, request: Search, found: list[Document]) -> Retrieved:
    found_hits, supplement = read_documents(found, source.assembler.assembly_settings.keys)
    hits, facts = tuple(found_hits), () if supplement is None else (supplement,)
    try:
        hits, notes = _apply_assembler_filter(source.assembler, hits), []
    except ConfigError:  # the filter is in a language that only the search understands
        notes = ["assembler.filter: only the search can apply it"]
    return retriever_result(request, hits, source.retriever, notes, facts)


def _apply_assembler_filter(assembler: ContextAssembler, cited: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Return the hits of `cited` that pass the assembler's own filter, in the form of its store."""
    if not is_filter(assembler.filter):
        return cited
    accepts = predicate(getattr(assembler.store, "vectorstore", None), assembler.filter)
    return tuple(hit for hit in cited if accepts(document_of(hit)))


def _own_limit(retriever: Any) -> int | None:
    """Return the number of documents that `retriever` finds by itself, if a call can change it by `k`; else None."""
    if isinstance(retriever, DIRECT_RETRIEVERS):
        limit = retriever.search_kwargs.get("k", DEFAULT_K)
    elif isinstance(retriever, BaseRetriever):
        parameter = signature(retriever._get_relevant_documents).parameters.get("k")  # noqa: SLF001
        limit = None if parameter is None else getattr(retriever, "k", None) or parameter.default
    else:
        return None
    return limit if isinstance(limit, int) else None
