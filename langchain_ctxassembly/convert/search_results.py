"""A context -> the `search_result` blocks that Anthropic's models cite natively."""

from __future__ import annotations

from typing import Any

from ctxassembly.context import Context
from ctxassembly.integrations.messages import context_given
from ctxassembly.integrations.search_results import results
from langchain_ctxassembly.convert.documents import GIVEN_BY


def to_search_results(context: Context) -> list[dict[str, Any]]:
    r"""A `search_result` content block for each label, for the content of a HumanMessage or a ToolMessage.

    Each has a text block for each chunk that stands in it, so that a native citation leads back to the chunk;
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
        for result in results(context_given(context, GIVEN_BY))
    ]
