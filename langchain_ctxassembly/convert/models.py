"""LangChain's models in the form the engine calls: functions from a prompt to an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from langchain_core.caches import BaseCache
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.messages import BaseMessage
from langchain_core.outputs import Generation
from langchain_core.runnables import Runnable, RunnableConfig

from ctxassembly.data.chunks import Chunk
from ctxassembly.errors import ConfigError
from ctxassembly.protocols import AnswerCache, RerankedPosition, Reranker
from ctxassembly.runtime.assemble import map_output
from ctxassembly.runtime.scorers import to_reranker

LLM_STRING = "ctxassembly.answer"
"""The place of a model's name in LangChain's keys: a cache may hold the answers of models, too."""


@dataclass(frozen=True)
class LangChainCache:
    """A LangChain cache, whose entries are texts."""

    cache: BaseCache

    def get(self, key: str) -> str | None:
        """Return the entry under `key`; None if there is none."""
        found = self.cache.lookup(key, LLM_STRING)
        return found[0].text if found else None

    def set(self, key: str, entry: str) -> None:
        """Keep `entry` under `key`."""
        self.cache.update(key, LLM_STRING, [Generation(text=entry)])


def as_cache(cache: Any) -> AnswerCache | None:
    """Return `cache` as an answer cache: a LangChain cache is wrapped, an object with `get` and `set` or None is kept.

    Raises:
        ConfigError: `cache` is neither.
    """
    if isinstance(cache, BaseCache):
        return LangChainCache(cache)
    if not (cache is None or (hasattr(cache, "get") and hasattr(cache, "set"))):
        raise ConfigError("cache", "a LangChain cache, or an object with get(key) and set(key, entry)", cache)
    return cast(AnswerCache | None, cache)


def text_model(llm: Any, config: Callable[[], RunnableConfig]) -> Any:
    """Return a function from a prompt to the answer of `llm`: a Runnable is invoked with what `config` returns then.

    None stays None.

    Of a message only the text is the answer, without blocks of reasoning and the like.
    """
    if isinstance(llm, Runnable):
        return lambda prompt: _answer_text(llm.invoke(prompt, config()))
    return None if llm is None else map_output(llm, _answer_text)


def async_text_model(llm: Any, config: Callable[[], RunnableConfig]) -> Any:
    """Async version of `text_model`."""
    if not isinstance(llm, Runnable):
        return text_model(llm, config)

    async def ask(prompt: str) -> Any:
        return _answer_text(await llm.ainvoke(prompt, config()))

    return ask


def _answer_text(answer: Any) -> Any:
    return str(answer.text) if isinstance(answer, BaseMessage) else answer


INDEX_KEY = "ctxassembly_place"
"""The metadata key by which a compressor's documents are known again, whatever it does with ids."""
SCORE_KEYS = ("relevance_score", "rerank_score", "score")


def as_reranker(reranker: Any) -> Reranker:
    """Return a reranker: a compressor or a cross-encoder is wrapped, a function is returned unchanged.

    Raises:
        ConfigError: `reranker` is none of these.
    """
    if isinstance(reranker, BaseDocumentCompressor):
        return partial(_rerank_with_compressor, reranker)
    return to_reranker(reranker, "compressors, cross-encoders or functions")


def _rerank_with_compressor(
    compressor: BaseDocumentCompressor, query: str, chunks: Sequence[Chunk]
) -> list[RerankedPosition]:
    documents = [
        Document(id=chunk.id, page_content=chunk.text, metadata={**chunk.metadata, INDEX_KEY: index})
        for index, chunk in enumerate(chunks)
    ]
    ranked: list[RerankedPosition] = []
    for document in compressor.compress_documents(documents, query):
        index = document.metadata[INDEX_KEY]
        given = chunks[index].metadata
        written = (document.metadata.get(key) for key in SCORE_KEYS if document.metadata.get(key) != given.get(key))
        score = next((score for score in written if score is not None), None)
        ranked.append((index, None if score is None else float(score)))
    return ranked
