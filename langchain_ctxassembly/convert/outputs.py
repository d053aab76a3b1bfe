"""A context and a question -> the messages that a LangChain chat model takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from ctxassembly.context import Context
from ctxassembly.errors import ConfigError
from ctxassembly.integrations.messages import check_context
from ctxassembly.integrations.search_results import search_results
from ctxassembly.wording.languages import LANGUAGES
from langchain_ctxassembly.convert.documents import CONTEXT_CALL


def to_messages(
    context: Context,
    question: str,
    style: str = "grounded",
    extra_instructions: str | None = None,
    *,
    extra_rules: Sequence[str] = (),
    template: str | None = None,
) -> list[BaseMessage]:
    """Return a system and a human message, worded as by `Context.to_messages`.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> [message.type for message in to_messages(assemble([Hit(Chunk("a", "a", "Rest."))]), "May I rest?")]
    ['system', 'human']

    Raises:
        InputError: `context` is no Context.
    """
    context = check_context(context, CONTEXT_CALL)
    system, user = context.to_messages(question, style, extra_instructions, extra_rules=extra_rules, template=template)
    return [SystemMessage(system["content"]), HumanMessage(user["content"])]


def to_search_results(context: Context) -> list[dict[str, Any]]:
    r"""Return a `search_result` content block for each label, for the content of a HumanMessage or a ToolMessage.

    Each has a text block for each chunk in it, so that a native citation leads back to the chunk;
    `resolve_citations` does that. `title` is the source and the place in it, `source` the URL, else the file, else the
    document id. There are no labels to read, and no header but the title.

    A line break or the marker of a gap between two chunks begins the text of the second. Text that belongs to no chunk
    (`header_keys`, a page summary) is a text block of its own, before the chunks. A supplement is a block of its own,
    with the source "supplement". An empty context gives an empty list.

    Only models that know these blocks take them: ChatAnthropic, and Claude on Bedrock or Vertex. Citations are on for
    all of them, since Anthropic wants them on for all search results of a request, or for none.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> said = ("Drink water.", "Eat nothing.")
    >>> hits = [Hit(Chunk(f"a#{n}", "a", text, n, metadata={"source": "a.pdf"})) for n, text in enumerate(said)]
    >>> [block] = to_search_results(assemble(hits))
    >>> block["title"], [part["text"] for part in block["content"]], block["citations"]
    ('a.pdf', ['Drink water.', '\nEat nothing.'], {'enabled': True})

    Raises:
        InputError: `context` is no Context.
    """
    return [
        {
            "type": "search_result",
            "source": result.source,
            "title": result.title,
            "content": [{"type": "text", "text": excerpt.text} for excerpt in result.excerpts],
            "citations": {"enabled": True},
        }
        for result in search_results(check_context(context, CONTEXT_CALL))
    ]


Content = Literal["text", "search_results"]
"""`context.text` with its labels, or the blocks of `to_search_results`."""


def to_tool_output(
    context: Context, *, content: Content = "text"
) -> tuple[str | list[str | dict[Any, Any]], dict[str, Any]]:
    """Return the content and the artifact for a tool with `response_format="content_and_artifact"`.

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
    context = check_context(context, CONTEXT_CALL)
    output: Any = to_search_results(context) if content == "search_results" else context.text
    return output or LANGUAGES[context.language].nothing, context.to_dict()


def check_content(content: object) -> None:
    """Check the form of a tool's content.

    Raises:
        ConfigError: it is none of `Content`.
    """
    if content not in get_args(Content):
        raise ConfigError("content", "one of " + ", ".join(map(repr, get_args(Content))), content)
