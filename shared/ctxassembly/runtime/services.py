"""Answers to the requests of a flow: from a store, embeddings, a scorer or a language model, each called or awaited.

An object of the wrong kind is refused here, before anything is asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from ctxassembly.concurrency import gather_async, gather_sync, is_async, to_async
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.hints import hint_for_store
from ctxassembly.data.requests import CompressTexts, EmbedTexts, FetchChunks, Request, ScoreTexts
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import Store
from ctxassembly.runtime.scorers import to_scorer
from ctxassembly.safe_repr import safe_repr

Handler = Callable[[Any], Any]
"""A function from the content of a request to the reply."""
AsyncHandler = Callable[[Any], Awaitable[Any]]
"""The same, awaited."""
AnyHandler = TypeVar("AnyHandler", Handler, AsyncHandler)


def request_handler(
    store: object, embeddings: object, llm: object, transform_fetched: object = None, scorer: object = None
) -> Callable[[Request], Any]:
    """A function from a request to its reply.

    Raises:
        InputError: one of the five can't be called, or can only be awaited.
    """
    fetch = _with_transform(_fetcher(store), transform_fetched)
    return _dispatcher(fetch, _embedder(embeddings), _compressor(llm), _score_function(scorer))


def async_request_handler(
    store: object, embeddings: object, llm: object, transform_fetched: object = None, scorer: object = None
) -> Callable[[Request], Awaitable[Any]]:
    """A function from a request to its reply, awaited. Objects that can only be called are called in a thread.

    Raises:
        InputError: one of the five can be neither called nor awaited.
    """
    fetch, scoring = _with_async_transform(_async_fetcher(store), transform_fetched), to_scorer(scorer)
    ascore = None if scoring is None else scoring.ascore
    return _dispatcher(fetch, _async_embedder(embeddings), _async_compressor(llm), ascore)


def map_output(llm: Callable[[str], Any], transform: Callable[[Any], Any]) -> Callable[[str], Any]:
    """`llm` with `transform` applied to its answers. The function is async if `llm` is."""
    if not is_async(llm):
        return lambda prompt: transform(llm(prompt))

    async def call_llm(prompt: str) -> Any:
        return transform(await llm(prompt))

    return call_llm


def check_llm(llm: object, config: AssemblyConfig, kind: type, allowed: str) -> None:
    """Check the `llm` of an adapter: a function, a model of the framework's `kind`, or None if none is needed.

    Raises:
        ConfigError: `llm` is something else, or is missing; the message names `allowed`.
    """
    if llm is None and config.compress == "llm":
        raise ConfigError("llm", "given where compress is 'llm'", None)
    if not (llm is None or callable(llm) or isinstance(llm, kind)):
        raise ConfigError("llm", allowed, llm)


def _dispatcher(
    fetch: AnyHandler | None, embed: AnyHandler | None, compress: AnyHandler | None, score: AnyHandler | None
) -> AnyHandler:
    """A function that hands each request to the one of the four that answers it."""

    def ask(request: Request) -> Any:
        # A flow never asks for what it was told is missing, so none of the four is None here.
        if isinstance(request, FetchChunks):
            return cast(Handler, fetch)(request.refs)
        if isinstance(request, EmbedTexts):
            return cast(Handler, embed)(list(request.texts))
        if isinstance(request, ScoreTexts):
            return cast(Handler, score)(request)
        return cast(Handler, compress)(request)

    return ask


def _fetcher(store: object) -> Handler | None:
    if store is not None and not hasattr(store, "fetch"):
        hint = hint_for_store(store) or "; a store with afetch alone needs aassemble()"
        raise InputError(f"{type(store).__name__} has no fetch(refs){hint}")
    return None if store is None else cast(Store, store).fetch


def _async_fetcher(store: object) -> AsyncHandler | None:
    afetch: AsyncHandler | None = getattr(store, "afetch", None)
    if afetch is not None or store is None:
        return afetch
    if not hasattr(store, "fetch"):
        raise InputError(f"{type(store).__name__} has neither fetch(refs) nor afetch(refs){hint_for_store(store)}")
    fetch = cast(Store, store).fetch
    return cast(AsyncHandler, fetch) if is_async(fetch) else to_async(fetch)


def _with_transform(fetch: Handler | None, transform: object) -> Handler | None:
    """`fetch` with `transform` applied to the chunks it returns."""
    if transform is None or fetch is None:
        return fetch
    function = _check_transform(transform)
    if is_async(function):
        raise InputError("transform_fetched can only be awaited: it needs aassemble(), or the adapter's async methods")
    return lambda refs: function(fetch(refs))


def _with_async_transform(fetch: AsyncHandler | None, transform: object) -> AsyncHandler | None:
    if transform is None or fetch is None:
        return fetch
    function = _check_transform(transform)
    async_transform: AsyncHandler = function if is_async(function) else to_async(function)

    async def fetch_transformed(refs: Any) -> Any:
        return await async_transform(await fetch(refs))

    return fetch_transformed


def _check_transform(transform: object) -> Handler:
    if not callable(transform):
        raise InputError(f"transform_fetched must be a function from chunks to chunks, got {type(transform).__name__}")
    return transform


def _embedder(embeddings: object) -> Handler | None:
    ask = _sync_embed_method(embeddings)
    if ask is None and embeddings is not None:
        raise InputError(
            f"{type(embeddings).__name__} is no function and has no embed_documents(texts); "
            "what can only be awaited needs aassemble()"
        )
    return ask


def _async_embedder(embeddings: object) -> AsyncHandler | None:
    embed: AsyncHandler | None = getattr(embeddings, "aembed_documents", None)
    if embed is not None or embeddings is None:
        return embed
    if is_async(embeddings):
        return cast(AsyncHandler, embeddings)
    ask = _sync_embed_method(embeddings)
    if ask is None:
        raise InputError(
            f"{type(embeddings).__name__} is no function and has neither embed_documents(texts) "
            "nor aembed_documents(texts)"
        )
    return to_async(ask)


def _sync_embed_method(embeddings: object) -> Handler | None:
    method: Handler | None = getattr(embeddings, "embed_documents", None)
    if method is None and callable(embeddings) and not is_async(embeddings):
        return embeddings
    return method


def _compressor(llm: object) -> Handler | None:
    if llm is None:
        return None
    function = _llm_function(llm)
    if is_async(function):
        raise InputError("llm can only be awaited: it needs aassemble(), or the adapter's async methods")

    def ask(request: CompressTexts) -> list[str | Exception]:
        return _check_answers(gather_sync(function, request.prompts, request.timeout_seconds))

    return ask


def _async_compressor(llm: object) -> AsyncHandler | None:
    if llm is None:
        return None
    function = _llm_function(llm)

    async def ask(request: CompressTexts) -> list[str | Exception]:
        return _check_answers(await gather_async(function, request.prompts, request.timeout_seconds))

    return ask


def _llm_function(llm: object) -> Handler:
    if not callable(llm):
        raise InputError(f"llm must be a function from a prompt to an answer, got {type(llm).__name__}")
    return llm


def _score_function(scorer: object) -> Handler | None:
    scoring = to_scorer(scorer)
    if scoring is not None and not scoring.sync_methods:
        raise InputError("scorer can only be awaited: it needs aassemble(), or the adapter's async methods")
    return None if scoring is None else scoring.score


def _check_answers(answers: list[Any]) -> list[str | Exception]:
    return [answer if isinstance(answer, (str, Exception)) else _not_text_error(answer) for answer in answers]


def _not_text_error(answer: object) -> InputError:
    return InputError(f"llm must answer with a string, got {safe_repr(answer)}")
