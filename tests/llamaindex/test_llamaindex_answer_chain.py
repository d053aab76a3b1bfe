"""AnswerQueryEngine and AnswerChatEngine: responses, streams, conversations, spans, LLMs and faults."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.llms import LLM, CustomLLM, MockLLM
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters
from pydantic import PrivateAttr

from ctxassembly import AnswerError, Chunk, ConfigError, Conversation, InputError, MemoryIndex, RetrievalConfig
from ctxassembly.answering import AnswerConfig
from llamaindex_ctxassembly import (
    AnswerChatEngine,
    AnswerQueryEngine,
    ContextAssemblyPostprocessor,
    ContextRetriever,
    QuestionAnsweredEvent,
)
from llamaindex_samples import WordEmbedding

TEXTS = {
    "gastro": ("Drink water until two hours before a gastroscopy.", "Eat nothing for six hours before a gastroscopy."),
    "lab": ("Ferritin is measured in the morning.", "The laboratory opens at seven."),
}
QUESTION, ANSWER = "When is ferritin measured?", "In the morning [1]."
FOLLOWUP, REWRITTEN = "And before?", "What to drink before a gastroscopy?"
USAGE = {"choices": [{"finish_reason": "stop"}], "usage": {"prompt_tokens": 40, "completion_tokens": 5}}
TOKENS = {"choices": [], "usage": USAGE["usage"]}
Says = Callable[[Sequence[ChatMessage]], str]


def leaflets(*names: str, **metadata: Any) -> list[Chunk]:
    return [
        Chunk(f"{name}#{at}", name, text, at, metadata={"file_name": f"{name}.pdf", **metadata})
        for name in names or TEXTS
        for at, text in enumerate(TEXTS[name])
    ]


def retriever(chunks: Sequence[Chunk] = (), **given: Any) -> ContextRetriever:
    return ContextRetriever(
        MemoryIndex(chunks or leaflets()), config=RetrievalConfig(strategy="keyword", limit=2), **given
    )


class Notes(LLM):
    """What scripted LLMs share."""

    says: Says = lambda messages: ANSWER
    max_tokens: int | None = None
    fails_after: int | None = None
    raw: Any = USAGE
    """What the provider gives beside the text; in a stream with the last words, before None and the tokens."""
    _asked: list[tuple[str, list[ChatMessage], int | None]] = PrivateAttr(default_factory=list)
    _closed: list[int] = PrivateAttr(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, model_name="scripted")

    def begun(self, how: str, messages: Sequence[ChatMessage]) -> str:
        self._asked.append((how, list(messages), self.max_tokens))
        return self.says(messages)

    def pieces(self, text: str) -> list[ChatResponse]:
        cut = re.findall(r"\s*\S{1,4}", text)
        said = [ChatResponse(message=ChatMessage(content=one, role="assistant"), delta=one) for one in cut]
        said[-1].raw = self.raw
        last: Any = [None, ChatResponse(message=ChatMessage(content=text, role="assistant"), delta="", raw=TOKENS)]
        return [*said, *last]

    def failing(self, given: int) -> None:
        if given == self.fails_after:
            raise ConnectionError("connection reset")


class Scripted(Notes):
    """An LLM with a chat of its own, awaited natively."""

    def chat(self, messages: Any, **_: Any) -> ChatResponse:
        message = ChatMessage(content=self.begun("chat", messages), role="assistant")
        return ChatResponse(message=message, raw=self.raw)

    async def achat(self, messages: Any, **_: Any) -> ChatResponse:
        message = ChatMessage(content=self.begun("achat", messages), role="assistant")
        return ChatResponse(message=message, raw=self.raw)

    def stream_chat(self, messages: Any, **_: Any) -> Any:
        text = self.begun("stream_chat", messages)

        def pieces() -> Any:
            given = 0
            try:
                for piece in self.pieces(text):
                    yield piece
                    given += 1
                    self.failing(given)
            finally:
                self._closed.append(given)

        return pieces()

    async def astream_chat(self, messages: Any, **_: Any) -> Any:
        text = self.begun("astream_chat", messages)

        async def pieces() -> Any:
            given = 0
            try:
                for piece in self.pieces(text):
                    await asyncio.sleep(0)
                    yield piece
                    given += 1
                    self.failing(given)
            finally:
                self._closed.append(given)

        return pieces()

    def complete(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    stream_complete = acomplete = astream_complete = complete


class Completing(CustomLLM):
    """A CustomLLM, as users write them: its async methods would block the event loop."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return CompletionResponse(text=ANSWER)

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        return (CompletionResponse(text=ANSWER, delta=piece) for piece in re.findall(r"\s*\S+", ANSWER))


