"""LangChain's models as the engine asks them: functions from a prompt to an answer."""

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
from ctxassembly.integrations.cross_encoder import reranker_of
from ctxassembly.protocols import AnswerCache, Ranked, Reranker
from ctxassembly.runtime.services import reading

KIND = "ctxassembly.answer"
"""The place of a model's name in LangChain's keys: a cache may hold the answers of models, too."""


@dataclass(frozen=True)
class Kept:
    """A LangChain cache, whose entries are texts."""

    cache: BaseCache

    def get(self, key: str) -> str | None:
        """The entry under `key`; None if there is none."""
        found = self.cache.lookup(key, KIND)
        return found[0].text if found else None

    def set(self, key: str, entry: str) -> None:
        """Keep `entry` under `key`."""
        self.cache.update(key, KIND, [Generation(text=entry)])


def as_cache(given: Any) -> AnswerCache | None:
    """`given` as a cache of answers: a LangChain cache, or an object with `get` and `set` as it is; None stays None.

    Raises:
        ConfigError: `given` is neither.
    """
    if isinstance(given, BaseCache):
        return Kept(given)
    if not (given is None or (hasattr(given, "get") and hasattr(given, "set"))):
        raise ConfigError("cache", "a LangChain cache, or an object with get(key) and set(key, entry)", given)
    return cast(AnswerCache | None, given)


def model(llm: Any, config: Callable[[], RunnableConfig]) -> Any:
    """A function from a prompt to the answer of `llm`: a Runnable is invoked with what `config` returns then.

    None stays None.

    Of a message only the text is the answer, without blocks of reasoning and the like.
    """
    if isinstance(llm, Runnable):
        return lambda prompt: _text(llm.invoke(prompt, config()))
    return None if llm is None else reading(llm, _text)


def async_model(llm: Any, config: Callable[[], RunnableConfig]) -> Any:
    """The same, awaited."""
    if not isinstance(llm, Runnable):
        return model(llm, config)

    async def ask(prompt: str) -> Any:
        return _text(await llm.ainvoke(prompt, config()))

    return ask


def _text(answer: Any) -> Any:
    return str(answer.text) if isinstance(answer, BaseMessage) else answer


PLACE = "ctxassembly_place"
"""The metadata key by which a compressor's documents are known again, whatever it does with ids."""
SCORES = ("relevance_score", "rerank_score", "score")


def as_reranker(given: Any) -> Reranker:
    """The reranking of `given`: a compressor, a cross-encoder with `score` or `predict`, or a function as it is.

    Raises:
        ConfigError: `given` is none of these.
    """
    if isinstance(given, BaseDocumentCompressor):
        return partial(_compressed, given)
    return reranker_of(given, "compressors, cross-encoders or functions")


def _compressed(compressor: BaseDocumentCompressor, query: str, chunks: Sequence[Chunk]) -> list[Ranked]:
    documents = [
        Document(id=chunk.id, page_content=chunk.text, metadata={**chunk.metadata, PLACE: place})
        for place, chunk in enumerate(chunks)
    ]
    ranked: list[Ranked] = []
    for document in compressor.compress_documents(documents, query):
        place = document.metadata.get(PLACE)
        if not isinstance(place, int) or not 0 <= place < len(chunks):
            continue
        before = chunks[place].metadata
        scores = (document.metadata.get(key) for key in SCORES if document.metadata.get(key) != before.get(key))
        score = next((score for score in scores if score is not None), None)
        ranked.append((place, None if score is None else float(score)))
    return ranked
