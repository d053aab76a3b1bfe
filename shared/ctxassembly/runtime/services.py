"""Handlers of the requests of an assembly: a store, embeddings, a scorer and a language model of the caller's.

An object of the wrong kind is refused here, before any request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from ctxassembly.concurrency import is_async
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.hints import hint_for_store
from ctxassembly.data.requests import EmbedTexts, FetchChunks, Request, ScoreTexts
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.runtime.port import Port
from ctxassembly.runtime.scorers import CachedScorer, to_scorer
from ctxassembly.safe_repr import safe_repr


class _Ports(NamedTuple):
    fetch: Port
    embed: Port
    llm: Port
    transform: Port
    scorer: CachedScorer | None


def request_handler(
    store: object, embeddings: object, llm: object, transform_fetched: object = None, scorer: object = None
) -> Callable[[Request], Any]:
    """Return a function from a request to its reply.

    Raises:
        InputError: a service is neither None nor a sync function or method.
    """
    ports = _resolve(store, embeddings, llm, transform_fetched, scorer, needs_sync=True)

    # A flow never requests a service that is missing, so no port used below is empty.
    def handle(request: Any) -> Any:
        if isinstance(request, FetchChunks):
            chunks = ports.fetch.call(request.refs)
            return ports.transform.call(chunks) if ports.transform else chunks
        if isinstance(request, EmbedTexts):
            return ports.embed.call(list(request.texts))
        if isinstance(request, ScoreTexts) and ports.scorer:
            return ports.scorer.score(request)
        return _check_answers(ports.llm.gather(request.prompts, request.timeout_seconds))

    return handle


def async_request_handler(
    store: object, embeddings: object, llm: object, transform_fetched: object = None, scorer: object = None
) -> Callable[[Request], Awaitable[Any]]:
    """Async version of `request_handler`. Sync services are called in threads.

    Raises:
        InputError: a service is neither None nor a function or method.
    """
    ports = _resolve(store, embeddings, llm, transform_fetched, scorer, needs_sync=False)

    async def handle(request: Any) -> Any:
        if isinstance(request, FetchChunks):
            chunks = await ports.fetch.acall(request.refs)
            return await ports.transform.acall(chunks) if ports.transform else chunks
        if isinstance(request, EmbedTexts):
            return await ports.embed.acall(list(request.texts))
        if isinstance(request, ScoreTexts) and ports.scorer:
            return await ports.scorer.ascore(request)
        return _check_answers(await ports.llm.agather(request.prompts, request.timeout_seconds))

    return handle


def _resolve(
    store: object, embeddings: object, llm: object, transform_fetched: object, scorer: object, *, needs_sync: bool
) -> _Ports:
    ports = _Ports(
        _fetch_port(store, needs_sync=needs_sync),
        _embed_port(embeddings, needs_sync=needs_sync),
        _function_port("llm", llm, "a prompt to an answer"),
        _function_port("transform_fetched", transform_fetched, "chunks to chunks"),
        to_scorer(scorer),
    )
    if needs_sync:
        reason = "can only be awaited: it needs aassemble(), or the adapter's async methods"
        ports.llm.require_sync(f"llm {reason}")
        ports.transform.require_sync(f"transform_fetched {reason}")
        if ports.scorer and not ports.scorer.is_sync:
            raise InputError(f"scorer {reason}")
    return ports


def _fetch_port(store: object, *, needs_sync: bool) -> Port:
    port, name = Port.of(store, "fetch", accepts_function=False), type(store).__name__
    if store is not None and needs_sync and port.sync is None:
        hint = hint_for_store(store) or "; a store with afetch alone needs aassemble()"
        raise InputError(f"{name} has no fetch(refs){hint}")
    if store is not None and not port:
        raise InputError(f"{name} has neither fetch(refs) nor afetch(refs){hint_for_store(store)}")
    return port


def _embed_port(embeddings: object, *, needs_sync: bool) -> Port:
    port, name = Port.of(embeddings, "embed_documents"), type(embeddings).__name__
    if embeddings is not None and needs_sync and port.sync is None:
        raise InputError(
            f"{name} is no function and has no embed_documents(texts); what can only be awaited needs aassemble()"
        )
    if embeddings is not None and not port:
        raise InputError(f"{name} is no function and has neither embed_documents(texts) nor aembed_documents(texts)")
    return port


def _function_port(parameter: str, function: object, mapping: str) -> Port:
    if function is not None and not callable(function):
        raise InputError(f"{parameter} must be a function from {mapping}, got {type(function).__name__}")
    return Port.of(function)


def _check_answers(answers: list[Any]) -> list[str | Exception]:
    return [answer if isinstance(answer, (str, Exception)) else _not_text_error(answer) for answer in answers]


def _not_text_error(answer: object) -> InputError:
    return InputError(f"llm must answer with a string, got {safe_repr(answer)}")


def map_output(llm: Callable[[str], Any], transform: Callable[[Any], Any]) -> Callable[[str], Any]:
    """Return `llm` with `transform` applied to its answers. The function is async if `llm` is."""
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