def following(understood: dict[str, Any], answer: str = ANSWER) -> Says:
    def says(messages: Sequence[ChatMessage]) -> str:
        is_understanding = (messages[0].content or "").startswith("Prepare a user's question")
        return json.dumps(understood) if is_understanding else answer

    return says


def labels(nodes: Any) -> list[str]:
    return [node.metadata["citation"]["label"] for node in nodes]


async def test_called_awaited_and_streamed_it_is_the_same_response() -> None:
    llm = Scripted()
    engine, streaming = (AnswerQueryEngine(llm, retriever(), streaming=one) for one in (False, True))
    response = engine.query(QUESTION)
    assert str(response) == ANSWER
    assert labels(response.source_nodes) == ["1"]
    assert "\n\n".join(node.text for node in response.source_nodes) == response.metadata["result"].context.text
    assert [one["source"] for one in response.metadata["citations"]] == ["lab.pdf"]
    assert response.metadata["trace"]["quality"]["labeled"] == 1.0
    json.dumps({key: value for key, value in response.metadata.items() if key != "result"})
    streamed = streaming.query(QUESTION)
    assert labels(streamed.source_nodes) == ["1"]
    pieces = list(streamed.response_gen)
    awaited = await streaming.aquery(QUESTION)
    assert [piece async for piece in awaited.response_gen] == pieces
    assert len(pieces) > 3
    for other in (await engine.aquery(QUESTION), streamed, awaited):
        assert other.metadata["citations"] == response.metadata["citations"]
        assert [node.text for node in other.source_nodes] == [node.text for node in response.source_nodes]
    assert "".join(pieces) == ANSWER
    assert [how for how, *_ in llm._asked] == ["chat", "stream_chat", "astream_chat", "achat"]


async def test_tokens_and_the_reason_of_the_end_are_told() -> None:
    for streaming in (False, True):
        response = AnswerQueryEngine(Scripted(), retriever(), streaming=streaming).query(QUESTION)
        str(response)
        step = response.metadata["trace"]["steps"][-1]
        assert (step["name"], step["tokens_in"], step["tokens_out"]) == ("answer", 40, 5)
        assert response.metadata["trace"]["finish"] == "stop"


async def test_an_llm_that_would_block_the_event_loop_is_called_in_a_thread() -> None:
    engine, streaming = (AnswerQueryEngine(Completing(), retriever(), streaming=one) for one in (False, True))
    assert str(await engine.aquery(QUESTION)) == ANSWER
    streamed = await streaming.aquery(QUESTION)
    assert "".join([piece async for piece in streamed.response_gen]) == ANSWER
    assert str(await AnswerQueryEngine(MockLLM(), retriever()).aquery(QUESTION)).startswith("text text")


def test_where_nothing_is_found_no_llm_is_asked() -> None:
    llm = Scripted()
    for streaming in (False, True):
        response = AnswerQueryEngine(llm, retriever(), streaming=streaming).query("qwe zzz")
        assert (str(response), response.source_nodes) == ("No relevant content found.", [])
    assert llm._asked == []


