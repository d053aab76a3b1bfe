"""The errors and warnings of ctxassembly.

CtxAssemblyError
├── ConfigError (ValueError)       a parameter is out of range; raised at construction
├── InputError (TypeError)         hits, a store, embeddings or an llm have the wrong type
├── StoreError                     a store or embeddings failed, and on_store_error="raise"
├── SearchError                    no channel of a retrieval answered, or one failed and on_search_error="raise"
├── VocabularyError                the tokenizer's vocabulary is neither here nor can it be downloaded
├── EmbeddedServerError            the embedded PostgreSQL can't be created, started or stopped
└── MissingExtraError (ImportError)   an optional dependency is not installed

FilterNotSeenWarning (UserWarning)    an adapter can't see the filter of the search; see AssemblyConfig.neighbours
NothingToJoinWarning (UserWarning)    hits, or the store, lack what neighbours and joining need; see Trace.missing
"""

from __future__ import annotations

from collections.abc import Collection

from ctxassembly.shown import shown

__all__ = [
    "ConfigError",
    "CtxAssemblyError",
    "EmbeddedServerError",
    "FilterNotSeenWarning",
    "InputError",
    "MissingExtraError",
    "NothingToJoinWarning",
    "SearchError",
    "StoreError",
    "VocabularyError",
]


class CtxAssemblyError(Exception):
    """Base of all errors of this package."""


class ConfigError(CtxAssemblyError, ValueError):
    """A parameter is outside its range.

    `parameter` has its name. The message gives the range and the value received.

    >>> print(ConfigError("window", "an integer from 0", -1))
    window must be an integer from 0, got -1
    """

    def __init__(self, parameter: str, allowed: str, value: object, instead: str = "") -> None:
        """`instead` ends the message: the line to write in place of `value`."""
        super().__init__(f"{parameter} must be {allowed}, got {shown(value)}{instead}")
        self.parameter = parameter


class InputError(CtxAssemblyError, TypeError):
    """An argument has another type than the signature asks for."""


class StoreError(CtxAssemblyError):
    """The store failed to fetch neighbours, or the embeddings failed; `__cause__` is their own error."""


class SearchError(CtxAssemblyError):
    """No channel of a retrieval answered; `__cause__` is the first one's own error."""


class VocabularyError(CtxAssemblyError):
    """A tokenizer's vocabulary is not on this machine and could not be downloaded in time."""


class EmbeddedServerError(CtxAssemblyError):
    """The embedded server could not be created, started or stopped; the message quotes its own."""


class FilterNotSeenWarning(UserWarning):
    """Neighbours were fetched for a search whose filter the adapter can't see. Given once for each object."""


class NothingToJoinWarning(UserWarning):
    """Hits could not be joined; the message says what is missing and how to add it. Given once for each object."""


def missing_extra(error: ModuleNotFoundError, feature: str, extra: str, modules: Collection[str]) -> ImportError:
    """The error to raise for `error`: if one of `modules` is missing, which `extra` brings, a MissingExtraError."""
    missing = (error.name or "").partition(".")[0]
    return MissingExtraError(feature, extra) if missing in modules else error


class MissingExtraError(CtxAssemblyError, ImportError):
    """A feature needs an optional dependency; the message has the line that installs it."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional dependency: pip install 'ctxassembly[{extra}]'")
