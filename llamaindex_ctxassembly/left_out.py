"""`left_out_tool`: a tool by which an agent reads what a context left out, or the text around a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from llama_index.core.schema import NodeWithScore
from llama_index.core.tools import FunctionTool
from pydantic import BaseModel, Field

from ctxassembly.concurrency import run_in_worker
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.conversations.labels import Labels
from ctxassembly.conversations.left_out import ARGUMENTS, TOOL_DESCRIPTION, TOOL_NAME, LeftOut, find_left_out
from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly.postprocessor import AssembledNodes, ContextAssemblyPostprocessor


class LeftOutInput(BaseModel):
    """The arguments of the tool."""

    words: str | None = Field(None, description=ARGUMENTS["words"])
    document: str | None = Field(None, description=ARGUMENTS["document"])
    page: str | int | None = Field(None, description=ARGUMENTS["page"])
    label: str | int | None = Field(None, description=ARGUMENTS["label"])


def left_out_tool(
    context: Context | Mapping[str, Any], *, postprocessor: ContextAssemblyPostprocessor | None = None
) -> FunctionTool:
    """Return a tool for what `context` left out, by words, document or page, and for the text around a label.

    >>> from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
    >>> said = {"a.pdf": "Eat nothing for six hours.", "b.pdf": "You may not drive that day."}
    >>> hits = [Hit(Chunk(name, name, text, metadata={"source": name})) for name, text in said.items()]
    >>> tool = left_out_tool(assemble(hits, AssemblyConfig(max_tokens=20)))
    >>> print(tool.call(words="drive").content)
    [2] Source: b.pdf
    You may not drive that day.
    >>> print(tool.call(page=7).content)
    Nothing that was left out matches. Left out and available: b.pdf

    The text is a separate context, within `max_tokens` of the postprocessor's config; `resolve` reads its nodes from
    the output of the agent. Labels continue after the labels in `context`, or in the postprocessor's `conversation`.

    It reads only hits that the context has kept, and their neighbors, which the postprocessor fetches under its filter.
    Of a search with more than 40 hits, a context keeps the best 40, and no text of more than 8,000 characters: what
    isn't kept has to be searched for again.

    Args:
        context: the context (`ContextAssemblyPostprocessor.context(nodes)` gives it), or its dict.
        postprocessor: the postprocessor with the settings, and with the store of neighbors.

    Raises:
        ConfigError: `postprocessor` is something else.
        InputError: `context` is something else.
    """
    own = ContextAssemblyPostprocessor() if postprocessor is None else postprocessor
    if not isinstance(own, ContextAssemblyPostprocessor):
        raise ConfigError("postprocessor", "a ContextAssemblyPostprocessor", postprocessor)
    known = Context.from_dict(context)
    search = _LeftOutSearch(known, own, replace(Conversation().after(known), labels=Labels()))
    return FunctionTool.from_defaults(
        search.run,
        name=TOOL_NAME,
        description=TOOL_DESCRIPTION,
        fn_schema=LeftOutInput,
        async_fn=search.arun,
        callback=_to_text,
    )


@dataclass(frozen=True)
class _LeftOutSearch:
    context: Context
    postprocessor: ContextAssemblyPostprocessor
    conversation: Conversation

    def run(self, **wanted: Any) -> list[NodeWithScore] | str:
        left_out = self._find(wanted)
        if not left_out.hits:
            return left_out.reply
        return self.postprocessor.assemble_as(partial(_to_output, left_out), self._arguments(left_out))

    async def arun(self, **wanted: Any) -> list[NodeWithScore] | str:
        left_out = await run_in_worker(partial(self._find, wanted))
        if not left_out.hits:
            return left_out.reply
        return await self.postprocessor.aassemble_as(partial(_to_output, left_out), self._arguments(left_out))

    def _find(self, wanted: Mapping[str, Any]) -> LeftOut:
        texts: dict[str, Any] = {name: str(value) for name, value in wanted.items() if value is not None}
        return find_left_out([self.context], **texts)

    def _arguments(self, left_out: LeftOut) -> dict[str, Any]:
        arguments = self.postprocessor.arguments(left_out.hits, left_out.query, None)
        arguments["config"] = left_out.config(self.postprocessor.config)
        if arguments["conversation"] is None:
            arguments["conversation"] = self.conversation
        return arguments


def _to_output(left_out: LeftOut, context: Context) -> list[NodeWithScore] | str:
    return AssembledNodes.build(context).emit_event().nodes if left_out.is_answered(context) else left_out.reply


def _to_text(output: list[NodeWithScore] | str) -> str:
    return output if isinstance(output, str) else "\n\n".join(scored.node.get_content() for scored in output)
