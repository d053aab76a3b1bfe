"""`context_node`: a node of a LangGraph graph that puts a context into the state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.runtime import get_runtime

from ctxassembly.answering.requests import Search
from ctxassembly.assembly.selection.supplement import resolve_supplement, supplement_from_retrieval
from ctxassembly.concurrency import run_in_worker
from ctxassembly.config.answering import Mode
from ctxassembly.conversations.sources import get_field
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.retrieval.search import Question
from ctxassembly.safe_repr import safe_repr
from langchain_ctxassembly.agents.evidence import all_evidence_from, merge_evidence
from langchain_ctxassembly.agents.tool import continue_labels
from langchain_ctxassembly.agents.turn import last_question
from langchain_ctxassembly.answering.evidence import RetrieverEvidence, evidence_of
from langchain_ctxassembly.assembler import ContextAssembler, assembler_inputs
from langchain_ctxassembly.search.caller_filter import VisibleSearch, ambient_config

RUN_NAME = "context_node"


def context_node(
    source: ContextAssembler | Runnable[str, Any],
    *,
    assembler: ContextAssembler | None = None,
    query: str = "query",
    documents: str = "documents",
    context: str = "context",
    filter: Callable[[Any], Any] | None = None,  # noqa: A002 - as the frameworks call it
) -> Runnable[Any, dict[str, Any]]:
    """Return a node from a graph's state to `{"context": ...}`, the dict of a `Context`; sync and async.

    A `ContextAssembler` assembles the documents in the state; a retriever searches for the query first. Labels continue
    after the labels of all contexts and messages that the state already has, under any key.

    >>> from typing import Annotated, TypedDict
    >>> from langchain_core.documents import Document
    >>> from langgraph.graph import START, StateGraph
    >>> from ctxassembly import Context
    >>> from langchain_ctxassembly import ContextChannel
    >>> kept = Annotated[Context, ContextChannel]
    >>> State = TypedDict("State", {"query": str, "documents": list[Document], "context": kept})
    >>> graph = StateGraph(State).add_node("assemble", context_node(ContextAssembler())).add_edge(START, "assemble")
    >>> found = [Document("Drink water.", id="gastro#0", metadata={"source": "gastro.pdf"})]
    >>> print(graph.compile().invoke({"query": "May I drink?", "documents": found})["context"])
    [1] Source: gastro.pdf
    Drink water.

    Args:
        source: a `ContextAssembler`, or a retriever: a `ContextRetriever`, a `ContextAssemblyRetriever`, or any other,
            whose documents are assembled by `assembler`.
        assembler: the assembler for a retriever that has none.
        query: the key of the query. Where the state has none, it is the last user message under "messages".
        documents: the key of what was found: documents, hits or a `Retrieved`, a context, or, as parallel branches
            write it, a list of such lists. Those are fused by rank.
        context: the key of the context, or of the contexts of all turns (`ContextChannel`, `add_contexts`).
        filter: a function from the runtime of the call (`runtime.context` says whose it is) to the filter of its user:
            neighbors must pass it, and so must what a retriever finds, if the search can be seen to take it.

    Raises:
        ConfigError: an argument has the wrong type.
    """
    for name, value in (("query", query), ("documents", documents), ("context", context)):
        if not isinstance(value, str) or not value:
            raise ConfigError(name, "a key of the state", value)
    if not (filter is None or callable(filter)):
        raise ConfigError("filter", "a function from the runtime of a call to a filter", filter)
    if isinstance(source, ContextAssembler):
        if assembler is not None:
            raise ConfigError("assembler", "None beside a ContextAssembler", assembler)
        node = _Node(source, None, _StateKeys(query, documents, context), filter)
    else:
        evidence = evidence_of(source, assembler)
        node = _Node(evidence.assembler, evidence, _StateKeys(query, documents, context), filter)
    if node.assembler.labels is not None:
        raise ConfigError("assembler.labels", "None here: the state has the labels", node.assembler.labels)
    return RunnableLambda(node.run, node.arun, name=RUN_NAME)


class _StateKeys(NamedTuple):
    query: str
    documents: str
    context: str


@dataclass(frozen=True)
class _Node:
    assembler: ContextAssembler
    evidence: RetrieverEvidence | None
    keys: _StateKeys
    filter: Callable[[Any], Any] | None

    def run(self, state: Any, config: RunnableConfig) -> dict[str, Any]:
        with ambient_config(config):
            condition = self._condition()
            search = self._search_request(state, condition)
            retrieved = None if search is None or self.evidence is None else self.evidence.search(search)
            assembler, visible = self._prepare_assembler(state, condition)
            context = assembler.assemble_context(self._assembler_inputs(state, retrieved), config, visible)
        return {self.keys.context: context.to_dict()}

    async def arun(self, state: Any, config: RunnableConfig) -> dict[str, Any]:
        with ambient_config(config):
            condition = self._condition()
            search = self._search_request(state, condition)
            retrieved = None if search is None or self.evidence is None else await self.evidence.asearch(search)
            assembler, visible = self._prepare_assembler(state, condition)
            context = await assembler.aassemble_context(self._assembler_inputs(state, retrieved), config, visible)
        return {self.keys.context: await run_in_worker(context.to_dict)}

    def _condition(self) -> Any:
        return None if self.filter is None else self.filter(get_runtime())

    def _search_request(self, state: Any, condition: Any) -> Search | None:
        if self.evidence is None:
            return None
        query = self._query(state)
        if query is None:
            raise InputError(
                f"the state must have a text under {self.keys.query!r}, or a user's message: {safe_repr(state)}"
            )
        question = Question(query, filter=self.evidence.call_filter(condition))
        return Search(self.keys.query, question, Mode(), 1.0, {})

    def _prepare_assembler(self, state: Any, condition: Any) -> tuple[ContextAssembler, VisibleSearch | None]:
        """Return the assembler under the filter of the call, with the next labels of the conversation."""
        if self.evidence is not None:
            assembler, visible = self.evidence.assembler_and_search(self.evidence.call_filter(condition))
        else:
            assembler, visible = self.assembler, None
            if condition is not None:
                assembler = assembler.model_copy(update={"filter": condition})
        own = continue_labels(assembler.config, state, evidence=self.keys.documents)
        return assembler.model_copy(update={"config": own}), visible

    def _assembler_inputs(self, state: Any, retrieved: Retrieved | None) -> dict[str, Any]:
        query = self._query(state)
        if retrieved is not None and self.evidence is not None:
            own = resolve_supplement(query, self.evidence.supplement)
            supplement = supplement_from_retrieval(retrieved) if own is None else own
            return assembler_inputs(retrieved.hits, retrieved.query, supplement)
        evidence = get_field(state, self.keys.documents)
        if isinstance(evidence, Retrieved):
            return assembler_inputs(evidence.hits, query or evidence.query, supplement_from_retrieval(evidence))
        merged = merge_evidence(all_evidence_from(evidence, self.assembler.config.keys))
        return assembler_inputs(merged.hits, query, merged.supplement)

    def _query(self, state: Any) -> str | None:
        query = get_field(state, self.keys.query)
        if query is not None:
            if not isinstance(query, str):
                raise InputError(f"the state's {self.keys.query!r} must be a text, got {safe_repr(query)}")
            return query
        return last_question(get_field(state, "messages") or ())
