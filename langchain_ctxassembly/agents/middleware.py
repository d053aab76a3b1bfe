"""`ContextMiddleware`: the evidence that an agent's tools found, assembled together before the model reads it.

It works at the call of the model, the one place that sees all there is to count: the system message, the tools, the
messages as they are sent, and the model. The messages that it writes go back into the state next to the model's answer,
so that a checkpoint has what the model read; a call that fails leaves the state as the tools left it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeAlias

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ExtendedModelResponse, PrivateStateAttr
from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.messages import AnyMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool
from langchain_core.tools.retriever import RetrieverInput
from langgraph.types import Command
from typing_extensions import NotRequired, override

from ctxassembly.concurrency import run_in_worker
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.conversations.left_out import check_store_of_left_out
from ctxassembly.conversations.sent import check_tools
from ctxassembly.errors import ConfigError
from ctxassembly.integrations.metadata import with_notes
from ctxassembly.safe_repr import pluralize
from ctxassembly.tokens.budget import TokenBudget
from ctxassembly.user_warnings import WarnOnce, with_remedy
from langchain_ctxassembly.agents.tools import make_left_out_tool, names_of_own_tools
from langchain_ctxassembly.agents.turn import Turn, changed_messages, merge_evidence, turn_of
from langchain_ctxassembly.agents.window import ContextWindow, CountMessages, budget_of, make_context_window
from langchain_ctxassembly.assembler import (
    ContextAssembler,
    assembler_inputs,
    checked_assembler,
    configured_assembler,
)
from langchain_ctxassembly.spans import has_listeners

EVENT = "contexts_left_out"
"""The custom event of earlier contexts that a prompt leaves out from here on."""


class PromptMessages(NamedTuple):
    """The messages of a prompt with the context of its turn."""

    messages: list[AnyMessage]
    changed_messages: list[AnyMessage]
    last_label: int
    left_out: dict[str, int]
    """The number of `messages` whose contexts it leaves out from here on, and of their `tokens`; empty if none."""
    tools: list[str]
    """The names of the tools whose results are read."""


ContextRequest: TypeAlias = tuple[ContextAssembler, dict[str, Any]]
"""The assembler of a context, and its input."""
PromptFlow: TypeAlias = Generator[ContextRequest, Context, "PromptMessages | None"]


def prompt_flow(
    turn: Turn,
    window: ContextWindow,
    system_messages: Sequence[BaseMessage],
    assembler: ContextAssembler,
    conversation: Conversation,
) -> Generator[ContextRequest, Context, PromptMessages]:
    """Return the messages of `turn`, which follow `system_messages`, with a context for what its calls found.

    The config of `assembler` has the most tokens. What the messages have of `conversation` isn't sent again. The
    context gets the room that is left, and is requested again in less if the whole prompt is still too long: what other
    messages say of it is known only afterwards, and a counter of the caller's may not add up.
    """
    evidence, config = merge_evidence([call.evidence for call in turn.calls]), assembler.assembly_settings
    shrunk, remaining = _make_room(turn, window, system_messages, config, conversation)
    seen = conversation.seen_in(shrunk.earlier_messages, turn.tools)
    inputs = assembler_inputs(evidence.hits, turn.query, evidence.supplement, seen)
    left_out = _left_out(turn, shrunk, window)
    notes = window.notes([*system_messages, *shrunk.without_text()], config.token_limit)
    if left_out:
        contexts = pluralize(left_out["messages"], "earlier context")
        notes.append(f"budget: {contexts} left out from here on, {left_out['tokens']:,} tokens")
    own = turn.own_context
    if own is not None and not (seen == conversation and _continues(own, conversation, config)):
        own = None
    while True:
        if own is not None and own.token_count <= remaining:
            context = own
        else:
            smaller = replace(config, max_tokens=max(remaining, 1))
            context = yield assembler.model_copy(update={"config": smaller}), inputs
            context = with_notes(context, evidence.left_out)
        context = with_notes(context, notes)
        messages = shrunk.with_context(context)
        overflow = window.overflow([*system_messages, *messages])
        if overflow <= 0 or remaining <= 1:
            changed = changed_messages(turn.messages, messages)
            last_label = conversation.after(context).next_label - 1
            return PromptMessages(messages, changed, last_label, left_out, sorted(turn.tools))
        # Counted by another counter, a token of the context may cost more than one.
        cost = window.count_messages(messages) - window.count_messages(shrunk.without_text())
        remaining = max(min(remaining - 1, context.token_count * (cost - overflow) // max(cost, 1)), 1)


def _continues(context: Context, conversation: Conversation, config: AssemblyConfig) -> bool:
    """Return True if a tool's `context` needs no other assembly: it repeats nothing, and its labels count on."""
    known = {(one.label, one.document_id, one.source) for one in conversation.citations}
    seen = {sent.text[slice(*source.span)] for sent in conversation.sent for source in sent.provenance}
    return (
        context.format == config.format
        and (
            config.repeat == "always"
            or seen.isdisjoint(context.text[slice(*source.span)] for source in context.provenance)
        )
        and all(
            int(one.label) >= conversation.next_label or (one.label, one.document_id, one.source) in known
            for one in context.citations
        )
    )


