"""LlamaIndex's LLMs, embedding models and rerankers, in the form that the engine calls."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass, replace
from functools import partial
from inspect import getattr_static
from typing import Any, cast

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import ChatMessage, ChatResponse
from llama_index.core.llms import CustomLLM
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, TextNode

from ctxassembly.answering.requests import FINISH_KEYS, AskModel, ModelReply
from ctxassembly.conversations.sources import get_field
from ctxassembly.data.chunks import Chunk
from ctxassembly.errors import ConfigError
from ctxassembly.protocols import RerankedPosition, Reranker
from ctxassembly.runtime.scorers import to_reranker
from ctxassembly.tokens.models import model_info

INPUT_TOKEN_KEYS = ("prompt_tokens", "input_tokens", "prompt_token_count")
OUTPUT_TOKEN_KEYS = ("completion_tokens", "output_tokens", "candidates_token_count")
"""The names under which providers report input and output tokens."""


@dataclass(frozen=True)
class _Embeddings:
    """A LlamaIndex embedding model with the methods that the engine calls."""

    model: BaseEmbedding

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each of `texts`, in their order."""
        return self.model.get_text_embedding_batch(texts)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Async version of `embed_documents`."""
        return await self.model.aget_text_embedding_batch(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return self.model.get_query_embedding(text)

    async def aembed_query(self, text: str) -> list[float]:
        """Async version of `embed_query`."""
        return await self.model.aget_query_embedding(text)


def check_kind(parameter: str, value: object, kind: type, allowed: str) -> None:
    """Check that `value` is of the class `kind`.

    Raises:
        ConfigError: it is not.
    """
    if not isinstance(value, kind):
        hint = f": write {parameter}=index.{parameter}" if hasattr(value, parameter) else ""
        raise ConfigError(parameter, allowed, value, hint)


def as_embeddings(embeddings: Any) -> Any:
    """Return embeddings for the engine: a LlamaIndex model is wrapped, anything else stays as it is."""
    return _Embeddings(embeddings) if isinstance(embeddings, BaseEmbedding) else embeddings


def text_model(llm: Any) -> Any:
    """Return a function from a prompt to the answer of `llm`: a LlamaIndex model completes it, a function stays."""
    return (lambda prompt: llm.complete(prompt).text) if isinstance(llm, BaseLLM) else llm


def async_text_model(llm: Any) -> Any:
    """Return the async version of `text_model`. If `acomplete` would block the event loop, a thread is used."""
    if not isinstance(llm, BaseLLM) or is_blocking(llm):
        return text_model(llm)

    async def ask(prompt: str) -> str:
        return (await llm.acomplete(prompt)).text

    return ask


def is_blocking(llm: BaseLLM) -> bool:
    """Return True if the LLM inherits `acomplete` from CustomLLM, which awaits nothing, so no deadline would apply."""
    return getattr_static(type(llm), "acomplete") is getattr_static(CustomLLM, "acomplete")


def as_reranker(reranker: Any) -> Reranker:
    """Return a reranker: a postprocessor or a cross-encoder is wrapped, a function is returned unchanged.

    Raises:
        ConfigError: `reranker` is none of these.
    """
    if isinstance(reranker, BaseNodePostprocessor):
        return partial(_rerank_with_postprocessor, reranker)
    return to_reranker(reranker, "node postprocessors, cross-encoders or functions")


def _rerank_with_postprocessor(
    postprocessor: BaseNodePostprocessor, query: str, chunks: Sequence[Chunk]
) -> list[RerankedPosition]:
    # The place is the id: it comes back whatever a postprocessor does with metadata.
    nodes = [
        NodeWithScore(node=TextNode(id_=str(index), text=chunk.text, metadata=dict(chunk.metadata)))
        for index, chunk in enumerate(chunks)
    ]
    ranked = postprocessor.postprocess_nodes(nodes, query_str=query)
    return [(int(node.node.node_id), node.score) for node in ranked if node.node.node_id.isdecimal()]


class SyncLLM:
    """LLMs with sync methods; async callers run them in a thread."""

    def __init__(self, llm: BaseLLM, models: Mapping[str, BaseLLM]) -> None:
        """Use the LLM in `models` for a mode that is there, else `llm`."""
        self._llm, self._models = llm, models

    def ask(self, request: AskModel) -> ModelReply:
        """Return the reply to `request`."""
        return _full_reply(self._model_for(request).chat(_to_messages(request)))

    def stream(self, request: AskModel) -> Iterator[ModelReply]:
        """Return the pieces of the reply. Closing this generator closes the LLM's own stream."""
        last: ChatResponse | None = None
        with closing(cast(Any, self._model_for(request).stream_chat(_to_messages(request)))) as pieces:
            for piece in pieces:
                last = piece or last
                yield _reply_piece(piece)
        if last:
            yield _usage(last)

    @property
    def model_name(self) -> str:
        """The names of the LLMs, for the key of a cached answer."""
        llms = {"": self._llm, **self._models}
        return "; ".join(
            f"{mode} {type(llm).__qualname__} {llm.metadata.model_name}".strip() for mode, llm in llms.items()
        )

    def window_for(self, mode: str) -> int | None:
        """Return the window of the LLM of `mode`, if its metadata says it."""
        info = model_info(self._models.get(mode, self._llm))
        return info.window if info else None

    def _model_for(self, request: AskModel) -> BaseLLM:
        llm = self._models.get(request.mode, self._llm)
        can_limit = request.max_tokens is not None and "max_tokens" in type(llm).model_fields
        return llm.model_copy(update={"max_tokens": request.max_tokens}) if can_limit else llm


