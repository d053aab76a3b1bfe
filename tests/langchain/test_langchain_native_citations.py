"""Anthropic's native citations, through LangChain's own model class: what is sent, what comes back, what it means."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import anthropic
import pytest
from anthropic.types import MessageParam
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from pydantic import TypeAdapter

from ctxassembly import AssemblyConfig, Context
from langchain_ctxassembly import ContextAssembler, resolve_citations, to_search_results, to_tool_output
from langchain_samples import document, documents, memory_store

CORPUS = documents("A", "B", "C")
HTTP = import_module(anthropic.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0])
"""The HTTP library that the client is built on: httpx, or its successor."""
MESSAGES: TypeAdapter[Any] = TypeAdapter(list[MessageParam])
REPLY = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-test",
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "output_tokens": 4},
}


class Server:
    """Answers as Anthropic's API does, and keeps what it was asked."""

    def __init__(self, *content: dict[str, Any]) -> None:
        self.content = content
        self.asked: list[dict[str, Any]] = []

    def model(self) -> ChatAnthropic:
        made = ChatAnthropic(model_name="claude-test", api_key="none", max_tokens_to_sample=100)
        client = anthropic.DefaultHttpxClient(transport=HTTP.MockTransport(self._answer))
        made.__dict__["_client"] = anthropic.Anthropic(api_key="none", http_client=client, max_retries=0)
        return made

    def _answer(self, request: Any) -> Any:
        self.asked.append(json.loads(request.content))
        return HTTP.Response(200, json={**REPLY, "content": list(self.content)})


def read(*hits: tuple[str, int], supplement: str | None = None) -> Context:
    assembler = ContextAssembler(config=AssemblyConfig(neighbors="unfiltered"), store=memory_store(CORPUS))
    return assembler.as_context().invoke({"documents": [document(*hit) for hit in hits], "supplement": supplement})


def location(context: Context, result: int, first: int, end: int, *, before: int = 0) -> dict[str, Any]:
    """The citation that the API gives for text blocks of a search result, `before` of which came with others."""
    sent = to_search_results(context)[result]
    return {
        "type": "search_result_location",
        "cited_text": "".join(part["text"] for part in sent["content"][first:end]),
        "search_result_index": before + result,
        "start_block_index": first,
        "end_block_index": end,
        "source": sent["source"],
        "title": sent["title"],
    }


