"""`left_out_tool`: a tool by which an agent reads what a context left out, or the text around a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from llama_index.core.schema import NodeWithScore
from llama_index.core.tools import FunctionTool
from pydantic import BaseModel, Field

from ctxassembly.adapters.metadata import with_notes
from ctxassembly.concurrency import run_in_worker
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation, Labels
from ctxassembly.conversations.left_out import ARGUMENTS, TOOL_DESCRIPTION, TOOL_NAME, LeftOut, check_store_of_left_out
from ctxassembly.runtime.left_out import LeftOutRequest, aread_left_out, read_left_out
from llamaindex_ctxassembly.models import check_kind
from llamaindex_ctxassembly.postprocessor import ContextAssemblyPostprocessor, nodes_of


class LeftOutInput(BaseModel):
    """The arguments of the tool."""

    words: str | None = Field(None, description=ARGUMENTS["words"])
    document: str | None = Field(None, description=ARGUMENTS["document"])
    label: str | int | None = Field(None, description=ARGUMENTS["label"])


def left_out_tool(context: Context | Mapping[str, Any], *, postprocessor: ContextAssemblyPostprocessor) -> FunctionTool:
    """Return a tool for what `context` left out, by words or document, and for the text around a label.

    >>> from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore, assemble
    >>> said = {"a.pdf": "Eat nothing for six hours.", "b.pdf": "You may not drive that day."}
    >>> chunks = [Chunk(name, name, text, metadata={"source": name}) for name, text in said.items()]
    >>> context = assemble([Hit(chunk) for chunk in chunks], AssemblyConfig(max_tokens=20))
    >>> tool = left_out_tool(context, postprocessor=ContextAssemblyPostprocessor(store=MemoryStore(chunks)))
    >>> print(tool.call(words="drive").content)
    [2] Source: b.pdf
    You may not drive that day.
    >>> print(tool.call(document="c.pdf").content)
    Nothing that was left out matches. Left out and available: b.pdf

    The text is a separate context, within `max_tokens` of the postprocessor's config; `resolve` reads its nodes from
    the output of the agent. Labels continue after the labels in `context`, or in the postprocessor's `conversation`.

    A context says which chunks its search found, of more than 40 the best 40. The postprocessor's store is asked for
    their ids, with the filter of the call, and for their neighbors: a chunk that was deleted, or that the filter
    forbids, is neither shown nor listed. If the store fails, the model reads that, and the trace in an
    `ContextAssembledEvent` says why.

    Args:
        context: the context (`ContextAssemblyPostprocessor.context(nodes)` gives it), or its dict.
        postprocessor: the postprocessor with the settings, the store and the filter.

    Raises:
        ConfigError: `postprocessor` is something else, or has no store that finds chunks by their ids.
        InputError: `context` is something else.
    """
    check_kind("postprocessor", postprocessor, ContextAssemblyPostprocessor, "a ContextAssemblyPostprocessor")
    store = postprocessor.docstore or postprocessor.vector_store or postprocessor.store
    check_store_of_left_out(store, "left_out_tool(postprocessor=ContextAssemblyPostprocessor(docstore=...))")
    known, config = Context.from_dict(context), postprocessor.assembly_settings
    labels = replace(Conversation().after(known), labels=Labels())

    def prepare(wanted: Mapping[str, Any]) -> tuple[LeftOutRequest, dict[str, Any]]:
        """Return the request of a call, and the arguments of the assembly, whose hits it finds."""
        texts = {name: str(value) for name, value in wanted.items() if value is not None}
        arguments = postprocessor.arguments((), texts.get("words") or None, None)
        request = LeftOutRequest([known], texts, arguments["store"], arguments["transform_fetched"], config)
        return request, {**arguments, "conversation": arguments["conversation"] or labels}

    def run(**wanted: Any) -> list[NodeWithScore] | str:
        request, arguments = prepare(wanted)
        left_out = read_left_out(request)
        if not (left_out.hits or left_out.note):
            return left_out.reply
        arguments |= {"hits": left_out.hits, "config": left_out.config(config)}
        return _to_output(left_out, postprocessor.assemble(arguments))

    async def arun(**wanted: Any) -> list[NodeWithScore] | str:
        request, arguments = await run_in_worker(partial(prepare, wanted))
        left_out = await aread_left_out(request)
        if not (left_out.hits or left_out.note):
            return left_out.reply
        arguments |= {"hits": left_out.hits, "config": left_out.config(config)}
        return await run_in_worker(partial(_to_output, left_out, await postprocessor.aassemble(arguments)))

    return FunctionTool.from_defaults(
        run, name=TOOL_NAME, description=TOOL_DESCRIPTION, fn_schema=LeftOutInput, async_fn=arun, callback=_to_text
    )


def _to_output(left_out: LeftOut, context: Context) -> list[NodeWithScore] | str:
    if left_out.note:
        nodes_of(with_notes(context, [left_out.note]))  # for its event
        return left_out.reply
    return nodes_of(context) if left_out.is_answered(context) else left_out.reply


def _to_text(output: list[NodeWithScore] | str) -> str:
    return output if isinstance(output, str) else "\n\n".join(scored.node.get_content() for scored in output)
