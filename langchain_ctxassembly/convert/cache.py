"""LangChain's caches as caches of answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from langchain_core.caches import BaseCache
from langchain_core.outputs import Generation

from ctxassembly.errors import ConfigError
from ctxassembly.protocols import AnswerCache

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
