"""Contexts in a LangGraph graph: a node that assembles, and a channel that checkpoints them as plain data.

LangGraph names the class of each object in a checkpoint, and by default warns of one that it doesn't know; under
LANGGRAPH_STRICT_MSGPACK it takes only those that the annotations of the state name. The channel writes dicts and lists
alone, so there is nothing to know, and gives the contexts back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, get_origin

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.channels import BinaryOperatorAggregate
from langgraph.runtime import get_runtime
from typing_extensions import Self, override

from ctxassembly.concurrency import run_in_worker
from ctxassembly.context import Context
from ctxassembly.conversations.sent import check_tools
from ctxassembly.conversations.sources import get_field
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr
from langchain_ctxassembly.agents.tools import FilterOfCall, check_filter_of_call, conversation_in, filter_of_call
from langchain_ctxassembly.agents.turn import all_evidence_from, last_question, merge_evidence
from langchain_ctxassembly.answering.evidence import source_of
from langchain_ctxassembly.assembler import ContextAssembler, assembler_inputs
from langchain_ctxassembly.search import ambient_config


def context_node(
    source: ContextAssembler | Runnable[str, Any],
    *,
    assembler: ContextAssembler | None = None,
    query: str = "query",
    documents: str = "documents",
    context: str = "context",
    filter: FilterOfCall | None = None,
    tools: Collection[str] = (),
) -> Runnable[Any, dict[str, Any]]:
    """Return a node from a graph's state to `{"context": ...}`, the dict of a `Context`; sync and async.

    A `ContextAssembler` assembles the documents in the state; a retriever searches for the query first. Text that the
    messages in the state have isn't sent again. Documents keep their labels, and new labels continue after the contexts
    in the state: those under `context`, each `Context` under any key, and those in the messages of `tools`.

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
        source: a `ContextAssembler`, or a retriever, as for `context_tool`.
        assembler: the assembler for a retriever that has none.
        query: the key of the query. If the state has none, the last user message under "messages" is used.
        documents: the key of what was found: documents, hits or a `Retrieved`, a context, or, as parallel branches
            write it, a list of such lists. Those are fused by rank.
        context: the key of the context, or of the contexts of all turns (`ContextChannel`).
        filter: a function from the runtime of the call (`runtime.context` says whose it is) to the filter of its user:
            neighbors must pass it, and so must what a retriever finds.
        tools: names of the tools whose messages in the state carry contexts, as in `resolve`.

    Raises:
        ConfigError: an argument has the wrong type.
    """
    check_filter_of_call(filter)
    tools = check_tools(tools)
    retriever = None
    if not isinstance(source, ContextAssembler):
        retriever = source_of(source, assembler)
        source = retriever.assembler
    elif assembler is not None:
        raise ConfigError("assembler", "None with a ContextAssembler", assembler)
    if source.conversation is not None:
        raise ConfigError("assembler.conversation", "None here: the state has it", source.conversation)
    own, settings = source, source.assembly_settings

    def read_call(state: Any, config: RunnableConfig) -> tuple[Any, dict[str, Any]]:
        """Return what is searched for or assembled, and the arguments of a call."""
        said = _query_in(state, query, is_required=retriever is not None)
        with ambient_config(config):  # where the runtime is looked for
            arguments = {"config": config, "filter": filter_of_call(filter, filter and get_runtime())}
        conversation = conversation_in(state, settings.first_label, tools=tools, evidence=documents, context=context)
        if retriever is not None:
            return said, {**arguments, "conversation": conversation}
        found = get_field(state, documents)
        if isinstance(found, Retrieved):
            return {"documents": found, "query": said, "conversation": conversation}, arguments
        merged = merge_evidence(all_evidence_from(found, settings.keys))
        return assembler_inputs(merged.hits, said, merged.supplement, conversation), arguments

    def run(state: Any, config: RunnableConfig) -> dict[str, Any]:
        given, arguments = read_call(state, config)
        assemble = own.assemble_context if retriever is None else retriever.context
        return {context: assemble(given, **arguments).to_dict()}

    async def arun(state: Any, config: RunnableConfig) -> dict[str, Any]:
        given, arguments = read_call(state, config)
        assemble = own.aassemble_context if retriever is None else retriever.acontext
        assembled = await assemble(given, **arguments)
        return {context: await run_in_worker(assembled.to_dict)}

    return RunnableLambda(run, arun, name="context_node")


def _query_in(state: Any, key: str, *, is_required: bool) -> str | None:
    """Return the query of a state: the text under `key`, else the last message of a user, if there is one.

    Raises:
        InputError: there is something else under `key`, or nothing where a query `is_required`.
    """
    query = get_field(state, key)
    if query is None:
        query = last_question(get_field(state, "messages") or ())
    if not isinstance(query, str) and (is_required or query is not None):
        raise InputError(f"the state must have a text under {key!r}, or a user's message, got {safe_repr(query)}")
    return query


class ContextChannel(BinaryOperatorAggregate[Any]):
    """A channel of a LangGraph state for contexts, saved in checkpoints as plain data: no type has to be registered.

    If it annotates a list, it keeps the contexts of all turns, each once; otherwise only the last one.
    Nodes write a `Context` or its dict. `context_node` writes the dict, so that the writes that a checkpoint keeps are
    plain as well.

    >>> from typing import Annotated, TypedDict
    >>> from langgraph.graph import START, StateGraph
    >>> from ctxassembly import Chunk, Context, Hit, assemble
    >>> State = TypedDict("State", {"contexts": Annotated[list[Context], ContextChannel]})
    >>> def search(state):
    ...     return {"contexts": assemble([Hit(Chunk("gastro#0", "gastro", "Drink water."))]).to_dict()}
    >>> graph = StateGraph(State).add_node(search).add_edge(START, "search").compile()
    >>> [context.citations[0].label for context in graph.invoke({"contexts": []})["contexts"]]
    ['1']
    """

    def __init__(self, typ: Any, operator: Any = None) -> None:
        """Create the channel; LangGraph gives the annotated type `typ`."""
        kind = get_origin(typ) or typ
        self.is_list = isinstance(kind, type) and issubclass(kind, Sequence)
        super().__init__(typ, operator or (_add_contexts if self.is_list else lambda _, new: new))

    @override
    def checkpoint(self) -> Any:
        value = super().checkpoint()
        if isinstance(value, Context):
            return value.to_dict()
        return [context.to_dict() for context in value] if isinstance(value, list) else value

    @override
    def from_checkpoint(self, checkpoint: Any) -> Self:
        restored = super().from_checkpoint(checkpoint)
        if isinstance(checkpoint, (Mapping, list)):
            restored.value = self._read_contexts(checkpoint)
        return restored

    @override
    def update(self, values: Sequence[Any]) -> bool:
        changed = super().update(values)
        if changed:
            self.value = self._read_contexts(self.value)  # a first write, or one that overwrites, is as it was given
        return changed

    def _read_contexts(self, value: Any) -> Any:
        contexts = list(_to_contexts(value))
        return contexts if self.is_list else contexts[-1] if contexts else None


def _add_contexts(existing: Any, new: Any) -> list[Context]:
    """Return the contexts in order, `new` last: without those known already, as a subgraph returns the whole list."""
    contexts = list(_to_contexts(existing))
    contexts += [context for context in _to_contexts(new) if context not in contexts]
    return contexts


def _to_contexts(value: Any) -> list[Context]:
    values = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    for one in values:
        if not isinstance(one, (Context, Mapping)):
            raise InputError(f"contexts must be of Context, or what its to_dict() gave, got {safe_repr(one)}")
    return [Context.from_dict(one) for one in values]
