"""`left_out_tool`: a tool by which a model reads what its contexts left out, or the text around a label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import patch_config
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool
from pydantic import BaseModel, ConfigDict, Field

from ctxassembly.concurrency import run_in_worker
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.conversations.left_out import ARGUMENTS, TOOL_DESCRIPTION, TOOL_NAME, LeftOut, find_left_out
from ctxassembly.conversations.sources import iter_contexts
from ctxassembly.errors import ConfigError
from ctxassembly.parameter_names import guess_names
from langchain_ctxassembly.agents.tool import conversation_in, label_sources
from langchain_ctxassembly.agents.turn import is_left_out
from langchain_ctxassembly.assembler import (
    ConfigurableAlternatives,
    ConfigurableFields,
    ContextAssembler,
    assembler_inputs,
)
from langchain_ctxassembly.convert.messages import to_tool_output

PrepareAssembler = Callable[[RunnableConfig, Any], tuple[ContextAssembler, RunnableConfig]]
"""A function from the config and the runtime of a call to the assembler for it, and its config."""


class LeftOutInput(BaseModel):
    """The arguments of the tool."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    words: str | None = Field(None, description=ARGUMENTS["words"])
    document: str | None = Field(None, description=ARGUMENTS["document"])
    page: str | None = Field(None, description=ARGUMENTS["page"])
    label: str | None = Field(None, description=ARGUMENTS["label"])
    runtime: Annotated[Any, InjectedToolArg] = None
    """LangGraph puts the agent's state here, by the name. The model doesn't see it."""


@guess_names
def left_out_tool(context: Context | Mapping[str, Any] | None = None, *, assembler: Any = None) -> BaseTool:
    """Return a tool for what `context` left out, by words, document or page, and for the text around a label.

    >>> from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
    >>> said = {"a.pdf": "Eat nothing for six hours.", "b.pdf": "You may not drive that day."}
    >>> hits = [Hit(Chunk(name, name, text, metadata={"source": name})) for name, text in said.items()]
    >>> tool = left_out_tool(assemble(hits, AssemblyConfig(max_tokens=20)))
    >>> print(tool.invoke({"words": "drive"}))
    [2] Source: b.pdf
    You may not drive that day.
    >>> print(tool.invoke({"page": "7"}))
    Nothing that was left out matches. Left out and available: b.pdf

    The text is a context of its own, within `max_tokens` of the assembler's config; its artifact is `to_dict()`. Labels
    continue after the labels in `context` and in the agent's state, or by the `labels` of the assembler's conversation.

    It reads only hits that a context has kept, which were admitted when it was assembled, and their neighbors, which
    the assembler fetches under its filter as ever. Of a search with more than 40 hits, a context keeps the best 40, and
    none of more than 8,000 characters: what isn't kept has to be searched for again.

    Args:
        context: the context or its dict. None reads the contexts in the agent's state; those count in any case.
        assembler: the `ContextAssembler`, which may have configurable fields; its store has the neighbors.

    Raises:
        ConfigError: `assembler` is something else.
        InputError: `context` is something else.
    """
    own = ContextAssembler() if assembler is None else assembler
    if not isinstance(own, (ContextAssembler, ConfigurableFields, ConfigurableAlternatives)):
        raise ConfigError("assembler", "a ContextAssembler, which may have configurable fields", assembler)
    return make_left_out_tool(None if context is None else Context.from_dict(context), partial(_prepare, own))


def make_left_out_tool(context: Context | None, prepare_assembler: PrepareAssembler) -> BaseTool:
    """Return the tool with an assembler that depends on the call."""
    search = _LeftOutSearch(context, prepare_assembler)
    return StructuredTool(
        name=TOOL_NAME,
        description=TOOL_DESCRIPTION,
        func=search.run,
        coroutine=search.arun,
        args_schema=LeftOutInput,
        response_format="content_and_artifact",
    )


def _prepare(assembler: Any, config: RunnableConfig, runtime: Any) -> tuple[ContextAssembler, RunnableConfig]:  # noqa: ARG001
    return (assembler, config) if isinstance(assembler, ContextAssembler) else assembler.prepare(config)


@dataclass(frozen=True)
class _LeftOutSearch:
    context: Context | None
    prepare_assembler: PrepareAssembler

    def run(self, config: RunnableConfig, callbacks: Any = None, runtime: Any = None, **wanted: Any) -> Any:
        left_out, assembler, config = self._prepare_call(patch_config(config, callbacks=callbacks), runtime, wanted)
        if not left_out.hits:
            return left_out.reply, None
        return _to_output(left_out, assembler.assemble_context(_inputs(left_out), config))

    async def arun(self, config: RunnableConfig, callbacks: Any = None, runtime: Any = None, **wanted: Any) -> Any:
        config = patch_config(config, callbacks=callbacks)
        left_out, assembler, config = await run_in_worker(partial(self._prepare_call, config, runtime, wanted))
        if not left_out.hits:
            return left_out.reply, None
        context = await assembler.aassemble_context(_inputs(left_out), config)
        return await run_in_worker(partial(_to_output, left_out, context))

    def _prepare_call(
        self, config: RunnableConfig, runtime: Any, wanted: Mapping[str, Any]
    ) -> tuple[LeftOut, ContextAssembler, RunnableConfig]:
        """Return the hits of a call, and the assembler for them."""
        assembler, config = self.prepare_assembler(config, runtime)
        state = [] if runtime is None else runtime.state
        sources = [*label_sources(state)]
        dropped = [one for one in sources if isinstance(one, ToolMessage) and is_left_out(one)]
        contexts = [] if self.context is None else [self.context]
        contexts += [
            one for one in iter_contexts([one for one in sources if one not in dropped]) if one not in contexts
        ]
        left_out = find_left_out(contexts, dropped=[*iter_contexts(dropped)], **wanted)
        own = left_out.config(assembler.config)
        labels = assembler.conversation.labels if assembler.conversation else None
        given = Conversation() if self.context is None else Conversation().after(self.context)
        first_label = max(own.first_label, given.next_label)
        call_id = None if runtime is None else runtime.tool_call_id
        conversation = conversation_in(state, first_label, call_id=call_id)
        conversation = replace(conversation, sent=(*given.sent, *conversation.sent), labels=labels)
        prepared = assembler.model_copy(update={"config": own, "conversation": conversation})
        prepared.share_warnings_with(assembler)
        return left_out, prepared, config


def _inputs(left_out: LeftOut) -> dict[str, Any]:
    return assembler_inputs(left_out.hits, left_out.query, None)


def _to_output(left_out: LeftOut, context: Context) -> Any:
    return to_tool_output(context) if left_out.is_answered(context) else (left_out.reply, None)
