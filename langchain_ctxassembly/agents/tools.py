"""Tools for agents: `context_tool` searches, and `left_out_tool` reads what contexts left out, or the text at a label.

Both return the text of a context to the model, and the context as the artifact of the message. They read the labels and
the contexts of a conversation from the agent's state.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Annotated, Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import patch_config
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool
from pydantic import BaseModel, ConfigDict, Field

from ctxassembly.adapters.metadata import with_notes
from ctxassembly.concurrency import run_in_worker
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.conversations.left_out import (
    ARGUMENTS,
    TOOL_DESCRIPTION,
    TOOL_NAME,
    LeftOut,
    check_store_of_left_out,
)
from ctxassembly.conversations.sent import check_tools
from ctxassembly.conversations.sources import is_context, is_own_context, iter_contexts
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.runtime.left_out import LeftOutRequest, aread_left_out, read_left_out
from langchain_ctxassembly.agents.turn import LEFT_OUT, status_of
from langchain_ctxassembly.answering.evidence import source_of
from langchain_ctxassembly.assembler import ContextAssembler, assembler_inputs
from langchain_ctxassembly.convert.messages import Content, check_content, to_tool_output


class ContextTool(StructuredTool):
    """A tool of ours: its results are known in an agent's messages by its name."""


def names_of_own_tools(tools: Iterable[Any], state: Any = None) -> frozenset[str]:
    """Return the names of our own tools among an agent's `tools`, and of the ones named to its `ContextMiddleware`."""
    named = state.get("context_tools", ()) if isinstance(state, Mapping) else ()
    return frozenset(tool.name for tool in tools if isinstance(tool, ContextTool)) | frozenset(named)


