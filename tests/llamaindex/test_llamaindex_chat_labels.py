"""Labels of a conversation's turns, also of turns at once: no label of one memory means two sources."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.llms.types import ChatResponse
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.node_parser import SentenceSplitter
from pydantic import PrivateAttr

from ctxassembly import AssemblyConfig, resolve
from llamaindex_ctxassembly import AnswerChatEngine, AnswerQueryEngine, ContextAssemblyPostprocessor
from llamaindex_samples import WordEmbedding
from test_llamaindex_answer_chain import Scripted

TOPICS = ("drinking", "eating", "walking", "sleeping")
CONFIG = AssemblyConfig(neighbors="unfiltered")


class Waiting(Scripted):
    """Answers once `parties` questions have been asked."""

    parties: int = 1
    _barrier: Any = PrivateAttr()
    _waiting: list[Any] = PrivateAttr(default_factory=list)
    _all_asked: Any = PrivateAttr()

    def __init__(self, parties: int = 1) -> None:
        super().__init__(parties=parties)
        self._barrier, self._all_asked = Barrier(parties), asyncio.Event()

    def chat(self, messages: Any, **_: Any) -> ChatResponse:
        self._barrier.wait(10)
        return super().chat(messages)

    async def achat(self, messages: Any, **_: Any) -> ChatResponse:
        self._waiting.append(messages)
        if len(self._waiting) == self.parties:
            self._all_asked.set()
        await asyncio.wait_for(self._all_asked.wait(), 10)
        return await super().achat(messages)


def retriever() -> Any:
    documents = [
        Document(text=f"A rule on {topic} from page {page}. " * 4, metadata={"file_name": f"{topic}.pdf", "page": page})
        for topic in TOPICS
        for page in (1, 2)
    ]
    nodes = SentenceSplitter(chunk_size=64, chunk_overlap=0, include_metadata=False).get_nodes_from_documents(documents)
    return VectorStoreIndex(nodes, embed_model=WordEmbedding()).as_retriever(similarity_top_k=3)


RETRIEVER = retriever()


def chatting(llm: Waiting, memory: Any = None, **settings: Any) -> AnswerChatEngine:
    assembly = ContextAssemblyPostprocessor(config=CONFIG)
    return AnswerChatEngine(AnswerQueryEngine(llm, RETRIEVER, postprocessor=assembly, **settings), memory)


def labels(response: Any) -> list[int]:
    return [int(node.metadata["citation"]["label"]) for node in response.source_nodes]


def check(chat: AnswerChatEngine, responses: list[Any], *, at_once: bool = True) -> None:
    found = [label for response in responses for label in labels(response)]
    assert len(set(found)) >= len(responses)
    assert len(found) == len(set(found)) or not at_once
    assert len(chat.chat_history) == 2 * len(responses)
    sources = [response.source_nodes for response in responses]
    for response in responses:
        label = labels(response)[0]
        (cited,) = resolve(f"So it is [{label}].", sources).citations
        assert cited.chunk_ids == tuple(response.source_nodes[0].metadata["chunk_ids"])


def check_kept(responses: list[Any]) -> None:
    """The last response gives known documents one of their labels, and others new labels."""
    sources: dict[int, str] = {}
    for response in responses:
        last, known = max(sources, default=0), set(sources.values())
        for node in response.source_nodes:
            label, source = int(node.metadata["citation"]["label"]), node.metadata["citation"]["document_id"]
            assert sources.setdefault(label, source) == source
            assert response is not responses[-1] or (label > last) != (source in known)


QUESTIONS = [f"What is the rule on {topic}?" for topic in TOPICS]


def test_turns_in_threads_share_no_label() -> None:
    chat = chatting(Waiting(4))
    with ThreadPoolExecutor(4) as pool:
        responses = list(pool.map(chat.chat, QUESTIONS))
    check(chat, responses)
    after = chatting(Waiting(), ChatMemoryBuffer.from_defaults(chat.chat_history)).chat(QUESTIONS[0])
    check_kept([*responses, after])


async def test_turns_on_the_event_loop_share_no_label() -> None:
    chat = chatting(Waiting(4))
    responses = await asyncio.gather(*(chat.achat(question) for question in QUESTIONS))
    check(chat, list(responses))


def test_streams_at_once_share_no_label() -> None:
    """Both have begun before either is read; then one after the other is."""
    chat = chatting(Waiting())
    streams = [chat.stream_chat(question) for question in QUESTIONS[:2]]
    for stream in reversed(streams):
        assert "".join(stream.response_gen)
    check(chat, streams)
    check_kept([*streams, chat.chat(QUESTIONS[2])])
