"""`ContextMiddleware`: the evidence that an agent's tools found, assembled together before the model reads it.

It works at the call of the model, the one place that sees all there is to count: the system message, the tools, the
messages as they are sent, and the model. The messages that it writes go back into the state next to the model's answer,
so that a checkpoint has what the model read; a call that fails leaves the state as the tools left it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Generator, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ExtendedModelResponse, PrivateStateAttr
from langchain_core.messages import AnyMessage, BaseMessage, ToolMessage
from langchain_core.runnables.config import ensure_config
from langchain_core.tools import BaseTool
from langchain_core.tools.retriever import RetrieverInput
from langgraph.types import Command
from typing_extensions import NotRequired, override

from ctxassembly.adapters.metadata import with_notes
from ctxassembly.assembly.limits import hit_counts
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.conversations.sent import check_tools
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.runtime.driver import Port, adrive, drive
from ctxassembly.safe_repr import pluralize
from ctxassembly.tokens.budget import TokenBudget
from ctxassembly.user_warnings import WarnOnce, with_remedy
from langchain_ctxassembly.agents.tools import FilterOfCall, check_filter_of_call, names_of_own_tools
from langchain_ctxassembly.agents.turn import Turn, merge_evidence, status_of, turn_of
from langchain_ctxassembly.agents.window import ContextWindow, context_window
from langchain_ctxassembly.assembler import ContextAssembler, assembler_inputs


class Assembly(NamedTuple):
    """A request for a context."""

    assembler: ContextAssembler
    inputs: dict[str, Any]
    filter: Any


class Prompt(NamedTuple):
    """The messages of a prompt with the context of its turn, and what they change in the state."""

    messages: list[AnyMessage]
    changed_messages: list[AnyMessage]
    state: dict[str, Any]


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
    earlier contexts are removed from the prompt: a line in their messages and the traces say so, and labels in earlier
    answers still resolve. If the window is unknown, a warning says so, and only `max_tokens` of the assembler's config
    limits the context.

    Neighbors come from the assembler's store. They must pass `filter` and the assembler's own, or without any match
    their hit's metadata, as `ContextAssembler` describes it.
    """

    state_schema = ContextState

    def __init__(
        self,
        assembler: ContextAssembler | None = None,
        *,
        budget: TokenBudget | int | None = None,
        filter: FilterOfCall | None = None,
        tools: Collection[str] = (),
    ) -> None:
        """Create the middleware.

        Args:
            assembler: the `ContextAssembler`, with settings, store and models.
            budget: the model's window in tokens, at least 1; or a TokenBudget, which also has what is kept of it for
                the answer (`generation`), as a `buffer`, and at most for one context (`context_cap`), and the
                `encoding` to count in; its other zones are counted instead. None: the window that
                `TokenBudget.for_model` knows.
            filter: a function from the runtime of the call (`runtime.context` says whose it is) to the filter that
                neighbors must pass, as `ContextAssembler(filter=...)` takes it.
            tools: names of the tools whose artifacts are read, in addition to our own.

        Raises:
            ConfigError: an argument has the wrong type, or the assembler has a `conversation`.
        """
        super().__init__()
        assembler = ContextAssembler() if assembler is None else assembler
        if not isinstance(assembler, ContextAssembler):
            raise ConfigError("assembler", "a ContextAssembler", assembler)
        if assembler.conversation is not None:
            follows = "None here, where it follows from the messages"
            raise ConfigError("assembler.conversation", follows, assembler.conversation)
        if not isinstance(assembler.config, AssemblyConfig):
            allowed = "an AssemblyConfig here, where each context gets what is left of the window"
            raise ConfigError("assembler.config", allowed, assembler.config)
        if not (budget is None or isinstance(budget, TokenBudget) or (type(budget) is int and budget >= 1)):
            raise ConfigError("budget", "the model's window in tokens, at least 1, a TokenBudget, or None", budget)
        if isinstance(budget, TokenBudget) and budget.shares:
            raise ConfigError("budget.shares", "empty here, where the messages are counted as they are", budget.shares)
        check_filter_of_call(filter)
        self._assembler, self._budget, self._filter = assembler, budget, filter
        self._tool_names = frozenset(check_tools(tools))
        self._warnings = WarnOnce()

    @override
    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Return the model's answer to the assembled messages, and these for the state."""
        config = ensure_config()
        port = Port(lambda wanted: wanted.assembler.assemble_context(wanted.inputs, config, wanted.filter))
        if (prompt := drive(self._prompt_flow(request), {Assembly: port})) is None:
            return handler(request)
        return _with_prompt(handler(request.override(messages=prompt.messages)), prompt)

    @override
    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Async version of `wrap_model_call`."""
        config = ensure_config()
        port = Port(None, lambda wanted: wanted.assembler.aassemble_context(wanted.inputs, config, wanted.filter))
        if (prompt := await adrive(self._prompt_flow(request), {Assembly: port})) is None:
            return await handler(request)
        return _with_prompt(await handler(request.override(messages=prompt.messages)), prompt)

    def _prompt_flow(self, request: ModelRequest[Any]) -> Generator[Assembly, Context, Prompt | None]:
        """Yield a request for each context that is needed, and return the messages to send; None leaves them as is.

        The context gets the room that is left, and is requested again in less if the whole prompt is still too long:
        what other messages say of it is known only afterwards. Earlier contexts may have to go in a turn without calls,
        too, where a question or an answer made the prompt exceed the window.
        """
        self._warn_about_tools(request.tools)
        names, config = self._tool_names | names_of_own_tools(request.tools), self._assembler.assembly_settings
        turn = turn_of(request.messages, names, config.keys)
        if not (turn.calls or turn.context_indexes):
            return None
        window = context_window(self._known_budget(request.model), config.encoding, request.tools)
        system: list[BaseMessage] = [request.system_message] if request.system_message else []
        conversation = _conversation_before(turn, request.state)
        evidence = merge_evidence([call.evidence for call in turn.calls])
        limit = config.limit_for(hit_counts(evidence.hits, window.encoding), turn.query)
        config = replace(config, max_tokens=limit)
        shrunk, remaining = _make_room(turn, window, system, config, conversation)
        if not turn.calls:
            return None if shrunk is turn else _to_prompt(turn, shrunk.messages, conversation)
        seen = conversation.seen_in(shrunk.earlier_messages, turn.tools)
        inputs = assembler_inputs(evidence.hits, turn.query, evidence.supplement, seen)
        notes = []
        if shrunk is not turn:
            contexts = pluralize(len(turn.context_indexes), "earlier context")
            tokens = window.count_messages(turn.messages) - window.count_messages(shrunk.messages)
            notes = [f"budget: {contexts} left out from here on, {tokens:,} tokens"]
        condition = None if self._filter is None else self._filter(request.runtime)
        # The context of a single call, whose tool has assembled it by itself, stays as it is if it fits.
        own = turn.calls[0].evidence.context if len(turn.calls) == 1 and seen == conversation else None
        if own is not None and not _continues(own, conversation, config):
            own = None
        while True:
            if own is not None and own.token_count <= remaining:
                context = own
            else:
                smaller = replace(config, max_tokens=max(remaining, 1), encoding=window.encoding)
                context = yield Assembly(self._assembler.model_copy(update={"config": smaller}), inputs, condition)
                context = with_notes(context, evidence.left_out)
            context = with_notes(context, notes)
            messages = shrunk.with_context(context)
            overflow = window.overflow([*system, *messages])
            if overflow <= 0 or remaining <= 1:
                break
            own, remaining = None, max(min(remaining, context.token_count) - overflow, 1)
        if overflow > 0:
            fact = f"The prompt exceeds the model's window by {overflow:,} tokens, even without any context"
            call = "SummarizationMiddleware(model, trigger=('tokens', 4_000))"
            self._warnings.warn(UserWarning(with_remedy(fact, "The model may refuse it", call)), key="excess")
        return _to_prompt(turn, messages, conversation.after(context))

    def _known_budget(self, model: Any) -> TokenBudget | None:
        """Return the budget given, or of the window given, or of `model`. If that is unknown: None, and a warning.

        Raises:
            ConfigError: the window is too small for any context.
        """
        if isinstance(self._budget, TokenBudget):
            return self._budget
        try:
            return TokenBudget.for_model(model, window=self._budget)
        except (InputError, ImportError, ConfigError) as error:
            if isinstance(error, ConfigError) and error.parameter != "model":
                raise
        effect = "Each context has at most max_tokens, but the whole prompt may be too long"
        message = with_remedy("The model's window is unknown", effect, "ContextMiddleware(budget=128_000)")
        self._warnings.warn(UserWarning(message), key="window")
        return None

    def _warn_about_tools(self, tools: Collection[Any]) -> None:
        """Warn of a retriever's tool that isn't read: without documents as its artifact, or without its name here."""
        for tool in tools:
            if not (isinstance(tool, BaseTool) and tool.args_schema is RetrieverInput):
                continue
            if tool.response_format == "content" or not self._tool_names:
                fact = f"The tool {tool.name[:60]!r} isn't read, so its results are sent to the model as they are"
                effect = "It needs response_format='content_and_artifact'"
                message = with_remedy(fact, effect, f"ContextMiddleware(tools=[{tool.name[:60]!r}])")
                self._warnings.warn(UserWarning(message), key="tools")


def _conversation_before(turn: Turn, state: Any) -> Conversation:
    """Return the conversation before the calls of this turn, whose labels continue after all labels given."""
    of_turn = {turn.messages[call.message_index].id for call in turn.calls}
    earlier = [message for message in state["messages"] if message.id not in of_turn]
    conversation = Conversation.from_messages(earlier, turn.tools)
    return replace(conversation, next_label=max(conversation.next_label, state.get("context_last_label", 0) + 1))


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
    is_first = not any(isinstance(message, ToolMessage) and status_of(message) for message in turn.messages)
    limit = config.token_limit if is_first else window.later_limit(config.token_limit)
    texts = (str(turn.messages[call.message_index].text) for call in turn.calls)
    earlier = "\n".join(sent.text for sent in conversation.seen_in(turn.earlier_messages, turn.tools).sent)
    found = (hit.chunk.text.strip() for call in turn.calls for hit in call.evidence.hits)
    seen = sum(window.count_text(text) for text in found if text in earlier and config.repeat == "never")
    needed = max(min(limit // 2, sum(map(window.count_text, texts)) - seen), 0)
    remaining = window.remaining([*system_messages, *turn.without_text()], limit)
    if remaining < needed and turn.context_indexes:
        turn = turn.without_contexts()
        remaining = window.remaining([*system_messages, *turn.without_text()], limit)
    return turn, remaining


def _to_prompt(turn: Turn, messages: Sequence[AnyMessage], conversation: Conversation) -> Prompt:
    changed = [new for old, new in zip(turn.messages, messages, strict=True) if old is not new]
    state = {"context_last_label": conversation.next_label - 1, "context_tools": sorted(turn.tools)}
    return Prompt([*messages], changed, state)


def _with_prompt(response: Any, prompt: Prompt) -> ExtendedModelResponse[Any]:
    """Return the model's response, after the messages that it has read in another form."""
    if not isinstance(response, ModelResponse):
        response = ModelResponse(result=[response])
    result = [*prompt.changed_messages, *response.result]
    full_response = ModelResponse(result=result, structured_response=response.structured_response)
    return ExtendedModelResponse(full_response, Command(update=prompt.state))