def text(said: str, *citations: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": said, "citations": list(citations) or None}


def asked(context: Context) -> HumanMessage:
    return HumanMessage([*to_search_results(context), {"type": "text", "text": "What is what?"}])


def annotations(message: AIMessage) -> list[Any]:
    blocks: list[Any] = message.content_blocks
    return [one for block in blocks if block["type"] == "text" for one in block.get("annotations", [])]


def test_a_native_citation_leads_to_the_chunk_that_it_names() -> None:
    context = read(("A", 2), ("B", 5))
    server = Server(text("It is "), text("the meadow", location(context, 0, 1, 2)), text("."))
    answer = server.model().invoke([asked(context)])
    sent = server.asked[0]["messages"][0]["content"]
    assert sent[:2] == to_search_results(context)
    message = resolve_citations(answer, context)
    assert message.text == "It is the meadow."
    (one,) = annotations(message)
    assert (one["start_index"], one["end_index"]) == (0, len("the meadow"))
    assert one["extras"]["chunk_ids"] == ["A#2"]
    assert (one["extras"]["label"], one["title"]) == ("1", "A.pdf")
    (source,) = one["extras"]["sources"]
    assert context.text[slice(*source["span"])].strip() == one["cited_text"].strip()
    assert message.response_metadata["ctxassembly"] == {"unknown": []}


def test_an_end_that_does_not_exceed_its_beginning_means_one_block() -> None:
    """As Anthropic's guide had it before."""
    context = read(("A", 2))
    place = {**location(context, 0, 1, 2), "end_block_index": 1}
    (one,) = annotations(resolve_citations(Server(text("It.", place)).model().invoke("?"), context))
    assert one["extras"]["chunk_ids"] == ["A#2"]


def test_a_supplement_is_cited_as_one() -> None:
    context = read(("A", 2), supplement="The hall seats 90.")
    (one,) = annotations(
        resolve_citations(Server(text("Ninety.", location(context, 1, 0, 1))).model().invoke("?"), context)
    )
    assert (one["cited_text"], one["title"]) == ("The hall seats 90.", "SUPPLEMENTARY INFORMATION")
    assert one["extras"]["supplement"] is True
    assert "label" not in one["extras"]


def test_several_contexts_count_on() -> None:
    """Labels don't matter here: both begin with 1."""
    first, second = read(("A", 2), ("B", 5)), read(("C", 3))
    answer = Server(text("It.", location(second, 0, 1, 2, before=2))).model().invoke("?")
    (one,) = annotations(resolve_citations(answer, [first, second]))
    assert one["extras"]["chunk_ids"] == ["C#3"]


def test_the_results_of_tools_count_as_they_stand_in_the_messages() -> None:
    """Those of another tool count, too, and mean nothing here."""
    first, second = read(("A", 2), ("B", 5)), read(("C", 3))
    calls = [{"name": "search", "args": {}, "id": f"{n}", "type": "tool_call"} for n in range(4)]
    foreign = [{**to_search_results(first)[0], "source": "elsewhere"}]

    def tool(context: Context, number: str, content: Any) -> ToolMessage:
        read, artifact = to_tool_output(context, content=content)
        return ToolMessage(read, artifact=artifact, tool_call_id=number)

    messages = [
        HumanMessage("What is what?"),
        AIMessage("", tool_calls=calls),
        tool(first, "0", "search_results"),
        ToolMessage(foreign, tool_call_id="1"),
        tool(first, "2", "text"),
        tool(second, "3", "search_results"),
    ]
    server = Server(
        text("It.", location(second, 0, 1, 2, before=3), {**location(first, 0, 0, 1, before=2), "source": "elsewhere"})
    )
    message = resolve_citations(server.model().invoke(messages), messages)
    mine, other = annotations(message)
    results = [block for turn in server.asked[0]["messages"] for block in turn["content"] if isinstance(block, dict)]
    assert [len(block["content"]) for block in results if block["type"] == "tool_result"][:2] == [2, 1]
    assert mine["extras"]["chunk_ids"] == ["C#3"]
    assert "chunk_ids" not in other["extras"]
    assert [one["source"] for one in message.response_metadata["ctxassembly"]["unknown"]] == ["elsewhere"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"search_result_index": 7},
        {"search_result_index": -1},
        {"start_block_index": 9, "end_block_index": 10},
        {"start_block_index": -2},
        {"source": "B.pdf"},
        {"cited_text": "It says something else."},
    ],
)
def test_a_citation_that_leads_nowhere_stays_as_it_was(wrong: dict[str, Any]) -> None:
    """Never to a wrong chunk: it may have been sent with other contexts, or in another order."""
    context = read(("A", 2), ("B", 5))
    answer = Server(text("It.", {**location(context, 0, 1, 2), **wrong})).model().invoke("?")
    message = resolve_citations(answer, context)
    assert annotations(message) == answer.content_blocks[0]["annotations"]  # type: ignore[typeddict-item]
    (place,) = message.response_metadata["ctxassembly"]["unknown"]
    assert wrong.items() <= {**place, "cited_text": annotations(message)[0]["cited_text"]}.items()


def test_an_answer_with_native_citations_is_not_read_for_labels() -> None:
    """The model has seen none: [1] is a document's own."""
    context = read(("A", 2))
    answer = Server(text("As in [1]: it.", location(context, 0, 1, 2)), text(" Or [2].")).model().invoke("?")
    message = resolve_citations(answer, context)
    assert [one["extras"].get("search_result_index") for one in annotations(message)] == [0]
    assert message.response_metadata["ctxassembly"] == {"unknown": []}


def test_the_result_may_be_sent_again() -> None:
    """As far as its provider is Anthropic: it is then mere text, since the API refuses what it doesn't know."""
    context = read(("A", 2))
    server = Server(text("the meadow", location(context, 0, 1, 2)))
    message = resolve_citations(server.model().invoke([asked(context)]), context)
    server.model().invoke([asked(context), message, HumanMessage("And then?")])
    again = server.asked[-1]["messages"]
    MESSAGES.validate_python(again)
    assert again[1] == {"role": "assistant", "content": [{"type": "text", "text": "the meadow"}]}