class AsyncLLM(SyncLLM):
    """LLMs with async methods, too."""

    async def aask(self, request: AskModel) -> ModelReply:
        """Return the reply to `request`."""
        return _full_reply(await self._model_for(request).achat(_to_messages(request)))

    async def astream(self, request: AskModel) -> AsyncIterator[ModelReply]:
        """Async version of `stream`."""
        last: ChatResponse | None = None
        async with aclosing(cast(Any, await self._model_for(request).astream_chat(_to_messages(request)))) as pieces:
            async for piece in pieces:
                last = piece or last
                yield _reply_piece(piece)
        if last:
            yield _usage(last)


def chat_model(llm: BaseLLM) -> SyncLLM:
    """Return an LLM as the engine asks one: for `enrich`, or an `AnswerChain` over an index.

    >>> from ctxassembly import Chunk, MemoryIndex
    >>> from ctxassembly.enrichment import enrich
    >>> from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
    >>> from llama_index.core.llms import CustomLLM
    >>> class Scripted(CustomLLM):
    ...     @property
    ...     def metadata(self):
    ...         return LLMMetadata()
    ...
    ...     def complete(self, prompt, formatted=False, **settings):
    ...         return CompletionResponse(text='{"summary": "On blood tests."}')
    ...
    ...     def stream_complete(self, prompt, formatted=False, **settings):
    ...         raise NotImplementedError
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> enrich(index, chat_model(Scripted()), progress=False).documents
    1

    Pass an embedding model by its method: `enrich(..., embed=embed_model.get_text_embedding_batch)`.

    Raises:
        ConfigError: `llm` is something else.
    """
    check_kind("llm", llm, BaseLLM, "a LlamaIndex LLM")
    return wrap_llm(llm, {})


def wrap_llm(llm: BaseLLM, models: Mapping[str, BaseLLM]) -> SyncLLM:
    """Return the model of a chain. One whose async methods would block the event loop is called in a thread instead."""
    kind = SyncLLM if any(map(is_blocking, (llm, *models.values()))) else AsyncLLM
    return kind(llm, models)


def _to_messages(request: AskModel) -> list[ChatMessage]:
    return [ChatMessage(content=message["content"], role=message["role"]) for message in request.messages]


def _full_reply(response: ChatResponse) -> ModelReply:
    return replace(_usage(response), text=response.message.content or "", finish_reason=_finish(response))


def _reply_piece(piece: ChatResponse | None) -> ModelReply:
    return ModelReply(piece.delta or "", _finish(piece)) if piece else ModelReply("")  # some streams have None between


def _usage(response: ChatResponse) -> ModelReply:
    """Return the tokens of a response, or of the last one of a stream, as each provider reports them."""
    usages = (get_field(response.raw, "usage"), get_field(response.raw, "usage_metadata"), response.additional_kwargs)
    tokens = (_first(usages, keys, int) for keys in (INPUT_TOKEN_KEYS, OUTPUT_TOKEN_KEYS))
    return ModelReply("", None, *tokens)


def _finish(response: ChatResponse) -> str | None:
    raw = response.raw
    choices = (next(iter(get_field(raw, name) or ()), None) for name in ("choices", "candidates"))
    objects = (*choices, raw, get_field(raw, "delta"), get_field(raw, "incomplete_details"), response.additional_kwargs)
    finish = _first(objects, FINISH_KEYS)
    return None if finish is None else str(finish)


def _first(objects: Iterable[Any], names: Iterable[str], kind: type = object) -> Any:
    values = (get_field(object_, name) for object_ in objects for name in names)
    return next((value for value in values if value is not None and isinstance(value, kind)), None)