def test_a_mode_has_its_llm_and_its_limit() -> None:
    usual, other = Scripted(max_tokens=99), Scripted(says=lambda messages: "Thought harder [1].")
    engine = AnswerQueryEngine(usual, retriever(), models={"escalated": other})
    assert engine.answer(QUESTION).text == ANSWER
    assert engine.answer(QUESTION, mode="escalated").text == "Thought harder [1]."
    assert ([limit for *_, limit in usual._asked], [limit for *_, limit in other._asked]) == ([1000], [3000])


class Shelf(dict[str, str]):
    def set(self, key: str, entry: str) -> None:
        self[key] = entry


async def test_a_cache_is_asked_where_no_label_is_given_yet() -> None:
    llm, shelf = Scripted(says=following({"question": None})), Shelf()
    kept: dict[str, Any] = {"cache": shelf, "cache_scope": "all"}
    engine, streaming = (AnswerQueryEngine(llm, retriever(), streaming=one, **kept) for one in (False, True))
    first, again = engine.query(QUESTION), await engine.aquery(QUESTION)
    streamed = streaming.query(QUESTION)
    assert (str(first), str(again), str(streamed)) == (ANSWER, ANSWER, ANSWER)
    assert len(llm._asked) == 1
    assert labels(first.source_nodes) == labels(again.source_nodes) == labels(streamed.source_nodes) == ["1"]
    chat = AnswerChatEngine(engine)
    assert [labels(chat.chat(QUESTION).source_nodes) for _ in range(2)] == [["1"], ["1"]]


# Spans


async def test_each_step_is_a_span_and_an_answer_an_event(instruments: Any) -> None:
    events, spans = instruments
    llm = Scripted(says=following({"question": REWRITTEN}))
    config = AnswerConfig(rewrite="always")
    steps = ["understand", "retrieve", "assemble", "answer"]
    for streaming in (False, True):
        engine = AnswerQueryEngine(llm, retriever(), config, streaming=streaming)
        str(engine.query(QUESTION))
        awaited = await engine.aquery(QUESTION)
        if streaming:
            _ = [piece async for piece in awaited.response_gen]
    names = [span.id_.rpartition("-")[0].partition("-")[0] for span in spans.completed_spans]
    assert {name: names.count(name) for name in steps} == dict.fromkeys(steps, 4)
    ids = {span.id_: span for span in spans.completed_spans}
    parents = {ids[span.id_].parent_id for span in spans.completed_spans if span.id_.startswith("retrieve-")}
    assert len(parents) == 4
    answered = [event for event in events if isinstance(event, QuestionAnsweredEvent)]
    assert len(answered) == 4
    assert {event.question for event in answered} == {QUESTION}
    assert [step["name"] for step in answered[0].trace["steps"]] == steps


# Other retrievers and filters


def mine(value: str) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key="user", value=value)])


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")
async def test_the_retriever_of_an_ordinary_index_takes_filters_and_a_number() -> None:
    nodes = [
        TextNode(text=f"{user}'s ferritin is measured at {hour}.", metadata={"file_name": f"{user}.pdf", "user": user})
        for user in ("ann", "bob")
        for hour in ("eight", "noon", "two")
    ]
    index = VectorStoreIndex(nodes, embed_model=WordEmbedding())
    engine = AnswerQueryEngine(Scripted(), index.as_retriever(similarity_top_k=2))
    assert len(engine.answer(QUESTION).hits) == 2
    assert len(engine.answer(QUESTION, mode="full").hits) == 6
    for answer in (engine.answer(QUESTION, filters=mine("bob")), await engine.aanswer(QUESTION, filters=mine("bob"))):
        assert {hit.chunk.metadata["user"] for hit in answer.hits} == {"bob"}
    engine = AnswerQueryEngine(Scripted(), index.as_retriever(filters=mine("ann")))
    assert engine.answer(QUESTION, filters=mine("bob")).abstention_reason == "retrieval: nothing usable was found"


# Conversations