def advance(flow: PromptFlow, context: Context | None = None) -> tuple[ContextRequest | None, PromptMessages | None]:
    """Return the next context that `flow` asks for; or, at its end, the messages."""
    try:
        return (next(flow) if context is None else flow.send(context)), None
    except StopIteration as done:
        return None, done.value


def _make_room(
    turn: Turn,
    window: ContextWindow,
    system_messages: Sequence[BaseMessage],
    config: AssemblyConfig,
    conversation: Conversation,
) -> tuple[Turn, int]:
    """Return the turn, without the earlier contexts if it needs their room, and the room there is for its own.

    The first context of a conversation gets what it wants. A later one gets a share of the window at most, and half of
    that share is enough for it; what earlier messages have whole needs none, unless it is sent again. Otherwise all
    earlier contexts go at once: each time, a provider's cache of the prompt is lost.
    """
    limit = config.token_limit if turn.is_first else window.later_limit(config.token_limit)
    texts = (str(turn.messages[call.message_index].text) for call in turn.calls)
    earlier = "\n".join(sent.text for sent in conversation.seen_in(turn.earlier_messages, turn.tools).sent)
    found = (hit.chunk.text.strip() for call in turn.calls for hit in call.evidence.hits)
    seen = sum(window.count_text(text) for text in found if text in earlier and config.repeat == "never")
    needed = max(min(limit // 2, sum(map(window.count_text, texts)) - seen), 0)
    remaining = window.remaining([*system_messages, *turn.without_text()], limit)
    if remaining < needed:
        turn = turn.without_contexts()
        remaining = window.remaining([*system_messages, *turn.without_text()], limit)
    return turn, remaining


def _left_out(turn: Turn, shrunk: Turn, window: ContextWindow) -> dict[str, int]:
    """Return the number of contexts that are left out in `shrunk`, and of their tokens; empty if there are none."""
    messages = len(turn.context_indexes) - len(shrunk.context_indexes)
    if not messages:
        return {}
    tokens = window.count_messages(turn.messages) - window.count_messages(shrunk.messages)
    return {"messages": messages, "tokens": tokens}


class ContextState(AgentState[Any]):
    """An agent's state with what our tools have to know, also where old messages are summarized away."""

    context_last_label: NotRequired[Annotated[int, PrivateStateAttr]]
    """The last label given."""
    context_tools: NotRequired[Annotated[list[str], PrivateStateAttr]]
    """The names of the tools whose results the middleware reads."""


class ContextMiddleware(AgentMiddleware[ContextState, Any, Any]):
    """An agent's middleware that assembles what the tools of a turn found into one context, within what is left.

    >>> from langchain.agents import create_agent
    >>> from langchain_core.documents import Document
    >>> from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    >>> from langchain_core.messages import AIMessage
    >>> from langchain_core.runnables import RunnableLambda
    >>> from langchain_core.tools import create_retriever_tool
    >>> class Model(GenericFakeChatModel):
    ...     def bind_tools(self, tools, **kwargs):
    ...         return self
    >>> asking = AIMessage("", tool_calls=[{"name": "search", "args": {"query": "water"}, "id": "1"}])
    >>> answers = iter([asking, AIMessage("Until two hours before [1].")])
    >>> model = Model(messages=answers, profile={"max_input_tokens": 8_000})
    >>> found = [Document("Drink water until two hours before.", metadata={"source": "gastro.pdf"})]
    >>> retriever = RunnableLambda(lambda query: found)
    >>> tool = create_retriever_tool(retriever, "search", "Searches.", response_format="content_and_artifact")
    >>> agent = create_agent(model, [tool], middleware=[ContextMiddleware(tools=["search"])])
    >>> messages = agent.invoke({"messages": [("user", "May I drink before it?")]})["messages"]
    >>> print(messages[2].content)
    [1] Source: gastro.pdf
    Drink water until two hours before.
    >>> from ctxassembly import resolve
    >>> [citation.source for citation in resolve(messages[-1].text, messages).citations]
    ['gastro.pdf']

    It reads the artifacts of our own tools, and of those named in `tools`: documents, as `create_retriever_tool(...,
    response_format="content_and_artifact")` gives them, or a `Context` or its dict. Of the tools that were called
    together, the message of the first has the whole context, and carries it as its artifact
    (`contexts_in(state["messages"], tools=["search"])`); the others say which labels their results have. Text that
    earlier messages of the prompt have isn't sent again, and documents keep their labels. Messages of errors and of
    other tools stay as they are, whatever they hold.

    The prompt, tools and system message included, stays within the model's window. After the first context of a
    conversation, each gets at most a quarter of the window, or 1,000 tokens. If less than half of that is left, all
    earlier contexts are removed from the prompt: the custom event `contexts_left_out` has the number of their
    `messages` and `tokens`, and labels in earlier answers still resolve. If the window is unknown, a warning says so,
    and only `max_tokens` of the assembler's config limits the context.

    Neighbors come from the assembler's store. They must pass `filter`, or without one match their hit's metadata, as
    `ContextAssembler` describes it.
    """

    state_schema = ContextState

    def __init__(
        self,
        assembler: Any = None,
        *,
        budget: TokenBudget | int | None = None,
        filter: Callable[[Any], Any] | None = None,  # noqa: A002 - as the frameworks call it
        tools: Collection[str] = (),
        token_counter: CountMessages | None = None,
        left_out: bool = False,
    ) -> None:
        """Create the middleware.

        Args:
            assembler: the `ContextAssembler`, with settings, store and models; it may have configurable fields.
            budget: the model's window in tokens, at least 1; or a TokenBudget, which also has what is kept of it for
                the answer (`generation`), as a `buffer`, and at most for one context (`context_cap`); its other zones
                are counted instead. Its `shares` limit the contexts of all turns together ("documents"), next to the
                messages of user and model ("conversation") and of other tools ("tool_results"). None: the window
                that `TokenBudget.for_model` knows.
            filter: a function from the runtime of the call (`runtime.context` says whose it is) to the filter that
                neighbors must pass, as `ContextAssembler(filter=...)` takes it.
            tools: names of the tools whose artifacts are read, in addition to our own.
            token_counter: a function from messages to tokens, such as `model.get_num_tokens_from_messages`. None counts
                texts, calls and names in the model's own encoding, and 4 tokens more for each message.
            left_out: True adds a `left_out_tool` to the agent, with this assembler, its store, and the filter. What it
                reads is assembled within what is left of the window, like the results of all tools.

        Raises:
            ConfigError: an argument has the wrong type, the assembler has a `conversation`, or with `left_out` no store
                that finds chunks by their ids.
        """
        super().__init__()
        self._assembler, self._filter = checked_assembler(assembler), filter
        if not (filter is None or callable(filter)):
            allowed = "a function from the runtime of a call to a filter; one for all calls is the assembler's own"
            raise ConfigError("filter", allowed, filter)
        if isinstance(self._assembler, ContextAssembler):
            self._check_assembler(self._assembler)
        if not (budget is None or isinstance(budget, TokenBudget) or (type(budget) is int and budget >= 1)):
            raise ConfigError("budget", "the model's window in tokens, at least 1, a TokenBudget, or None", budget)
        if not (token_counter is None or callable(token_counter)):
            raise ConfigError("token_counter", "a function from messages to a number, or None", token_counter)
        self._budget, self._token_counter = budget, token_counter
        if not isinstance(left_out, bool):
            raise ConfigError("left_out", "True or False", left_out)
        self._tool_names = frozenset(check_tools(tools))
        if left_out:
            if isinstance(self._assembler, ContextAssembler):
                check_store_of_left_out(self._assembler.store, "ContextMiddleware(ContextAssembler(store=...))")
            self.tools = [make_left_out_tool(None, self._left_out_assembler, self._tool_names)]
        self._warnings = WarnOnce()

    @override
    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Return the model's answer to the assembled messages, and these for the state."""
        assembler, config = self._resolve_assembler(ensure_config())
        flow = self._prompt_flow(request, assembler)
        wanted, prompt = advance(flow)
        while wanted is not None:
            wanted, prompt = advance(flow, wanted[0].assemble_context(wanted[1], config))
        if prompt and prompt.left_out and has_listeners(config):
            dispatch_custom_event(EVENT, prompt.left_out, config=config)
        return _with_changed_messages(handler(_with_messages(request, prompt)), prompt)

    @override
    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Async version of `wrap_model_call`."""
        assembler, config = self._resolve_assembler(ensure_config())
        flow = self._prompt_flow(request, assembler)
        wanted, prompt = await run_in_worker(partial(advance, flow))  # it counts all messages
        while wanted is not None:
            context = await wanted[0].aassemble_context(wanted[1], config)
            wanted, prompt = await run_in_worker(partial(advance, flow, context))
        if prompt and prompt.left_out and has_listeners(config):
            await adispatch_custom_event(EVENT, prompt.left_out, config=config)
        return _with_changed_messages(await handler(_with_messages(request, prompt)), prompt)

    def _resolve_assembler(self, config: RunnableConfig) -> tuple[ContextAssembler, RunnableConfig]:
        """Return the assembler of a call under its config, and the config."""
        assembler, config = configured_assembler(self._assembler, config)
        self._check_assembler(assembler)
        return assembler, config

    def _left_out_assembler(self, config: RunnableConfig, runtime: Any) -> tuple[ContextAssembler, RunnableConfig]:
        """Return the assembler of a call of the tool for what was left out, under the filter of its runtime."""
        assembler, config = self._resolve_assembler(config)
        return assembler.model_copy(update=self._call_filter(runtime)), config

    def _call_filter(self, runtime: Any) -> dict[str, Any]:
        """Return the change to an assembler for the filter of a call."""
        return {} if self._filter is None else {"filter": self._filter(runtime)}

    def _check_assembler(self, assembler: ContextAssembler) -> None:
        if (own := assembler.conversation) is not None:
            raise ConfigError("assembler.conversation", "None here, where it follows from the messages", own)
        if not isinstance(assembler.config, AssemblyConfig):
            allowed = "an AssemblyConfig here, where each context gets what is left of the window"
            raise ConfigError("assembler.config", allowed, assembler.config)
        if self._filter is not None and assembler.filter is not None:
            raise ConfigError("filter", "None with an assembler that has a filter", self._filter)

    def _prompt_flow(self, request: ModelRequest[Any], assembler: ContextAssembler) -> PromptFlow:
        """Yield a request for each context that is needed, and return the messages to send."""
        self._warn_about_tools(request.tools)
        names = self._tool_names | names_of_own_tools(request.tools)
        turn = turn_of(request.messages, names, assembler.assembly_settings.keys)
        if not turn.calls:
            return self._without_excess(request, turn, assembler)
        state: Any = request.state
        system_messages = [request.system_message] if request.system_message else []
        conversation = Conversation.from_messages(turn.other_messages(state["messages"]), names)
        next_label = max(conversation.next_label, state.get("context_last_label", 0) + 1)
        conversation = replace(conversation, next_label=next_label)
        window = self._context_window(request, assembler.assembly_settings.encoding)
        assembler = assembler.model_copy(update=self._call_filter(request.runtime))
        prompt = yield from prompt_flow(turn, window, system_messages, assembler, conversation)
        overflow = window.overflow([*system_messages, *prompt.messages])
        if overflow > 0:
            fact = f"The prompt exceeds the model's window by {overflow:,} tokens, even without any context"
            call = "SummarizationMiddleware(model, trigger=('tokens', 4_000))"
            self._warnings.warn(UserWarning(with_remedy(fact, "The model may refuse it", call)), key="excess")
        return prompt

    def _without_excess(
        self, request: ModelRequest[Any], turn: Turn, assembler: ContextAssembler
    ) -> PromptMessages | None:
        """Return the messages without the oldest contexts if a question or an answer made them exceed the window."""
        if not turn.context_indexes:
            return None
        window, system = self._context_window(request, assembler.assembly_settings.encoding), request.system_message
        shrunk, _ = _make_room(turn, window, [system] if system else [], assembler.assembly_settings, Conversation())
        left_out = _left_out(turn, shrunk, window)
        if not left_out:
            return None
        changed = changed_messages(turn.messages, shrunk.messages)
        state: Any = request.state
        last_label = state.get("context_last_label", 0)
        return PromptMessages([*shrunk.messages], changed, last_label, left_out, sorted(turn.tools))

    def _context_window(self, request: ModelRequest[Any], encoding: Any) -> ContextWindow:
        given = self._budget
        budget = given if isinstance(given, TokenBudget) else budget_of(request.model, given)
        if budget is None:
            effect = "Each context has at most max_tokens, but the whole prompt may be too long"
            message = with_remedy("The model's window is unknown", effect, "ContextMiddleware(budget=128_000)")
            self._warnings.warn(UserWarning(message), key="window")
        return make_context_window(budget, encoding, request.tools, self._token_counter)

    def _warn_about_tools(self, tools: Collection[Any]) -> None:
        for tool in tools:
            if not (isinstance(tool, BaseTool) and tool.args_schema is RetrieverInput):
                continue
            if tool.response_format == "content":
                fact = f"The tool {tool.name[:60]!r} returns text without documents"
                call = "create_retriever_tool(retriever, name, description, response_format='content_and_artifact')"
            elif not self._tool_names:
                fact = f"The tool {tool.name[:60]!r} isn't among the tools to read"
                call = f"ContextMiddleware(tools=[{tool.name[:60]!r}])"
            else:
                continue
            message = with_remedy(fact, "Its results are sent to the model as they are", call)
            self._warnings.warn(UserWarning(message), key="tools")


def _with_messages(request: ModelRequest[Any], prompt: PromptMessages | None) -> ModelRequest[Any]:
    return request if prompt is None else request.override(messages=prompt.messages)


def _with_changed_messages(response: Any, prompt: PromptMessages | None) -> Any:
    """Return the model's response, after the messages that it has read in another form."""
    if prompt is None:
        return response
    model_response = response if isinstance(response, ModelResponse) else ModelResponse(result=[response])
    full_response = ModelResponse(
        result=[*prompt.changed_messages, *model_response.result],
        structured_response=model_response.structured_response,
    )
    update = {"context_last_label": prompt.last_label, "context_tools": prompt.tools}
    return ExtendedModelResponse(full_response, Command(update=update))
