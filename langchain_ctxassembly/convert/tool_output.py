"""A context -> the content and the artifact of a tool."""

from __future__ import annotations

from typing import Any, Literal, get_args

from ctxassembly.context import Context
from ctxassembly.errors import ConfigError
from ctxassembly.integrations.messages import context_given
from ctxassembly.wording.languages import LANGUAGES
from langchain_ctxassembly.convert.documents import GIVEN_BY
from langchain_ctxassembly.convert.search_results import to_search_results

Content = Literal["text", "search_results"]
"""`context.text` with its labels, or the blocks of `to_search_results`."""


def to_tool_output(
    context: Context, *, content: Content = "text"
) -> tuple[str | list[str | dict[Any, Any]], dict[str, Any]]:
    """The content and the artifact for a tool with `response_format="content_and_artifact"`.

    The content is `context.text`, which the model reads; with content="search_results", the blocks of
    `to_search_results`. For an empty context it is a sentence that says so, in the context's language. The artifact is
    `context.to_dict()`: plain data, which a strict checkpoint takes, and which `Context.from_dict` brings back.

    >>> from langchain_core.tools import tool
    >>> from ctxassembly import Chunk, Context, Hit, assemble
    >>> @tool(response_format="content_and_artifact")
    ... def search(query: str):
    ...     "Searches the leaflets."
    ...     return to_tool_output(assemble([Hit(Chunk("gastro#0", "gastro", "Drink water."))], query=query))
    >>> call = {"name": "search", "args": {"query": "May I drink?"}, "id": "1", "type": "tool_call"}
    >>> message = search.invoke(call)
    >>> print(message.content)
    [1] Source: unknown
    Drink water.
    >>> Context.from_dict(message.artifact).query
    'May I drink?'

    Raises:
        ConfigError: `content` is neither.
        InputError: `context` is no Context.
    """
    check_content(content)
    context = context_given(context, GIVEN_BY)
    read: Any = to_search_results(context) if content == "search_results" else context.text
    return read or LANGUAGES[context.language].nothing, context.to_dict()


def check_content(content: object) -> None:
    """Check the form of a tool's content.

    Raises:
        ConfigError: it is none of `Content`.
    """
    if content not in get_args(Content):
        raise ConfigError("content", "one of " + ", ".join(map(repr, get_args(Content))), content)
