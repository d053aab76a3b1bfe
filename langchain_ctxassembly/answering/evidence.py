"""The retriever of an answer chain or of a graph's node, with the assembler for what it finds.

A `ContextRetriever` brings its assembler along; any other retriever gets one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config

from ctxassembly.adapters.metadata import retriever_result
from ctxassembly.answering.cache import name_of
from ctxassembly.answering.requests import Assemble, Search
from ctxassembly.assembly.supplement import resolve_supplement
from ctxassembly.context import Context
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


Source: TypeAlias = ContextRetriever | ContextAssemblyRetriever


def source_of(retriever: Any, assembler: ContextAssembler | None) -> Source:
    """Return `retriever` if it is one of ours, else one of ours around it, with `assembler`.

    Raises:
        ConfigError: it is no retriever, it is one of ours that has a `k` for its labels, or an assembler is given for
            one of ours.
    """
    if not isinstance(retriever, Source):
        return ContextAssemblyRetriever(retriever=retriever, assembler=assembler or ContextAssembler())
    if assembler is not None:
        raise ConfigError("assembler", f"None with a {type(retriever).__name__}, which has one", assembler)
    if isinstance(retriever, ContextAssemblyRetriever) and retriever.k is not None:
        raise ConfigError("retriever.k", "None here, where the budget says how much is read", retriever.k)
    return retriever


def evidence_of(source: Source, config: RunnableConfig) -> Evidence:
    """Return what searches and assembles for a call in the run of `config`."""
    if isinstance(source, ContextAssemblyRetriever):
        return _retriever_evidence(source, config)

    def search(request: Search) -> Retrieved:
        return search_index(request, **source.search_arguments(), on_stage=Spans(ensure_config()).on_stage)

    async def asearch(request: Search) -> Retrieved:
        return await asearch_index(request, **source.search_arguments(), on_stage=Spans(ensure_config()).aon_stage)

    return Evidence(
        Port(search, asearch),
        _assembly_port(source, source.filtered_assembler, config),
        source.assembler.assembly_settings,
        lambda: (source.settings, (source.assembler.filter, filters_of(source.index))),
        source.call_filter,
    )


def _retriever_evidence(source: ContextAssemblyRetriever, config: RunnableConfig) -> Evidence:
    """Return the evidence of any other retriever: it takes a query, and a vector store's also `k` and a filter.

    Rerankers, similarity thresholds, boosts and keyword search are up to the retriever.
    """
    retriever: Any = source.retriever
    assembler = source.assembler

    def arguments(request: Search) -> dict[str, Any]:
        filters = filter_arguments(retriever, request.question.filter)
        if request.mode.limit is None or not isinstance(retriever, DIRECT_RETRIEVERS):
            return filters
        return {"k": max(retriever.search_kwargs.get("k", DEFAULT_K), request.mode.limit), **filters}

    def search(request: Search) -> Retrieved:
        found = retriever.invoke(request.question.effective_query, ensure_config(), **arguments(request))
        return _to_retrieved(source, request, found)

    async def asearch(request: Search) -> Retrieved:
        found = await retriever.ainvoke(request.question.effective_query, ensure_config(), **arguments(request))
        return _to_retrieved(source, request, found)

    def assembler_for(condition: Any) -> ContextAssembler:
        return assembler.limited_to(search_filter(retriever, filter_arguments(retriever, condition)))

    def depends_on() -> tuple[Mapping[str, Any], tuple[Any, ...]]:
        settings = {"retriever": name_of(retriever), "supplement": source.supplement, "assembler": assembler.settings}
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

    def prepare(request: Assemble) -> tuple[Runnable[Any, Context], dict[str, Any], RunnableConfig]:
        assembler = assembler_for(request.filter)
        limited = assembler.model_copy(update={"config": request.limit_config(assembler.config)})
        own = resolve_supplement(request.query, source.supplement)
        supplement = request.supplement if own is None else own
        inputs = assembler_inputs(request.hits, request.query, supplement, request.conversation)
        return limited.as_context(config={"run_name": "assemble"}), inputs, run_config

    port = Port(lambda run, *given: run.invoke(*given), lambda run, *given: run.ainvoke(*given))
    return port.taking(prepare)


def _to_retrieved(source: ContextAssemblyRetriever, request: Search, found: list[Document]) -> Retrieved:
    """Return the documents that a search found, as far as they pass the assembler's own filter."""
    assembler = source.assembler
    hits, supplement = read_documents(found, assembler.assembly_settings.keys)
    notes: list[str] = []
    try:
        if is_filter(assembler.filter):  # in the form of the store
            accepts = predicate(getattr(assembler.store, "vectorstore", None), assembler.filter)
            hits = [hit for hit in hits if accepts(document_of(hit))]
    except ConfigError:  # the filter is in a language that only the search understands
        notes = ["assembler.filter: only the search can apply it"]
    return retriever_result(request, hits, source.retriever, notes, () if supplement is None else (supplement,))
