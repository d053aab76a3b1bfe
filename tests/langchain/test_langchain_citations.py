"""LangChain's citations in an answer, from the labels in it."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.messages.content import create_citation, create_text_block

from ctxassembly import AssemblyConfig, Chunk, Context, Conversation, Hit, Labels, assemble
from ctxassembly.errors import InputError
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    answer_chain,
    resolve_citations,
    to_documents,
    to_tool_output,
)
from langchain_samples import document, documents, memory_store, vector_store

CORPUS = documents("A", "B", "C", page=4)
HITS = [document("A", 5, page=4), document("B", 2, page=4, title="Of B", url="https://example.org/b")]


def context(hits: Any = None, **settings: Any) -> Context:
    config = AssemblyConfig(neighbors="unfiltered")
    made = ContextAssembler(config=config, store=memory_store(CORPUS), **settings)
    return made.as_context().invoke(HITS if hits is None else hits)


def cited(message: AIMessage) -> list[tuple[str, str]]:
    """The text at each annotation, with its label."""
    blocks: list[Any] = [block for block in message.content_blocks if block["type"] == "text"]
    return [
        (block["text"][one["start_index"] : one["end_index"]], one["extras"]["label"])
        for block in blocks
        for one in block.get("annotations", [])
    ]


def test_a_label_becomes_an_annotation_at_its_place() -> None:
    read = context()
    message = resolve_citations(AIMessage("The falcon [2] and the harbour [1].", id="run-1"), read)
    assert cited(message) == [("[2]", "2"), ("[1]", "1")]
    assert (message.text, message.id) == ("The falcon [2] and the harbour [1].", "run-1")
    ((block),) = message.content_blocks
    first = block["annotations"][0]  # type: ignore[typeddict-item]
    assert first["type"] == "citation"
    assert (first["title"], first["url"]) == ("Of B", "https://example.org/b")
    assert first["cited_text"] == read.citations[1].snippet
    extras = first["extras"]
    assert extras["chunk_ids"] == ["B#1", "B#2", "B#3"]
    assert (extras["document_id"], extras["reference"], extras["pages"]) == ("B", "B.pdf, page 4", [4])


def test_its_extras_lead_to_the_characters_of_the_source() -> None:
    said = ("Drink water until two hours before. ", "Eat nothing. Then rest.")
    chunks = [Chunk(f"a#{n}", "a", text, n, start=n * len(said[0])) for n, text in enumerate(said)]
    read = assemble([Hit(chunk) for chunk in chunks])
    message = resolve_citations(AIMessage("Rest [1]."), read)
    (one,) = message.content_blocks[0]["annotations"]  # type: ignore[typeddict-item]
    sources = one["extras"]["sources"]
    assert [source["chunk_id"] for source in sources] == ["a#0", "a#1"]
    whole = "".join(said)
    for source in sources:
        assert whole[source["start"] : source["end"]] == read.text[slice(*source["span"])]


@pytest.mark.parametrize("content", ["", "No label.", []])
def test_an_answer_without_labels_stays_as_it_is(content: Any) -> None:
    message = resolve_citations(AIMessage(content), context())
    assert cited(message) == []
    assert message.text == (content or "")
    assert message.response_metadata["ctxassembly"] == {"unknown": []}


# Blocks of content


def test_each_block_counts_from_its_own_beginning() -> None:
    blocks: Any = [
        {"type": "text", "text": "The falcon [1]. "},
        {"type": "reasoning", "reasoning": "Is it [2]?"},
        {"type": "text", "text": "The harbour [2]."},
    ]
    message = resolve_citations(AIMessage(content_blocks=blocks), context())
    assert [block["type"] for block in message.content_blocks] == ["text", "reasoning", "text"]
    assert cited(message) == [("[1]", "1"), ("[2]", "2")]
    assert message.content_blocks[2]["annotations"][0]["start_index"] == len("The harbour ")  # type: ignore[typeddict-item]
    assert message.content_blocks[1] == blocks[1]


def test_annotations_of_others_stay() -> None:
    own = create_citation(url="https://example.org", start_index=0, end_index=3)
    block = create_text_block("The falcon [1].", annotations=[own])
    message = resolve_citations(AIMessage(content_blocks=[block]), context())
    assert message.content_blocks[0]["id"] == block["id"]  # type: ignore[typeddict-item]
    first, second = message.content_blocks[0]["annotations"]  # type: ignore[typeddict-item]
    assert first == own
    assert second["extras"]["label"] == "1"


def test_what_else_a_message_has_is_kept() -> None:
    calls: Any = [{"name": "search", "args": {"query": "x"}, "id": "1", "type": "tool_call"}]
    usage: Any = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    given = AIMessage(
        "It is [1].",
        id="run-1",
        tool_calls=calls,
        usage_metadata=usage,
        additional_kwargs={"own": 1},
        response_metadata={"model_name": "m", "model_provider": "openai"},
    )
    before = given.model_copy(deep=True)
    message = resolve_citations(given, context())
    assert (message.tool_calls, message.usage_metadata, message.additional_kwargs) == (calls, usage, {"own": 1})
    assert message.response_metadata["model_name"] == "m"
    assert [block["type"] for block in message.content_blocks] == ["text", "tool_call"]
    assert given == before


def test_the_pieces_of_a_stream_are_resolved_when_they_are_whole() -> None:
    read = context()
    model = GenericFakeChatModel(messages=iter([AIMessage("The falcon [1].")]))
    whole: Any = None
    for piece in model.stream("?"):
        whole = piece if whole is None else whole + piece
    assert isinstance(whole, AIMessageChunk)
    message = resolve_citations(whole, read)
    assert type(message) is AIMessage
    assert cited(message) == [("[1]", "1")]


# What it was read in


def test_documents_will_do_but_tell_no_place_in_the_source() -> None:
    message = resolve_citations(AIMessage("The falcon [2]."), to_documents(context()))
    (one,) = message.content_blocks[0]["annotations"]  # type: ignore[typeddict-item]
    assert (one["title"], one["extras"]["chunk_ids"]) == ("Of B", ["B#1", "B#2", "B#3"])
    assert one["extras"]["sources"] == []


def test_several_contexts_of_one_conversation_are_told_apart_by_their_labels() -> None:
    labels = Labels()
    first, second = (
        context(HITS[:1], conversation=Conversation(labels=labels)),
        context(HITS[1:], conversation=Conversation(labels=labels)),
    )
    message = resolve_citations(AIMessage("One [1], other [2]."), [first, second])
    sources = [one["extras"]["sources"] for one in message.content_blocks[0]["annotations"]]  # type: ignore[typeddict-item]
    for read, found in zip((first, second), sources, strict=True):
        assert [source["span"] for source in found] == [list(source.span) for source in read.provenance]
    with pytest.raises(InputError, match="label 1 refers to two sources"):
        resolve_citations(AIMessage("It is [1]."), [context(HITS[:1]), context(HITS[1:])])


def test_the_messages_of_a_state_will_do() -> None:
    """Those of tools of others are passed over, whatever they bring."""
    labels = Labels()
    content, artifact = to_tool_output(context(HITS[:1], conversation=Conversation(labels=labels)))
    other, documents_of_it = context(HITS[1:], conversation=Conversation(labels=labels)), 3
    messages = [
        HumanMessage("What is what?"),
        AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": "1", "type": "tool_call"}]),
        ToolMessage(content, artifact=artifact, tool_call_id="1"),
        ToolMessage(other.text, artifact=to_documents(other), name="documents", tool_call_id="2"),
        ToolMessage("7", artifact={"rows": 7}, tool_call_id="3"),
        ToolMessage("7", artifact=[7], tool_call_id="4"),
    ]
    message = resolve_citations(AIMessage("One [1], other [2], none [3]."), messages, tools=["documents"])
    assert cited(message) == [("[1]", "1"), ("[2]", "2")]
    assert message.response_metadata["ctxassembly"] == {"unknown": ["3"]}
    assert Conversation.from_messages(messages[:4], ["documents"]).next_label == documents_of_it


@pytest.mark.parametrize("given", [3, "text", None, [3], {"context": 1}])
def test_what_holds_no_sources_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match="sources must be contexts"):
        resolve_citations(AIMessage("It is [1]."), given)


@pytest.mark.parametrize("given", ["text", HumanMessage("It is [1]."), None])
def test_what_is_no_answer_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match="message must be an AIMessage, got"):
        resolve_citations(given, context())


# In chains


def test_the_message_of_an_answer_chain_holds_its_own_citations() -> None:
    retriever = ContextAssemblyRetriever.from_vectorstore(vector_store(CORPUS), hits=2)
    model = GenericFakeChatModel(messages=iter([AIMessage("It is the falcon [1].")]))
    said = answer_chain(model, retriever).invoke({"input": "What of the falcon?"})
    assert cited(resolve_citations(said["message"], said["message"])) == [("[1]", "1")]
    assert cited(resolve_citations(said["message"], said["result"].context)) == [("[1]", "1")]
