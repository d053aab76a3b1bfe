"""`assemble` and `aassemble`: hits in, the context out.

The requests of an assembly are answered by the caller's objects: a store, embeddings, a scorer and a language model. An
object of the wrong kind is refused before any request.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from ctxassembly.assembly.arguments import AssemblyCall, Services, is_config, settings_of
from ctxassembly.assembly.call import System, SystemFlow
from ctxassembly.assembly.expansion.fetch import StoreTraits
from ctxassembly.assembly.supplement import Supplement
from ctxassembly.assembly.system import system_flow
from ctxassembly.concurrency import is_async
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.hints import hint_for
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.data.chunks import Hit
from ctxassembly.data.metadata_keys import with_keys
from ctxassembly.data.requests import CompressTexts, EmbedTexts, FetchChunks, ScoreTexts
from ctxassembly.data.trace import StageBegan
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import (
    AsyncEmbeddings,
    AsyncLanguageModel,
    AsyncOnStage,
    AsyncScorer,
    AsyncStore,
    AsyncTransformFetched,
    Embeddings,
    LanguageModel,
    OnStage,
    Scorer,
    Store,
    TransformFetched,
)
from ctxassembly.runtime.driver import Port, Ports, adrive, drive, stage_ports
from ctxassembly.runtime.scorers import scorer_port
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tracing import log_context
from ctxassembly.user_warnings import WarnOnce, with_remedy
from ctxassembly.wording.languages import LANGUAGES

_WARNINGS = WarnOnce()


def assembly_ports(
    store: object = None,
    embeddings: object = None,
    llm: object = None,
    transform_fetched: object = None,
    scorer: object = None,
    *,
    needs_sync: bool = True,
) -> dict[type, Port]:
    """Return the ports of the caller's objects, without those that are None.

    Raises:
        InputError: an object is neither None nor of the right kind, or can only be awaited and `needs_sync`.
    """
    check_function("llm", llm, "a prompt to an answer")
    check_function("transform_fetched", transform_fetched, "chunks to chunks")
    transform = Port.of(transform_fetched)
    fetch = _method_port(store, "fetch", "refs", hint_for("store", store), needs_sync=needs_sync)
    embed = _method_port(embeddings, "embed_documents", "texts", needs_sync=needs_sync)
    answer = Port.of(llm).taking(lambda prompt: (prompt,), _check_answer)
    ports = {
        FetchChunks: fetch.taking(lambda request: (request.refs,)),
        EmbedTexts: embed.taking(lambda request: (list(request.texts),)),
        CompressTexts: answer.each(lambda request: request.prompts, lambda request: request.timeout_seconds),
        ScoreTexts: scorer_port(scorer),
    }
    if needs_sync:
        for name, port in (("llm", answer), ("transform_fetched", transform), ("scorer", ports[ScoreTexts])):
            port.require_sync(f"{name} can only be awaited: it needs aassemble(), or the adapter's async methods")
    if fetch and transform:
        ports[FetchChunks] = _then(ports[FetchChunks], transform)
    return {kind: port for kind, port in ports.items() if port}


def _then(first: Port, second: Port) -> Port:
    """Return the port that calls `second` with the reply of `first`."""

    async def acall(request: Any) -> Any:
        return await second.acall(await first.acall(request))

    return Port(lambda request: second.call(first.call(request)), acall)


def _flow(call: AssemblyCall, ports: Ports, store: Any) -> SystemFlow:
    """Return the flow of `call`, which also logs the context."""
    from ctxassembly.assembly.pipeline import assemble_flow  # here, so that naming `assemble` loads nothing heavy

    traits = StoreTraits(
        getattr(store, "holds_filter", None),
        getattr(store, "finds_offsets", False) is True,
        getattr(store, "remedies", None),
        getattr(store, "finds_titles", False) is True,
    )
    services = Services(
        None if store is None else traits,
        can_embed=EmbedTexts in ports,
        can_compress=CompressTexts in ports,
        can_score=ScoreTexts in ports,
        is_observed=StageBegan in ports,
    )
    run = assemble_flow if call.config is None or isinstance(call.config, AssemblyConfig) else system_flow
    context = yield from run(call, services, time.perf_counter)
    log_context(context)
    _warn_of_nameless(context)
    return context


def _warn_of_nameless(context: Context) -> None:
    """Warn if sources of `context` have no name, once in a process for the same keys."""
    unknown = LANGUAGES[context.language].unknown
    if nameless := [citation.best_chunk_id for citation in context.citations if citation.source == unknown]:
        which = f"{len(nameless):,} of {len(context.citations):,} sources"
        fact = f"The metadata of {which} have no name (first: {safe_repr(nameless[0], 40)})"
        call = "AssemblyConfig(keys=MetadataKeys(source='file'))"
        message = with_remedy(fact, f"The model reads {unknown!r} instead", call)
        _WARNINGS.warn(UserWarning(message), key=context.keys)


def assemble(
    hits: Sequence[Hit],
    config: AssemblyConfig | System | None = None,
    *,
    query: str | None = None,
    store: Store | None = None,
    supplement: str | Supplement | None = None,
    embeddings: Embeddings | None = None,
    llm: LanguageModel | None = None,
    scorer: Scorer | None = None,
    transform_fetched: TransformFetched | None = None,
    conversation: Conversation | None = None,
    on_stage: OnStage | None = None,
) -> Context:
    """Assemble `hits`, best first, into the context that the language model reads.

    >>> from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore
    >>> texts = ("Drink water until two hours before.", "Eat nothing for six hours.", "Then rest.")
    >>> where = {"source": "gastro.pdf"}
    >>> chunks = [Chunk(f"gastro#{at}", "gastro", text, at, metadata=where) for at, text in enumerate(texts)]
    >>> context = assemble([Hit(chunks[1])], AssemblyConfig(window=1, max_tokens=100), store=MemoryStore(chunks))
    >>> print(context)
    [1] Source: gastro.pdf
    Drink water until two hours before.
    Eat nothing for six hours.
    Then rest.

    Args:
        hits: retrieved chunks; their order is their rank.
        config: the settings; None means the defaults. Or a system of its own: one of `ctxassembly.published`, or any
            object with `flow(call)`.
        query: the user's question, by which sentences are chosen.
        store: the store of neighbors, asked in one round trip if it keeps an index; None fetches none.
        supplement: text that is in no chunk, such as facts from a graph or a database; it comes after a separator.
        embeddings: for `dedup="semantic"`. It gets the texts of all chunks without a vector in one batch.
        llm: for `compress="llm"`, a function from a prompt to an answer. It is called in up to 8 threads at once, each
            for at most 30 seconds. A late call can't be stopped: it goes on in a daemon thread, and its
            answer is lost.
        scorer: scores how well sentences answer the query, in addition to its words: an embedding model (LangChain's,
            LlamaIndex's or sentence-transformers'), a cross-encoder, or a function from a query and sentences to a
            score for each, higher is better. If not everything fits, it is called once, for the best 200 sentences by
            words; its scores are cached for the lifetime of the scorer. Scores may have any scale.
        transform_fetched: a function over fetched chunks, called before anything else sees them. A step that masks or
            removes text of the hits has to do the same to their neighbors, which come fresh from the store.
        conversation: the conversation so far; `Conversation()` for a new one. Text that it has isn't sent again, unless
            the config has `repeat="always"`, and its labels are continued: a document keeps the label that it had.
            `conversation.after(context)` is the conversation for the next call.
        on_stage: a function that is called when a stage begins (`StageBegan`), ends (`StageEnded`) or fails
            (`StageFailed`), while it happens: for spans, or progress.

    Raises:
        InputError: an argument has the wrong type, or `store`, `embeddings`, `llm`, `scorer`, `transform_fetched` or
            `on_stage` can only be awaited.
        ConfigError: `dedup="semantic"` with neither `embeddings` nor a vector in any hit, `compress="llm"` without
            `llm`, or `neighbors="filtered"` with a store that doesn't apply the caller's filter.
        StoreError: `store`, `embeddings` or `scorer` failed and `on_store_error="raise"`.
        ConfigError: the tokenizer's vocabulary is neither on this machine nor can it be downloaded.
    """
    store = _with_config_keys(store, config)
    ports = assembly_ports(store, embeddings, llm, transform_fetched, scorer) | stage_ports(on_stage, needs_sync=True)
    return drive(_flow(AssemblyCall(hits, config, query, supplement, conversation), ports, store), ports)


async def aassemble(
    hits: Sequence[Hit],
    config: AssemblyConfig | System | None = None,
    *,
    query: str | None = None,
    store: AsyncStore | Store | None = None,
    supplement: str | Supplement | None = None,
    embeddings: AsyncEmbeddings | Embeddings | None = None,
    llm: AsyncLanguageModel | LanguageModel | None = None,
    scorer: AsyncScorer | Scorer | None = None,
    transform_fetched: AsyncTransformFetched | TransformFetched | None = None,
    conversation: Conversation | None = None,
    on_stage: AsyncOnStage | OnStage | None = None,
) -> Context:
    """Async version of `assemble`. Sync arguments are called in threads.

    >>> import asyncio
    >>> from ctxassembly import Chunk, Hit, MemoryStore
    >>> chunks = [Chunk(f"gastro#{at}", "gastro", text, at) for at, text in enumerate(["Drink.", "Rest.", "Go home."])]
    >>> async def main():
    ...     print(await aassemble([Hit(chunks[1])], store=MemoryStore(chunks)))
    >>> asyncio.run(main())
    [1] Source: unknown
    Drink.
    Rest.
    Go home.

    The work between these calls runs in one thread of the process, one assembly at a time, so the event loop stays
    free. Functions in the config (`format`, `encoding`) are called in that thread, too; `on_stage` is called on the
    loop. An async `llm` runs at most 8 calls at once, and late ones are cancelled.
    """
    store = _with_config_keys(store, config)
    ports = assembly_ports(store, embeddings, llm, transform_fetched, scorer, needs_sync=False)
    ports |= stage_ports(on_stage, needs_sync=False)
    return await adrive(_flow(AssemblyCall(hits, config, query, supplement, conversation), ports, store), ports)


def restricted_store(store: Any, filter: Any) -> Any:
    """Return `store` restricted to `filter`, if there is one.

    Raises:
        InputError: the store can't be restricted.
    """
    if store is None or filter is None:
        return store
    if not hasattr(store, "with_filter"):
        raise InputError(f"store must have with_filter where a question has a filter, got {type(store).__name__}")
    return store.with_filter(filter)


def _with_config_keys(store: Any, config: AssemblyConfig | System | None) -> Any:
    """Return `store` with the keys of `config`, as `Store` describes it."""
    return with_keys(store, settings_of(config).keys) if config is not None and is_config(config) else store


def _method_port(service: object, method: str, argument: str, hint: str = "", *, needs_sync: bool) -> Port:
    can_be_function = method != "fetch"
    port = Port.of(service, method, accepts_function=can_be_function)
    if service is not None and (port.sync is None if needs_sync else not port):
        lacks = f"has neither {method}({argument}) nor a{method}({argument})"
        if needs_sync:
            lacks, hint = f"has no {method}({argument})", hint or "; what can only be awaited needs aassemble()"
        raise InputError(f"{type(service).__name__} {'is no function and ' if can_be_function else ''}{lacks}{hint}")
    return port


def check_function(parameter: str, function: object, mapping: str) -> None:
    """Check that an argument is a function, or None.

    Raises:
        InputError: it is something else.
    """
    if not (function is None or callable(function)):
        raise InputError(f"{parameter} must be a function from {mapping}, got {type(function).__name__}")


def _check_answer(answer: Any) -> str:
    if not isinstance(answer, str):
        raise InputError(f"llm must answer with a string, got {safe_repr(answer)}")
    return answer


def map_output(llm: Callable[[str], Any], transform: Callable[[Any], Any]) -> Callable[[str], Any]:
    """Return `llm` with `transform` applied to its answers. The function is async if `llm` is."""
    if not is_async(llm):
        return lambda prompt: transform(llm(prompt))

    async def call_llm(prompt: str) -> Any:
        return transform(await llm(prompt))

    return call_llm


def check_llm(llm: object, config: AssemblyConfig | System, kind: type, allowed: str) -> None:
    """Check the `llm` of an adapter: a function, a model of the framework's `kind`, or None if none is needed.

    Raises:
        ConfigError: `llm` is something else, or is missing; the message names `allowed`.
    """
    if llm is None and getattr(config, "compress", None) == "llm":
        raise ConfigError.missing("llm", "compress='llm'", "a language model", "compress='extractive'")
    if not (llm is None or callable(llm) or isinstance(llm, kind)):
        raise ConfigError("llm", allowed, llm)


def check_embeddings(embeddings: object, allowed: str) -> None:
    """Check that the `embeddings` of an adapter embed texts, or are None.

    Raises:
        ConfigError: they can't; the message names what is `allowed`.
    """
    can_embed = any(hasattr(embeddings, name) for name in ("embed_documents", "aembed_documents", "__call__"))
    if not (embeddings is None or can_embed):
        raise ConfigError("embeddings", allowed, embeddings)
