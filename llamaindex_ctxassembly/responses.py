"""The citations of a response, of any LlamaIndex engine or agent whose nodes were assembled by us.

CitationQueryEngine cuts the nodes of its postprocessors into pieces and writes "Source 1:", "Source 2:" ... above them,
so that a marker in the answer names another source than its label: such nodes are refused.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

from llama_index.core.base.response.schema import AsyncStreamingResponse, StreamingResponse
from llama_index.core.chat_engine.types import StreamingAgentChatResponse

from ctxassembly.citations.reader import AnswerReader, Mode, Resolved
from ctxassembly.conversations.sources import answer_reader, get_field
from ctxassembly.conversations.sources import resolve as resolved_over
from ctxassembly.data.citations import block_in
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr

_SOURCE_LINE = re.compile(r"Source [0-9]+:\n")
"""The line that CitationQueryEngine writes above each piece of a node."""
_INSTEAD = "AnswerQueryEngine.from_args(index)"


def resolve(response: Any, mode: Mode = "renumber") -> Resolved:
    """Return the citations that the answer in `response` uses, the unused and the unknown ones, and its text.

    >>> from llama_index.core.base.response.schema import Response
    >>> from llama_index.core.schema import NodeWithScore, TextNode
    >>> from llamaindex_ctxassembly import ContextAssemblyPostprocessor
    >>> said = TextNode(id_="gastro#0", text="Drink water.", metadata={"file_name": "gastro.pdf"})
    >>> nodes = ContextAssemblyPostprocessor().postprocess_nodes([NodeWithScore(node=said)])
    >>> resolved = resolve(Response("You may drink water [1].", nodes))
    >>> [citation.source for citation in resolved.citations], resolved.unknown
    (['gastro.pdf'], ())

    Args:
        response: the response of a query engine, a chat engine or an agent: a Response, StreamingResponse,
            AsyncStreamingResponse, AgentChatResponse, StreamingAgentChatResponse or AgentOutput; also one that was
            pickled, but none that was JSON: keep the context of such an answer. A StreamingResponse that nobody has
            read is read here; any other stream must have been read to its end. For citations while an answer streams
            in, there is `citation_reader`.
        mode: "renumber" counts the markers 1 to n by first use, "keep" leaves them, "remove" is for speech.

    Raises:
        InputError: it is no response; its stream was not read, or was read past the response, so that its text is lost;
            its nodes are not ours, or CitationQueryEngine has numbered them again; or two sources have the same label.
    """
    sources = _sources(response)
    return resolved_over(_response_text(response), sources, mode)


def citation_reader(response: Any, mode: Mode = "keep") -> AnswerReader:
    """Return a reader for a streamed response: citations are known as the pieces arrive, sync or async.

    >>> from llama_index.core.base.response.schema import StreamingResponse
    >>> from llama_index.core.schema import NodeWithScore, TextNode
    >>> from llamaindex_ctxassembly import ContextAssemblyPostprocessor
    >>> said = TextNode(id_="gastro#0", text="Drink water.", metadata={"file_name": "gastro.pdf"})
    >>> nodes = ContextAssemblyPostprocessor().postprocess_nodes([NodeWithScore(node=said)])
    >>> response = StreamingResponse(iter(["Drink wa", "ter [", "1", "]."]), nodes)
    >>> answer = citation_reader(response)
    >>> [answer.feed(piece) for piece in response.response_gen], answer.close()
    (['Drink wa', 'ter ', '', '[1].'], '')
    >>> [citation.source for citation in answer.resolved.citations]
    ['gastro.pdf']

    Async: `async for piece in response.async_response_gen()`.

    Raises:
        InputError: as `resolve` does, but for the text.
    """
    return answer_reader(_sources(response), mode)


def _sources(response: Any) -> list[Any]:
    """Return the nodes that the answer was read from.

    Raises:
        InputError: none of them is ours, or another engine has numbered them again.
    """
    nodes = list(_nodes(response))
    ours = [node for node in nodes if block_in(get_field(_inner_node(node), "metadata")) is not None]
    texts = [] if ours else [text for node in nodes if (text := _node_text(node)).strip()]
    if any(map(_SOURCE_LINE.match, texts)):
        raise InputError(f"the nodes of the response were split and numbered by CitationQueryEngine. Use {_INSTEAD}")
    if texts:
        raise InputError(
            "the response must have the source nodes of a ContextAssemblyPostprocessor, got "
            f"{safe_repr(_inner_node(nodes[0]), 80)}: put it last into node_postprocessors"
        )
    return nodes


def _nodes(response: Any) -> Iterator[Any]:
    """Return the source nodes of a response, or else those in the outputs of the tools that were called for it."""
    nodes = get_field(response, "source_nodes")
    calls = get_field(response, "tool_calls") or ()
    tools = get_field(response, "sources") or [get_field(call, "tool_output") for call in calls]
    if nodes is None and not hasattr(response, "tool_calls"):
        raise InputError(f"response must be what a query engine, chat engine or agent gave, got {safe_repr(response)}")
    if nodes:
        yield from nodes
        return
    for output in (get_field(tool, "raw_output") for tool in tools):
        inner = get_field(output, "source_nodes") if get_field(output, "source_nodes") is not None else output
        if isinstance(inner, Sequence) and not isinstance(inner, (str, bytes)):
            yield from (one for one in inner if get_field(_inner_node(one), "metadata") is not None)


def _response_text(response: Any) -> str:
    """Return the whole answer in `response`.

    Raises:
        InputError: it is a stream that has to be read first, or that was read past the response.
    """
    if isinstance(response, (StreamingResponse, AsyncStreamingResponse)):
        return _stream_text(response)
    answer = get_field(response, "response")
    if isinstance(response, StreamingAgentChatResponse) and not answer and not response.is_done:
        raise InputError("the response must be read first, to its end, by response_gen or async_response_gen()")
    return str((get_field(answer, "content") if hasattr(answer, "content") else answer) or "")


def _stream_text(response: StreamingResponse | AsyncStreamingResponse) -> str:
    answer = (response.metadata or {}).get("result")  # of an AnswerQueryEngine, once its answer is whole
    if (text := getattr(answer, "text", response.response_txt)) is not None:
        return str(text)
    if isinstance(response, AsyncStreamingResponse):
        remedy = f"write resolve(await response.get_response()), or {_READER_HINT}"
        raise InputError(f"the response must be read first: {remedy}")
    pieces: Any = response.response_gen
    if inspect.isgenerator(pieces) and inspect.getgeneratorstate(pieces) != inspect.GEN_CREATED:
        raise InputError(f"the text of the response was read from response_gen and is not kept: {_READER_HINT}")
    return response.get_response().response or ""


_READER_HINT = "feed the pieces to citation_reader(response) for citations as they come"


def _inner_node(node: Any) -> Any:
    """Return the node in a NodeWithScore."""
    return get_field(node, "node") or node


def _node_text(node: Any) -> str:
    return str(get_field(_inner_node(node), "text") or "")