async def test_a_conversation_knows_what_was_said_and_cited() -> None:
    llm = Scripted(says=following({"question": REWRITTEN}))
    engine = AnswerQueryEngine(llm, retriever())
    for how in ("chat", "achat", "stream_chat", "astream_chat"):
        chat = AnswerChatEngine(engine)
        assert isinstance(chat, BaseChatEngine)
        for question in (QUESTION, FOLLOWUP):
            response = getattr(chat, how)(question)
            response = await response if asyncio.iscoroutine(response) else response
            if how == "stream_chat":
                assert "".join(response.response_gen) == ANSWER
            if how == "astream_chat":
                assert "".join([piece async for piece in response.async_response_gen()]) == ANSWER
        assert labels(response.source_nodes) == ["2"], how
        assert [message.content for message in chat.chat_history] == [QUESTION, ANSWER, FOLLOWUP, ANSWER]
        carried = chat.chat_history[1].additional_kwargs["ctxassembly"]
        assert carried["cited"] == ["lab"]
    chat.reset()
    assert chat.chat_history == []


def test_conversations_share_an_engine_and_nothing_else() -> None:
    engine = AnswerQueryEngine(Scripted(says=following({"question": None})), retriever())
    ann, bob = AnswerChatEngine(engine), AnswerChatEngine(engine)
    assert labels(ann.chat(QUESTION).source_nodes) == labels(bob.chat(QUESTION).source_nodes) == ["1"]
    assert labels(ann.chat(QUESTION).source_nodes) == ["1"]
    assert (ann.conversation.next_label, AnswerChatEngine(engine).conversation) == (2, Conversation())


async def test_half_an_answer_is_never_remembered() -> None:
    broken = AnswerQueryEngine(Scripted(fails_after=3), retriever())
    for how in ("stream_chat", "astream_chat"):
        chat = AnswerChatEngine(broken)
        response = getattr(chat, how)(QUESTION)
        if how == "stream_chat":
            with pytest.raises(AnswerError, match="connection reset"):
                list(response.response_gen)
        else:
            pieces = (await response).async_response_gen()
            with pytest.raises(AnswerError, match="connection reset"):
                _ = [piece async for piece in pieces]
        assert chat.chat_history == []


def failing(messages: Any) -> str:
    raise ConnectionError("429")


def test_an_llm_that_fails_at_once_fails_the_query_not_its_reader() -> None:
    with pytest.raises(AnswerError, match="429"):
        AnswerQueryEngine(Scripted(says=failing), retriever(), streaming=True).query(QUESTION)


async def test_a_reader_who_goes_away_stops_the_llm() -> None:
    llm = Scripted()
    engine = AnswerQueryEngine(llm, retriever(), streaming=True)
    response = engine.query(QUESTION)
    next(response.response_gen)
    response.response_gen.close()
    awaited = await engine.aquery(QUESTION)
    await anext(awaited.response_gen)
    await awaited.response_gen.aclose()
    assert len(llm._closed) == 2
    assert max(llm._closed) < 3


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: AnswerQueryEngine("gpt", retriever()), ConfigError, "llm must be a LlamaIndex LLM"),
        (lambda: AnswerQueryEngine(Scripted(), "lab"), ConfigError, "retriever must be a LlamaIndex retriever"),
        (lambda: AnswerQueryEngine(Scripted(), retriever(), {}), ConfigError, "config must be an AnswerConfig"),
        (lambda: AnswerQueryEngine(Scripted(), retriever(), mode="deep"), ConfigError, "mode must be one of"),
        (
            lambda: AnswerQueryEngine(Scripted(), retriever(), postprocessor=ContextAssemblyPostprocessor()),
            ConfigError,
            "postprocessor must be None",
        ),
        (lambda: AnswerChatEngine(Scripted()), ConfigError, "engine must be an AnswerQueryEngine"),
        (
            lambda: AnswerQueryEngine(Scripted(), retriever()).answer(QUESTION, chat_history=["Hi"]),
            InputError,
            "chat_history must be a list of ChatMessage",
        ),
    ],
)
def test_what_can_not_be_is_a_clear_error(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()
