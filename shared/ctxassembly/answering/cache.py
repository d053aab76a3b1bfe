"""Answers kept in a cache of the caller's, and the key of each.

Who may share an answer is what the caller says it is: `cache_scope`. The key is the SHA-256 of JSON with the scope, the
question as it was typed, the conversation so far, the mode, the filter, what a model made of the question, all
settings, and the name of the model. It doesn't have the documents: a cache has to forget what the index no longer says.

Kept are the context and the model's words. Citations, quotes and quality are computed from them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any, TypeAlias

from ctxassembly.answering.requests import AnswerCall, Exchange
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.context import Context
from ctxassembly.data.chunks import Hit
from ctxassembly.data.retrieval import QueryUnderstanding
from ctxassembly.data.sanitize import sanitize_hit
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import describe_error, safe_repr
from ctxassembly.serialization import from_plain, to_plain
from ctxassembly.tokens.models import model_info

CACHE_FORMAT_VERSION = 3
"""Raised when what is kept changes its form, so that older entries are no longer found."""


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """What a cache keeps of an answer."""

    raw_text: str
    context: Context
    hits: tuple[Hit, ...]

    def dump_answer(self) -> str:
        """Return a cached answer as JSON."""
        hits = (sanitize_hit(hit, position) for position, hit in enumerate(self.hits))
        plain_hits = [to_plain(replace(hit, chunk=replace(hit.chunk, vector=None))) for hit in hits]
        return json.dumps({"written": self.raw_text, "context": self.context.to_dict(), "hits": plain_hits})

    @classmethod
    def load_answer(cls, text: str) -> CachedAnswer:
        """Return the entry that `dump_answer` wrote."""
        data = json.loads(text)
        hits = tuple(from_plain(Hit, hit) for hit in data["hits"])
        return cls(data["written"], Context.from_dict(data["context"]), hits)


@dataclass(frozen=True, slots=True)
class ScopeCall:
    """A call of an answer chain, as the function that is its `cache_scope` gets it.

    >>> tenant_of = lambda call: call.filter["tenant"]
    >>> tenant_of(ScopeCall("Is parking free?", filter={"tenant": "acme"}))
    'acme'
    """

    question: str
    """The question as it was typed."""
    filter: Any = None
    """The filter as the call gave it, without the retriever's own; None if it gave none."""
    mode: str = "normal"
    history: tuple[Exchange, ...] = ()
    """The conversation so far, oldest exchange first."""
    config: Any = None
    """The config of the call in the framework, such as LangChain's RunnableConfig; None in the engine."""


CacheScope: TypeAlias = "str | int | bool | Sequence[Any] | Mapping[str, Any] | Callable[[ScopeCall], Any]"
"""Who may share answers: a value that JSON can write, or a function from a call to one.

If the function returns None, the answer to this call is neither read from the cache nor kept.
"""


def resolve_scope(scope: CacheScope, call: ScopeCall) -> Any:
    """Return the scope of `call`, None if it takes no part in the cache.

    Raises:
        InputError: JSON can't write the scope, or the function raised an error.
    """
    try:
        value = scope(call) if callable(scope) else scope
    except Exception as error:
        said = f"cache_scope failed for this call ({describe_error(error)})"
        raise InputError(f"{said}: it must return who may share the answer, or None to keep nothing") from error
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        allowed = "a str, int or bool, or a list, tuple or dict of these"
        kind = f"{safe_repr(value)} ({describe_error(error)})"
        raise InputError(f"cache_scope must be {allowed}, or None to keep nothing, got {kind}") from error
    return value


def cache_key(call: AnswerCall, understanding: QueryUnderstanding, config: AnswerConfig) -> str:
    """Return the key of the answer to `call`.

    Raises:
        InputError: its filter can't be compared with another one, such as a function.
    """
    conversation = [[exchange.question, exchange.answer, exchange.cited] for exchange in call.history]
    key_data = {
        "format": CACHE_FORMAT_VERSION,
        "shared": call.cache_facts,
        "question": call.question,
        "conversation": [call.background, conversation],
        "understanding": to_plain(replace(understanding, confidence=None, notes=())),
        "filter": call.filter,
        "mode": call.mode,
        "config": plain_settings(config),
    }
    try:
        text = json.dumps(key_data, sort_keys=True, default=_repr_without_address)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the filter can't be compared with another one ({describe_error(error)})") from error
    return sha256(text.encode()).hexdigest()


def _repr_without_address(value: Any) -> str:
    text = repr(value)
    if " at 0x" in text:  # another object may have the address once this one is gone
        raise TypeError(f"{name_of(value)} has no text of its own")
    return text


def plain_settings(value: Any) -> Any:
    """Return settings as plain data: functions, and objects without a text of their own, by their names alone.

    >>> from ctxassembly import TokenBudget
    >>> plain_settings({"encoding": len, "max_tokens": TokenBudget()})["encoding"]
    'builtins.len'
    """
    if value is None or isinstance(value, (str, int, float)):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: plain_settings(getattr(value, field.name)) for field in fields(value)}
        return {type(value).__qualname__: named}
    if isinstance(value, Mapping):
        return {str(key): plain_settings(one) for key, one in value.items()}
    if isinstance(value, AbstractSet):
        return sorted((plain_settings(one) for one in value), key=repr)
    if isinstance(value, Sequence):
        return [plain_settings(one) for one in value]
    text = repr(value)
    return name_of(value) if callable(value) or " at 0x" in text else text


def name_of(thing: Any) -> str:
    """Return the name of a function or class, or the class of an object and the name of the model that it says it is.

    >>> name_of(len)
    'builtins.len'
    """
    if isinstance(thing, partial):
        return name_of(thing.func)
    named, info = thing if hasattr(thing, "__qualname__") else type(thing), model_info(thing)
    models = (getattr(thing, "name", None), info.name if info else None)
    return " ".join((f"{named.__module__}.{named.__qualname__}", *(name for name in models if isinstance(name, str))))
