"""Answers to the requests of a flow: from a store, embeddings, a scorer or a language model, each called or awaited.

An object of the wrong kind is refused here, before anything is asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from ctxassembly.concurrency import await_all, call_all, in_thread, is_async
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.hints import wrong_store
from ctxassembly.data.requests import CompressTexts, EmbedTexts, FetchChunks, Request, ScoreTexts
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import Store
from ctxassembly.runtime.scorers import scorer_of
from ctxassembly.safe_repr import shown

Ask = Callable[[Any], Any]
"""A function from the content of a request to the reply."""
AwaitableAsk = Callable[[Any], Awaitable[Any]]
"""The same, awaited."""
AnyAsk = TypeVar("AnyAsk", Ask, AwaitableAsk)


def asking(
    store: object, embeddings: object, llm: object, on_fetched: object = None, scorer: object = None
) -> Callable[[Request], Any]:
    """A function from a request to its reply.

    Raises:
        InputError: one of the five can't be called, or can only be awaited.
    """
    fetch = _hooked(_fetcher(store), on_fetched)
    return _question(fetch, _embedder(embeddings), _model(llm), _scoring(scorer))


def awaitable_asking(
    store: object, embeddings: object, llm: object, on_fetched: object = None, scorer: object = None
) -> Callable[[Request], Awaitable[Any]]:
    """A function from a request to its reply, awaited. Objects that can only be called are called in a thread.

    Raises:
        InputError: one of the five can be neither called nor awaited.
    """
    fetch, scoring = _awaitably_hooked(_awaitable_fetcher(store), on_fetched), scorer_of(scorer)
    ascore = None if scoring is None else scoring.ascore
    return _question(fetch, _awaitable_embedder(embeddings), _awaitable_model(llm), ascore)


def reading(llm: Callable[[str], Any], read: Callable[[Any], Any]) -> Callable[[str], Any]:
    """`llm` with `read` applied to its answers. The function is async if `llm` is."""
    if not is_async(llm):
        return lambda prompt: read(llm(prompt))

    async def awaited(prompt: str) -> Any:
        return read(await llm(prompt))

    return awaited


def check_llm(llm: object, config: AssemblyConfig, kind: type, allowed: str) -> None:
    """Check the `llm` of an adapter: a function, a model of the framework's `kind`, or None if none is needed.

    Raises:
        ConfigError: `llm` is something else, or is missing; the message names `allowed`.
    """
    if llm is None and config.compress == "llm":
        raise ConfigError("llm", "given where compress is 'llm'", None)
    if not (llm is None or callable(llm) or isinstance(llm, kind)):
        raise ConfigError("llm", allowed, llm)


def _question(fetch: AnyAsk | None, embed: AnyAsk | None, compress: AnyAsk | None, score: AnyAsk | None) -> AnyAsk:
    """A function that hands each request to the one of the four that answers it."""

    def ask(request: Request) -> Any:
        # A flow never asks for what it was told is missing, so none of the four is None here.
        if isinstance(request, FetchChunks):
            return cast(Ask, fetch)(request.refs)
        if isinstance(request, EmbedTexts):
            return cast(Ask, embed)(list(request.texts))
        if isinstance(request, ScoreTexts):
            return cast(Ask, score)(request)
        return cast(Ask, compress)(request)

    return ask


def _fetcher(store: object) -> Ask | None:
    if store is not None and not hasattr(store, "fetch"):
        instead = wrong_store(store) or "; a store with afetch alone needs aassemble()"
        raise InputError(f"{type(store).__name__} has no fetch(refs){instead}")
    return None if store is None else cast(Store, store).fetch


def _awaitable_fetcher(store: object) -> AwaitableAsk | None:
    afetch: AwaitableAsk | None = getattr(store, "afetch", None)
    if afetch is not None or store is None:
        return afetch
    if not hasattr(store, "fetch"):
        raise InputError(f"{type(store).__name__} has neither fetch(refs) nor afetch(refs){wrong_store(store)}")
    fetch = cast(Store, store).fetch
    return cast(AwaitableAsk, fetch) if is_async(fetch) else in_thread(fetch)


def _hooked(fetch: Ask | None, hook: object) -> Ask | None:
    """`fetch` with `hook` applied to the chunks it returns."""
    if hook is None or fetch is None:
        return fetch
    function = _hook(hook)
    if is_async(function):
        raise InputError("on_fetched can only be awaited: it needs aassemble(), or the adapter's async methods")
    return lambda refs: function(fetch(refs))


def _awaitably_hooked(fetch: AwaitableAsk | None, hook: object) -> AwaitableAsk | None:
    if hook is None or fetch is None:
        return fetch
    function = _hook(hook)
    awaited: AwaitableAsk = function if is_async(function) else in_thread(function)

    async def hooked(refs: Any) -> Any:
        return await awaited(await fetch(refs))

    return hooked


def _hook(hook: object) -> Ask:
    if not callable(hook):
        raise InputError(f"on_fetched must be a function from chunks to chunks, got {type(hook).__name__}")
    return hook


def _embedder(embeddings: object) -> Ask | None:
    ask = _synchronous(embeddings)
    if ask is None and embeddings is not None:
        raise InputError(
            f"{type(embeddings).__name__} is no function and has no embed_documents(texts); "
            "what can only be awaited needs aassemble()"
        )
    return ask


def _awaitable_embedder(embeddings: object) -> AwaitableAsk | None:
    awaited: AwaitableAsk | None = getattr(embeddings, "aembed_documents", None)
    if awaited is not None or embeddings is None:
        return awaited
    if is_async(embeddings):
        return cast(AwaitableAsk, embeddings)
    ask = _synchronous(embeddings)
    if ask is None:
        raise InputError(
            f"{type(embeddings).__name__} is no function and has neither embed_documents(texts) "
            "nor aembed_documents(texts)"
        )
    return in_thread(ask)


def _synchronous(embeddings: object) -> Ask | None:
    method: Ask | None = getattr(embeddings, "embed_documents", None)
    if method is None and callable(embeddings) and not is_async(embeddings):
        return embeddings
    return method


def _model(llm: object) -> Ask | None:
    if llm is None:
        return None
    function = _function(llm)
    if is_async(function):
        raise InputError("llm can only be awaited: it needs aassemble(), or the adapter's async methods")

    def ask(request: CompressTexts) -> list[str | Exception]:
        return _texts(call_all(function, request.prompts, request.timeout_seconds))

    return ask


def _awaitable_model(llm: object) -> AwaitableAsk | None:
    if llm is None:
        return None
    function = _function(llm)

    async def ask(request: CompressTexts) -> list[str | Exception]:
        return _texts(await await_all(function, request.prompts, request.timeout_seconds))

    return ask


def _function(llm: object) -> Ask:
    if not callable(llm):
        raise InputError(f"llm must be a function from a prompt to an answer, got {type(llm).__name__}")
    return llm


def _scoring(scorer: object) -> Ask | None:
    scoring = scorer_of(scorer)
    if scoring is not None and not scoring.called:
        raise InputError("scorer can only be awaited: it needs aassemble(), or the adapter's async methods")
    return None if scoring is None else scoring.score


def _texts(answers: list[Any]) -> list[str | Exception]:
    return [answer if isinstance(answer, (str, Exception)) else _no_text(answer) for answer in answers]


def _no_text(answer: object) -> InputError:
    return InputError(f"llm must answer with a string, got {shown(answer)}")