def conversation_in(
    state: Any,
    first_label: int,
    *,
    tools: Collection[str] = (),
    call_id: str | None = None,
    evidence: str | None = None,
    context: str | None = None,
) -> Conversation:
    """Return the conversation in `state`: its contexts, and what its messages still show of them.

    Nothing but the state is read, so a state restored from a checkpoint gives the same conversation again, in any
    process. What isn't a context by its type is one under the key `context`, and in the messages of `tools`. Contexts
    under the key `evidence` don't count: a context is made of them.

    Tools that one message calls run at the same time, and none sees what the others find. So the call `call_id`, the
    second of three, say, takes every third label from the second one on.
    """
    sources = sources_in(state, evidence=evidence, context=context)
    messages = [one for one in sources if isinstance(one, BaseMessage)]
    conversation = Conversation.from_messages(sources, tools).seen_in(messages, tools)
    last_label = state.get("context_last_label", 0) if isinstance(state, Mapping) else 0  # `ContextMiddleware` keeps it
    conversation = replace(conversation, next_label=max(conversation.next_label, first_label, last_label + 1))
    for message in reversed(messages):
        call_ids = [call["id"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
        if call_id is not None and call_id in call_ids:
            return conversation.shared(call_ids.index(call_id), len(call_ids))
    return conversation


def sources_in(state: Any, *, evidence: str | None = None, context: str | None = None) -> list[Any]:
    """Return the contexts and messages in a graph's state, as `conversation_in` describes them.

    The state is a dict, a dataclass, a model, or the list of messages that is all of it.
    """
    if isinstance(state, list):
        state = {"messages": state}
    items = state if isinstance(state, Mapping) else vars(state)
    return [
        one
        for key, value in items.items()
        if key != evidence
        for one in _sources_in(value, is_context if context and key == context else is_own_context)
    ]


def _sources_in(value: Any, is_ours: Callable[[Any], bool]) -> Iterator[Any]:
    """Yield the contexts and messages in one value of the state, without documents, which may be evidence."""
    if isinstance(value, BaseMessage) or is_ours(value):
        yield value
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for one in value:
            yield from _sources_in(one, is_ours)


FilterOfCall = Callable[[Any], Any]
"""A function from the runtime of a call, whose `context` and `config` say whose it is, to the filter of its user."""


def check_filter_of_call(filter: object) -> None:
    """Check that `filter` is a function or None.

    Raises:
        ConfigError: it is something else.
    """
    if not (filter is None or callable(filter)):
        allowed = "a function from the runtime of a call to a filter; one for all calls is the assembler's own"
        raise ConfigError("filter", allowed, filter)


def filter_of_call(filter: FilterOfCall | None, runtime: Any) -> Any:
    """Return the filter of one call; None without a function.

    Raises:
        InputError: there is a function, and no agent that would say whose call it is.
    """
    if filter is not None and runtime is None:
        raise InputError("filter= needs the runtime of an agent or a graph: call the tool in one")
    return None if filter is None else filter(runtime)


DEFAULT_NAME = "search_documents"
DEFAULT_DESCRIPTION = "Searches the documents, and returns what they say about the query, with the sources to cite."


class SearchInput(BaseModel):
    """The arguments of a context tool."""

    query: str = Field(description="What to search for, in the words that the documents may use.")
    runtime: Annotated[Any, InjectedToolArg] = None
    """LangGraph puts the agent's state here, by the name. The model doesn't see it."""


def context_tool(
    retriever: Runnable[str, Any],
    name: str = DEFAULT_NAME,
    description: str = DEFAULT_DESCRIPTION,
    *,
    assembler: ContextAssembler | None = None,
    content: Content = "text",
    filter: FilterOfCall | None = None,
    tools: Collection[str] = (),
) -> BaseTool:
    """Return a tool from a query to the context that an agent reads, sync and async; its artifact is `to_dict()`.

    >>> from langchain_core.documents import Document
    >>> from langchain_core.runnables import RunnableLambda
    >>> from ctxassembly import Context
    >>> found = [Document("Drink water.", id="gastro#0", metadata={"source": "gastro.pdf"})]
    >>> tool = context_tool(RunnableLambda(lambda query: found), "search_leaflets", "Searches the leaflets.")
    >>> call = {"name": "search_leaflets", "args": {"query": "May I drink?"}, "id": "1", "type": "tool_call"}
    >>> message = tool.invoke(call)
    >>> print(message.content)
    [1] Source: gastro.pdf
    Drink water.
    >>> Context.from_dict(message.artifact).citations[0].chunk_ids
    ('gastro#0',)

    In an agent (`create_agent`, a ToolNode), text that the messages in its state have, under any key, isn't sent again
    unless the assembler's config has `repeat="always"`. Documents keep their labels, so that
    `resolve_citations(answer, state["messages"])` finds every source. Calls of one message take turns: of two, the
    first has labels 1 3 5, the other 2 4 6. A state from a checkpoint gives the same labels again. An assembler's own
    `conversation` takes precedence. Outside of an agent each call begins with `config.first_label`.

    Args:
        retriever: a `ContextAssemblyRetriever`, a `ContextRetriever`, or any other, whose documents are assembled by
            `assembler`.
        name: the tool's name, as the model sees it.
        description: the tool's description, as the model sees it. Say what the documents are about.
        assembler: the assembler for a retriever that has none.
        content: "text", or "search_results" for models that cite these natively, as `to_search_results` says.
        filter: a function from the runtime of the call (`runtime.context` and `runtime.config` say whose it is) to the
            filter of its user, which hits and neighbors pass in addition to the retriever's own.
        tools: names of further tools whose results are contexts, so that labels continue after theirs: tools that end
            with `to_tool_output`, and tools of other agents on the same thread, as after a handoff. The `context_tool`s
            of the agent itself are known.

    Raises:
        ConfigError: an argument has another type, `assembler` is given for a retriever that has one, or one of these
            retrievers has a `k` for its labels.
    """
    check_content(content)
    check_filter_of_call(filter)
    source = source_of(retriever, assembler)
    known_tools = frozenset(check_tools(tools)) | {name}

    def arguments(config: RunnableConfig, callbacks: Any, runtime: Any) -> dict[str, Any]:
        given = {"config": patch_config(config, callbacks=callbacks), "filter": filter_of_call(filter, runtime)}
        if runtime is None or source.assembler.conversation is not None:
            return given
        names = names_of_own_tools(runtime.tools, runtime.state) | known_tools
        first_label = source.assembler.assembly_settings.first_label
        conversation = conversation_in(runtime.state, first_label, tools=names, call_id=runtime.tool_call_id)
        return {**given, "conversation": conversation}

    def search(query: str, config: RunnableConfig, callbacks: Any = None, runtime: Any = None) -> Any:
        context = source.context(query, **arguments(config, callbacks, runtime))
        return to_tool_output(context, content=content)

    async def asearch(query: str, config: RunnableConfig, callbacks: Any = None, runtime: Any = None) -> Any:
        context = await source.acontext(query, **arguments(config, callbacks, runtime))
        return await run_in_worker(partial(to_tool_output, context, content=content))

    return _make_tool(search, asearch, name, description, SearchInput)


def _make_tool(run: Any, arun: Any, name: str, description: str, arguments: type[BaseModel]) -> BaseTool:
    """Return the tool that calls `run`, or awaits `arun`.

    LangChain finds their parameter `config` by its type and `callbacks` by its name. The config is the caller's; the
    callbacks make everything that runs in them part of the tool's own run.
    """
    return ContextTool(
        name=name,
        description=description,
        func=run,
        coroutine=arun,
        args_schema=arguments,
        response_format="content_and_artifact",
    )


class LeftOutInput(BaseModel):
    """The arguments of the tool."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    words: str | None = Field(None, description=ARGUMENTS["words"])
    document: str | None = Field(None, description=ARGUMENTS["document"])
    label: str | None = Field(None, description=ARGUMENTS["label"])
    runtime: Annotated[Any, InjectedToolArg] = None
    """LangGraph puts the agent's state here, by the name. The model doesn't see it."""


def left_out_tool(
    context: Context | Mapping[str, Any] | None = None,
    *,
    assembler: ContextAssembler,
    filter: FilterOfCall | None = None,
    tools: Collection[str] = (),
) -> BaseTool:
    """Return a tool for what `context` left out, by words or document, and for the text around a label.

    >>> from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
    >>> from ctxassembly import MemoryStore
    >>> said = {"a.pdf": "Eat nothing for six hours.", "b.pdf": "You may not drive that day."}
    >>> chunks = [Chunk(name, name, text, metadata={"source": name}) for name, text in said.items()]
    >>> context = assemble([Hit(chunk) for chunk in chunks], AssemblyConfig(max_tokens=20))
    >>> tool = left_out_tool(context, assembler=ContextAssembler(store=MemoryStore(chunks)))
    >>> print(tool.invoke({"words": "drive"}))
    [2] Source: b.pdf
    You may not drive that day.
    >>> print(tool.invoke({"document": "c.pdf"}))
    Nothing that was left out matches. Left out and available: b.pdf

    The text is a separate context, within `max_tokens` of the assembler's config; its artifact is `to_dict()`. Labels
    continue after the labels in `context` and in the agent's state, or by the `labels` of the assembler's conversation.
    With a `ContextMiddleware` it is assembled again within what is left of the window.

    A context says which chunks its search found, of more than 40 the best 40. The assembler's store is asked for their
    ids, with the filter of the call, and for their neighbors: a chunk that was deleted, or that the filter forbids, is
    neither shown nor listed. If the store fails, the model reads that, and the trace says why.

    Args:
        context: the context or its dict. None reads the contexts in the agent's state; those count in any case.
        assembler: the `ContextAssembler` with the store.
        filter: a function from the runtime of the call to the filter of its user, as for `context_tool`.
        tools: names of further tools of the agent whose artifacts are contexts. The `context_tool`s are known.

    Raises:
        ConfigError: `assembler` is something else, or has no store that finds chunks by their ids.
        InputError: `context` is something else.
    """
    if not isinstance(assembler, ContextAssembler):
        raise ConfigError("assembler", "a ContextAssembler", assembler)
    check_store_of_left_out(assembler.store, "left_out_tool(assembler=ContextAssembler(store=...))")
    check_filter_of_call(filter)
    given = [] if context is None else [Context.from_dict(context)]
    own_tools = frozenset(check_tools(tools)) | {TOOL_NAME}

    def prepare(runtime: Any, wanted: Mapping[str, Any]) -> tuple[LeftOutRequest, Conversation]:
        """Return the request of a call, and the conversation in the agent's state."""
        state, call_id, names = [], None, own_tools
        if runtime is not None:
            state, call_id = runtime.state, runtime.tool_call_id
            names |= names_of_own_tools(runtime.tools, state)
        sources = sources_in(state)
        dropped = [one for one in sources if isinstance(one, ToolMessage) and status_of(one) == LEFT_OUT]
        present = iter_contexts([one for one in sources if one not in dropped], names)
        request = LeftOutRequest(
            [*given, *(one for one in present if one not in given)],
            wanted,
            assembler.neighbor_store(filter_of_call(filter, runtime)),
            assembler.transform_fetched,
            assembler.assembly_settings,
            [*iter_contexts(dropped, names)],
        )
        known = reduce(Conversation.after, given, Conversation())
        first_label = max(request.config.first_label, known.next_label)
        conversation = conversation_in(state, first_label, tools=names, call_id=call_id)
        labels = assembler.conversation.labels if assembler.conversation else None
        return request, replace(conversation, sent=(*known.sent, *conversation.sent), labels=labels)

    def for_assembly(
        request: LeftOutRequest, left_out: LeftOut, conversation: Conversation
    ) -> tuple[ContextAssembler, dict[str, Any]]:
        """Return the assembler, whose neighbors come from the filtered store of the request, and its input."""
        settings = {"config": left_out.config(request.config), "store": request.store, "filter": None}
        inputs = assembler_inputs(left_out.hits, left_out.query, None, conversation)
        return assembler.model_copy(update=settings), inputs

    def read(config: RunnableConfig, callbacks: Any = None, runtime: Any = None, **wanted: Any) -> Any:
        request, conversation = prepare(runtime, wanted)
        left_out = read_left_out(request)
        if not (left_out.hits or left_out.note):
            return left_out.reply, None
        reader, inputs = for_assembly(request, left_out, conversation)
        return _to_output(left_out, reader.assemble_context(inputs, patch_config(config, callbacks=callbacks)))

    async def aread(config: RunnableConfig, callbacks: Any = None, runtime: Any = None, **wanted: Any) -> Any:
        request, conversation = await run_in_worker(partial(prepare, runtime, wanted))
        left_out = await aread_left_out(request)
        if not (left_out.hits or left_out.note):
            return left_out.reply, None
        reader, inputs = for_assembly(request, left_out, conversation)
        context = await reader.aassemble_context(inputs, patch_config(config, callbacks=callbacks))
        return await run_in_worker(partial(_to_output, left_out, context))

    return _make_tool(read, aread, TOOL_NAME, TOOL_DESCRIPTION, LeftOutInput)


def _to_output(left_out: LeftOut, context: Context) -> Any:
    if left_out.note:
        return left_out.reply, with_notes(context, [left_out.note]).to_dict()
    return to_tool_output(context) if left_out.is_answered(context) else (left_out.reply, None)
