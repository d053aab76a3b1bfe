"""Everything that ctxassembly raises on purpose.

CtxAssemblyError
├── ConfigError (ValueError)       a parameter is out of range; raised at construction
├── InputError (TypeError)         hits, a store, embeddings or an llm of the wrong type
├── StoreError                     neighbours not fetched or texts not embedded, and on_store_error="raise"
├── VocabularyError                the tokenizer's vocabulary can't be had
├── EmbeddedServerError            the embedded PostgreSQL can't be made, started or stopped
└── MissingExtraError (ImportError)   an optional dependency is not installed

FilterNotSeenWarning (UserWarning)    an adapter couldn't see how the search filters; see AssemblyConfig.neighbours
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
    "StoreError",
    "VocabularyError",
]


class CtxAssemblyError(Exception):
    """Base of all errors of this package."""


class ConfigError(CtxAssemblyError, ValueError):
    """A parameter is outside its range."""

    def __init__(self, parameter: str, allowed: str, value: object, instead: str = "") -> None:
        """`instead` ends the message with what to write in place of `value`."""
        super().__init__(f"{parameter} must be {allowed}, got {shown(value)}{instead}")
        self.parameter = parameter


class InputError(CtxAssemblyError, TypeError):
    """Something other than what the signature asks for was handed in."""


class StoreError(CtxAssemblyError):
    """The store failed to fetch neighbours, or the embeddings to embed texts; their own error is the cause."""


class VocabularyError(CtxAssemblyError):
    """A tokenizer's vocabulary is neither on this machine nor to be downloaded in time."""


class EmbeddedServerError(CtxAssemblyError):
    """The embedded server could not be created, started or stopped; the message holds its own words."""


class FilterNotSeenWarning(UserWarning):
    """Neighbours were fetched for a search whose filter couldn't be seen; given once an object."""


class NothingToJoinWarning(UserWarning):
    """Hits stood alone for want of what the message names, with the line that mends it; given once an object."""


def missing_extra(error: ModuleNotFoundError, feature: str, extra: str, modules: Collection[str]) -> ImportError:
    """The error to raise for `error`: which `extra` to install if it brings what is missing, one of `modules`."""
    missing = (error.name or "").partition(".")[0]
    return MissingExtraError(feature, extra) if missing in modules else error


class MissingExtraError(CtxAssemblyError, ImportError):
    """A feature needs an optional dependency."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an optional dependency: pip install 'ctxassembly[{extra}]'")
