"""`AnswerChatEngine`: a conversation with an `AnswerQueryEngine`, kept in a memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, closing
from dataclasses import replace
from typing import Any

from llama_index.core import Settings
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.chat_engine.types import AgentChatResponse, BaseChatEngine, StreamingAgentChatResponse
from llama_index.core.memory import BaseMemory, ChatMemoryBuffer

from ctxassembly.conversations.conversation import Conversation, Labels, given_conversation
from llamaindex_ctxassembly.answer_run import EngineRun, conversation_of
from llamaindex_ctxassembly.models import check_kind
from llamaindex_ctxassembly.query_engine import AnswerQueryEngine

MEMORY_TOKENS = 1_000_000
"""More than a conversation has: `AnswerConfig.history_tokens`, 8,000, limits what the model reads of it.

A buffer that is full leaves out one more message at each turn, so every prompt would begin in another way."""


class AnswerChatEngine(BaseChatEngine):
    """One conversation: questions can refer to earlier answers and their sources, and documents keep their labels.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> from llama_index.core.llms import MockLLM
    >>> from llamaindex_ctxassembly import ContextRetriever
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> engine = AnswerQueryEngine(MockLLM(), ContextRetriever(index, config=RetrievalConfig(strategy="keyword")))
    >>> chat = AnswerChatEngine(engine)
    >>> for _ in range(2):
    ...     print(chat.chat("When is ferritin measured?").source_nodes[0].text.splitlines()[0])
    [1] Source: unknown
    [1] Source: unknown
    >>> [message.role.value for message in chat.chat_history]
    ['user', 'assistant', 'user', 'assistant']

    A question and its answer enter the memory together, once the answer is complete: a stream that fails or is
    abandoned leaves nothing there. The assistant's message carries the chunks that it cites, if the memory keeps
    `additional_kwargs`. Concurrent questions, in threads or on the event loop, never share a label, but may leave a
    gap, as does an abandoned answer.

    Args:
        engine: the engine that answers. Several conversations may share it.
        memory: the memory of the conversation; None means a `ChatMemoryBuffer` that keeps all of it.
        mode: the mode of the next questions; None means the mode of `engine`.
        filters: the filters of this conversation's user.
        conversation: the labels so far, of answers that aren't in `memory`.
    """

    def __init__(
        self,
        engine: AnswerQueryEngine,
        memory: BaseMemory | None = None,
        *,
        mode: str | None = None,
        filters: Any = None,
        conversation: Conversation | None = None,
    ) -> None:
        check_kind("engine", engine, AnswerQueryEngine, "an AnswerQueryEngine")
        self._engine, self._filters = engine, filters
        self._memory = memory or ChatMemoryBuffer.from_defaults(token_limit=MEMORY_TOKENS)
        given = given_conversation(conversation) or Conversation()
        self._given = replace(given, labels=given.labels or Labels())
        self.mode = mode

    @classmethod
    def from_defaults(
        cls,
        retriever: BaseRetriever,
        llm: BaseLLM | None = None,
        *,
        chat_history: list[ChatMessage] | None = None,
        memory: BaseMemory | None = None,
        filters: Any = None,
        conversation: Conversation | None = None,
        **settings: Any,
    ) -> AnswerChatEngine:
        """Return a conversation over a retriever, as CondensePlusContextChatEngine has it.

        >>> from llama_index.core import Document, MockEmbedding, VectorStoreIndex
        >>> from llama_index.core.llms import MockLLM
        >>> leaflet = Document(text="Ferritin is measured in the morning.", metadata={"file_name": "lab.pdf"})
        >>> index = VectorStoreIndex.from_documents([leaflet], embed_model=MockEmbedding(embed_dim=4))
        >>> chat = AnswerChatEngine.from_defaults(index.as_retriever(), MockLLM())
        >>> chat.chat("When is ferritin measured?").source_nodes[0].metadata["citation"]["source"]
        'lab.pdf'

        Args:
            retriever: any retriever.
            llm: the LLM; None means `Settings.llm`.
            chat_history: earlier messages, which are put into the memory.
            memory: the memory; None means a `ChatMemoryBuffer` that keeps all of it.
            filters: the filters of this conversation's user.
            conversation: the labels so far, of answers that aren't in the memory.
            settings: further parameters of `AnswerQueryEngine`, such as `postprocessor`.

        Raises:
            ConfigError: as `AnswerQueryEngine` does.
        """
        engine = AnswerQueryEngine(llm or Settings.llm, retriever, **settings)
        chat_engine = cls(engine, memory, filters=filters, conversation=conversation)
        if chat_history:
            chat_engine._memory.put_messages(chat_history)
        return chat_engine

    @property
    def chat_history(self) -> list[ChatMessage]:
        """All messages so far."""
        return self._memory.get_all()

    @property
    def conversation(self) -> Conversation:
        """The conversation so far: the given one, and what the answers in the memory carry."""
        return self._given.join(conversation_of(self.chat_history))

    def reset(self) -> None:
        """Forget the conversation."""
        self._memory.reset()
        self._given = Conversation(labels=Labels())

    def chat(self, message: str, chat_history: list[ChatMessage] | None = None) -> AgentChatResponse:
        """Return the answer to `message`; a `chat_history` takes the place of the memory's."""
        run = self._prepare_run(message, chat_history)
        answer = run.answer()
        self._memory.put_messages(run.exchange())
        return AgentChatResponse(answer.text, source_nodes=run.nodes, metadata=run.metadata)

    async def achat(self, message: str, chat_history: list[ChatMessage] | None = None) -> AgentChatResponse:
        """Async version of `chat`."""
        run = await self._aprepare_run(message, chat_history)
        answer = await run.aanswer()
        await self._memory.aput_messages(run.exchange())
        return AgentChatResponse(answer.text, source_nodes=run.nodes, metadata=run.metadata)

    def stream_chat(self, message: str, chat_history: list[ChatMessage] | None = None) -> StreamingAgentChatResponse:
        """Return the answer to `message` as a stream, read by `response_gen`."""
        run = self._prepare_run(message, chat_history, is_streamed=True)
        pieces = run.pieces()

        def stream() -> Generator[ChatResponse, None, None]:
            with closing(pieces):
                yield from map(_chat_piece, pieces)
            self._memory.put_messages(run.exchange())

        # The response's own thread would write half an answer into the memory where a stream breaks.
        return StreamingAgentChatResponse(chat_stream=stream(), source_nodes=run.nodes, is_writing_to_memory=False)

    async def astream_chat(
        self, message: str, chat_history: list[ChatMessage] | None = None
    ) -> StreamingAgentChatResponse:
        """Async version of `stream_chat`: read by `async_response_gen()`."""
        run = await self._aprepare_run(message, chat_history, is_streamed=True)
        pieces = await run.apieces()

        async def stream() -> AsyncGenerator[ChatResponse, None]:
            async with aclosing(pieces):
                async for piece in pieces:
                    yield _chat_piece(piece)
            await self._memory.aput_messages(run.exchange())

        return StreamingAgentChatResponse(achat_stream=stream(), source_nodes=run.nodes, is_writing_to_memory=False)

    def _prepare_run(
        self, message: str, chat_history: list[ChatMessage] | None, *, is_streamed: bool = False
    ) -> EngineRun:
        if chat_history is not None:
            self._memory.set(chat_history)
            self._given = Conversation(labels=Labels())
        return self._start_run(message, self._memory.get(message), self._memory.get_all(), is_streamed)

    async def _aprepare_run(
        self, message: str, chat_history: list[ChatMessage] | None, *, is_streamed: bool = False
    ) -> EngineRun:
        if chat_history is not None:
            await self._memory.aset(chat_history)
            self._given = Conversation(labels=Labels())
        return self._start_run(message, await self._memory.aget(message), await self._memory.aget_all(), is_streamed)

    def _start_run(
        self, message: str, history: list[ChatMessage], messages: list[ChatMessage], is_streamed: bool
    ) -> EngineRun:
        conversation = self._given.join(conversation_of(messages))
        return self._engine.start_run(
            message, history, self.mode, self._filters, conversation=conversation, is_streamed=is_streamed
        )


def _chat_piece(text: str) -> ChatResponse:
    return ChatResponse(message=ChatMessage(content=text, role="assistant"), delta=text)
