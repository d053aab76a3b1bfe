"""The retriever of an answer chain, with the postprocessor for what it finds.

A `ContextRetriever` brings its postprocessor along; any other retriever gets one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import NoneType
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.indices.vector_store.retrievers import VectorIndexRetriever
from llama_index.core.schema import NodeWithScore
from llama_index.core.vector_stores.types import MetadataFilters

from ctxassembly.adapters.metadata import retriever_result
from ctxassembly.answering.requests import Assemble, Search
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.errors import ConfigError
from ctxassembly.runtime.driver import Port
from ctxassembly.runtime.evidence import Evidence, asearch_index, filters_of, search_index
from llamaindex_ctxassembly.context_retriever import ContextRetriever, configure_retriever
from llamaindex_ctxassembly.convert.models import check_kind
from llamaindex_ctxassembly.convert.nodes import media_notes, read_nodes
from llamaindex_ctxassembly.events import on_stage
from llamaindex_ctxassembly.postprocessor import AssembledNodes, ContextAssemblyPostprocessor
from llamaindex_ctxassembly.stores.filters import filter_chunks


def postprocessor_of(
    retriever: BaseRetriever, postprocessor: ContextAssemblyPostprocessor | None
) -> ContextAssemblyPostprocessor:
    """Return the postprocessor for what `retriever` finds: its own, the given one, or one with the default settings.

    Raises:
        ConfigError: `retriever` is not a retriever, a postprocessor is given for a retriever that has one, or it has a
            conversation.
    """
    check_kind("retriever", retriever, BaseRetriever, "a LlamaIndex retriever")
    own = postprocessor
    if isinstance(retriever, ContextRetriever):
        if postprocessor is not None:
            raise ConfigError("postprocessor", "None with a ContextRetriever, which has one", postprocessor)
        own = retriever.postprocessor
    if own is not None and not isinstance(own.conversation, (Conversation, NoneType)):
        allowed = "a Conversation or None in an answer engine, whose contexts no memory keeps"
        raise ConfigError("postprocessor.conversation", allowed, own.conversation)
    return own or ContextAssemblyPostprocessor()


def filtered_postprocessor(
    retriever: BaseRetriever, postprocessor: ContextAssemblyPostprocessor, filters: Any
) -> ContextAssemblyPostprocessor:
    """Return the postprocessor for a call: neighbors must pass both the retriever's own filters and the call's."""
    if isinstance(retriever, ContextRetriever):
        return retriever.filtered_postprocessor(filters)
    return postprocessor.with_filter(_told_filters(retriever)).with_filter(filters)


def evidence_of(
    retriever: BaseRetriever,
    postprocessor: ContextAssemblyPostprocessor,
    question: str,
    keep: Callable[[AssembledNodes], None],
) -> Evidence:
    """Return what searches and assembles for a call with `question`; `keep` gets the nodes of each context."""
    for_call = partial(filtered_postprocessor, retriever, postprocessor)

    def arguments(used: ContextAssemblyPostprocessor, request: Assemble) -> dict[str, Any]:
        given = used.arguments(request.hits, request.query, request.supplement, request.conversation)
        return {**given, "config": request.limit_config(given["config"])}

    def finish(assembled: AssembledNodes) -> Context:
        keep(assembled.emit_event())
        return assembled.payload.context

    def assemble(request: Assemble) -> Context:
        used = for_call(request.filter)
        return finish(used.assemble_as(AssembledNodes.build, arguments(used, request)))

    async def aassemble(request: Assemble) -> Context:
        used = for_call(request.filter)
        return finish(await used.aassemble_as(AssembledNodes.build, arguments(used, request)))

    def depends_on() -> tuple[dict[str, Any], tuple[Any, ...]]:
        assembly, own_filter = postprocessor.settings, postprocessor.call_filter(question)
        if isinstance(retriever, ContextRetriever):
            search = retriever.search_arguments()
            index, config = search.pop("index"), search.pop("config")
            return {**search, "retrieval": config, **assembly}, (own_filter, filters_of(index))
        # Any other one counts by its class and its number of nodes.
        search = {"retriever": retriever, "similarity_top_k": getattr(retriever, "similarity_top_k", None)}
        return {**search, **assembly}, (_told_filters(retriever), own_filter)

    own = retriever if isinstance(retriever, ContextRetriever) else None
    return Evidence(
        _context_search_port(own) if own else _search_port(retriever, postprocessor),
        Port(assemble, aassemble),
        postprocessor.assembly_settings,
        depends_on,
        own.call_filters if own else None,
    )


def _context_search_port(retriever: ContextRetriever) -> Port:
    """Return the search of a `ContextRetriever`, which takes modes, filters, intents and boosts."""

    def search(request: Search) -> Retrieved:
        return search_index(request, **retriever.search_arguments(), on_stage=on_stage())

    async def asearch(request: Search) -> Retrieved:
        return await asearch_index(request, **retriever.search_arguments(), on_stage=on_stage())

    return Port(search, asearch)


def _search_port(retriever: BaseRetriever, postprocessor: ContextAssemblyPostprocessor) -> Port:
    """Return the search of any other retriever: it takes a query, and a vector index's also a number and filters.

    Rerankers, similarity thresholds, boosts and keyword search are up to the retriever.
    """

    def configured(request: Search) -> BaseRetriever:
        limit, filters = request.mode.limit, request.question.filter
        if limit is filters is None:
            return retriever
        if limit is not None:
            limit = max(limit, getattr(retriever, "_similarity_top_k", None) or 0)
        return configure_retriever("retriever", retriever, limit, filters)

    def read(request: Search, nodes: Sequence[NodeWithScore]) -> Retrieved:
        hits, supplement = read_nodes(nodes, postprocessor.assembly_settings.keys)
        allowed = filter_chunks(postprocessor.call_filter(request.question.text), [hit.chunk for hit in hits])
        allowed_ids = {id(chunk) for chunk in allowed}
        allowed_hits = tuple(hit for hit in hits if id(hit.chunk) in allowed_ids)
        facts = () if supplement is None else (supplement,)
        return retriever_result(request, allowed_hits, retriever, media_notes(nodes), facts)

    def search(request: Search) -> Retrieved:
        return read(request, configured(request).retrieve(request.question.effective_query))

    async def asearch(request: Search) -> Retrieved:
        return read(request, await configured(request).aretrieve(request.question.effective_query))

    return Port(search, asearch)


def _told_filters(retriever: BaseRetriever) -> MetadataFilters | None:
    """Return the retriever's own filters, if it is known to do nothing else."""
    return retriever._filters if type(retriever) is VectorIndexRetriever else None  # noqa: SLF001
