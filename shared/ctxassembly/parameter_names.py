"""Errors for a parameter that a function or class doesn't have, which suggest the one that was meant.

Names may be misspelt, be called otherwise by another library, or be settings of the config that is passed. Python
suggests names itself from 3.13 on, but no settings.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from traceback import walk_tb
from typing import Any, TypeVar, cast

from ctxassembly.errors import ConfigError, InputError, VocabularyError
from ctxassembly.safe_repr import safe_repr

Guessing = TypeVar("Guessing", bound=Callable[..., Any])
SETTINGS: dict[str, tuple[str, ...]] = {}
"""The settings of each configuration class, by its name."""
_MIN_SIMILARITY = 0.85
"""How similar a name has to be to suggest a setting of another class: `max_token` is, `model` isn't to `modes`."""
_OWN_MODULES = frozenset(("ctxassembly", "langchain_ctxassembly", "llamaindex_ctxassembly", "asyncio", "concurrent"))
"""Modules whose lines don't help a caller who passed a wrong argument."""
_MAX_VALUE_CHARS = 40
"""Most characters of a value in a suggestion."""
_SYNONYMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("budget", "token_budget", "token_limit", "max_context_tokens"), ("max_tokens",)),
    **dict.fromkeys(("k", "top_k", "similarity_top_k"), ("hits", "k", "similarity_top_k", "limit")),
    **dict.fromkeys(("embed_model", "embeddings", "embedding"), ("embeddings", "embed_model", "embed")),
    **dict.fromkeys(("llm", "model"), ("llm", "model")),
    "tokenizer": ("encoding",),
}
"""Names that other libraries have for our parameters."""


def guess_names(callee: Guessing) -> Guessing:
    """Return a class or function with a ConfigError for a parameter that it doesn't have, which suggests another one.

    >>> from ctxassembly import assemble
    >>> assemble([], window=2)
    Traceback (most recent call last):
    ctxassembly.errors.ConfigError: assemble() has no parameter 'window'. Did you mean config=AssemblyConfig(window=2)?
    """
    called: Any = vars(callee)["__init__"] if isinstance(callee, type) else callee
    code = called.__code__
    if code.co_flags & inspect.CO_VARKEYWORDS:  # it checks them itself
        return callee
    known = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - {"self", "cls"}

    def check_names(settings: Mapping[str, Any]) -> None:
        for name, value in settings.items():
            if name not in known:
                elsewhere = _settings_elsewhere(called.__annotations__, is_class=isinstance(callee, type))
                raise unknown_parameter(callee.__qualname__, name, value, known, elsewhere)

    checked = _with_check(called, check_names)
    if not isinstance(callee, type):
        return cast(Guessing, checked)
    callee.__init__ = checked  # type: ignore[misc]
    return callee


def _with_check(called: Callable[..., Any], check: Callable[[Mapping[str, Any]], None]) -> Callable[..., Any]:
    """Return `called` with a check of its named arguments, and errors about any argument raised at the call."""

    @wraps(called)
    def call(*args: Any, **settings: Any) -> Any:
        check(settings)
        try:
            return called(*args, **settings)
        except (ConfigError, InputError, VocabularyError) as error:
            raise _at_call(error)  # noqa: B904 - it is the same error

    @wraps(called)
    async def acall(*args: Any, **settings: Any) -> Any:
        check(settings)
        try:
            return await called(*args, **settings)
        except (ConfigError, InputError, VocabularyError) as error:
            raise _at_call(error)  # noqa: B904

    return acall if inspect.iscoroutinefunction(called) else call


def _at_call(error: Exception) -> Exception:
    """Return `error` without the lines of this package below the call; unchanged if a caller's function raised it."""
    modules = (frame.f_globals.get("__name__", "").partition(".")[0] for frame, _ in walk_tb(error.__traceback__))
    return error.with_traceback(None) if _OWN_MODULES.issuperset(modules) else error


def _settings_elsewhere(annotations: Mapping[str, str], *, is_class: bool) -> dict[str, str]:
    """Return the line for each setting of a configuration class, by name, with {} in place of the value.

    A function's own `config` comes first, and only what it takes is suggested.
    """
    lines: dict[str, str] = {}
    for owner, settings in SETTINGS.items():
        parameter = next((f"{name}=" for name, kind in annotations.items() if owner in str(kind)), None)
        if parameter or is_class:
            lines |= {name: f"{parameter or ''}{owner}({name}={{}})" for name in settings if name not in lines}
    return lines


def unknown_parameter(
    owner: str, name: str, value: Any, known: Iterable[str], elsewhere: Mapping[str, str]
) -> ConfigError:
    """Return the error for a parameter `name` that `owner` doesn't have, with the line to write.

    `known` has the parameters that `owner` has. `elsewhere` has the lines for settings of other classes, by name, with
    {} in place of the value.
    """
    lines = {**elsewhere, **{own: f"{own}={{}}" for own in known}}
    near = [name] if name in lines else [meant for meant in _SYNONYMS.get(name, ()) if meant in lines]
    near = near or get_close_matches(name, sorted(known), 1) or get_close_matches(name, elsewhere, 1, _MIN_SIMILARITY)
    if near:
        text = safe_repr(value, _MAX_VALUE_CHARS + 1)
        is_literal = len(text) <= _MAX_VALUE_CHARS and not text.startswith("<")
        hint = f"Did you mean {lines[near[0]].format(text if is_literal else '...')}?"
    else:
        hint = f"It takes {', '.join(sorted(known))}"
    return ConfigError.worded(name, f"{owner}() has no parameter {name!r}. {hint}")
