"""Answers of both frameworks over one small index: the same chunks in, the same conversation, the same filter."""

from __future__ import annotations

import asyncio
import json
import math
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import VectorStoreIndex
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM, MockLLM
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from adapter_doors import Door
from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
from langchain_ctxassembly import ContextRetriever as LangChainRetriever
from langchain_ctxassembly import VectorStoreNeighbors, answer_chain
from llamaindex_ctxassembly import AnswerChatEngine, AnswerQueryEngine
from llamaindex_ctxassembly import ContextRetriever as LlamaIndexRetriever


def by_words(texts: list[str]) -> list[list[float]]:
    """Embed texts as hashed bags of words: near if words are shared."""
    vectors = []
    for text in texts:
        vector = [0.0] * 64
        for word in re.findall(r"\w+", text.lower()):
            vector[zlib.crc32(word.encode()) % 64] += 1.0
        length = math.hypot(*vector) or 1.0
        vectors.append([value / length for value in vector])
    return vectors


def reply(prompt: str, follow_up: str) -> str:
    """Understand each question as `follow_up`, and answer it."""
    return json.dumps({"question": follow_up}) if "Prepare a user" in prompt else "It is so [1]."


class _Llm(CustomLLM):
    follow_up: str

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=32_000)

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        return CompletionResponse(text=reply(prompt, self.follow_up))

    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
        raise NotImplementedError


class _Always(BaseRetriever):
    def __init__(self, found: list[Any]) -> None:
        super().__init__()
        self._found = found

    def _retrieve(self, query_bundle: Any) -> list[Any]:
        return self._found


@dataclass(frozen=True)
class Answers:
    """Answers by one door. Its LLM understands every question of a conversation as `follow_up`."""

    door: Door
    follow_up: str

    def tenant(self, name: str) -> Any:
        """Return the framework's filter for a tenant's chunks."""
        if self.door.is_langchain:
            return lambda found: found.metadata["tenant"] == name
        return MetadataFilters(filters=[MetadataFilter(key="tenant", value=name)])

    def always(self, *chunks: Chunk) -> Any:
        """Return a retriever that finds `chunks`."""
        hits = [self.door.hit(chunk) for chunk in chunks]
        return RunnableLambda(lambda _: hits) if self.door.is_langchain else _Always(hits)

    def index(self, *chunks: Chunk) -> Any:
        """Return a vector store, or an index, with `chunks`."""
        hits, embeddings = [self.door.hit(chunk) for chunk in chunks], self.door.embeddings(by_words)
        if not self.door.is_langchain:
            return VectorStoreIndex([hit.node for hit in hits], embed_model=embeddings)
        store = InMemoryVectorStore(embeddings)
        store.add_documents(hits)
        return store

    def search(self, index: Any, condition: Any = None) -> Any:
        """Return the retriever of the nearest chunk alone."""
        if self.door.is_langchain:
            return index.as_retriever(search_kwargs={"k": 1, **({"filter": condition} if condition else {})})
        return index.as_retriever(similarity_top_k=1, filters=condition)

    def fused(self, retriever: Any) -> Any:
        """Return a retriever around `retriever`, into which nobody looks for a filter."""
        if self.door.is_langchain:
            return EnsembleRetriever(retrievers=[retriever])
        return QueryFusionRetriever([retriever], llm=MockLLM(), num_queries=1, similarity_top_k=1, use_async=False)

    def over(self, index: Any, **settings: Any) -> Any:
        """Return the assembler, or the postprocessor, whose neighbors are in `index`."""
        store = {"store": VectorStoreNeighbors(index)} if self.door.is_langchain else {"docstore": index.docstore}
        return self.door.make(**store, **settings)

    def by_keyword(self, *chunks: Chunk, made: Any = None, tenant: str) -> Any:
        """Return a `ContextRetriever` of a tenant over an index in memory."""
        config, index = RetrievalConfig(strategy="keyword", limit=1), MemoryIndex(chunks)
        if self.door.is_langchain:
            own = {} if made is None else {"assembler": made}
            return LangChainRetriever(index=index, config=config, **own).with_filter({"tenant": tenant})
        return LlamaIndexRetriever(index, config=config, filters={"tenant": tenant}, postprocessor=made)

    def ask(self, retriever: Any, made: Any = None, condition: Any = None, *, history: Sequence[Any] = ()) -> Any:
        """Return the result of "And I?" after `history`."""
        if self.door.is_langchain:
            chain = answer_chain(self._langchain_llm(), retriever, assembler=made)
            given: Any = {"input": "And I?", "chat_history": list(history)}
            given |= {} if condition is None else {"filter": condition}
            return (asyncio.run(chain.ainvoke(given)) if self.door.is_async else chain.invoke(given))["result"]
        engine = AnswerQueryEngine(_Llm(follow_up=self.follow_up), retriever, postprocessor=made)
        named: Any = {"chat_history": list(history), "filters": condition}
        if self.door.is_async:
            return asyncio.run(engine.aanswer("And I?", **named))
        return engine.answer("And I?", **named)

    def history(self, question: str, chunk: Chunk) -> list[Any]:
        """Return the conversation in which `question` was answered by `chunk`, and it was cited."""
        if self.door.is_langchain:
            output = answer_chain(self._langchain_llm(), self.always(chunk)).invoke({"input": question})
            return [HumanMessage(question), output["message"]]
        chat = AnswerChatEngine(AnswerQueryEngine(_Llm(follow_up=self.follow_up), self.always(chunk)))
        chat.chat(question)
        history: list[Any] = chat.chat_history
        return history

    def _langchain_llm(self) -> Any:
        return RunnableLambda(lambda given: AIMessage(reply(str(given), self.follow_up)))
