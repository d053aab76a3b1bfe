"""The warnings of a postprocessor, each given once: of a window too small, of a filter not seen, of nothing to join."""

from __future__ import annotations

import warnings
from typing import Any

from llama_index.core import Settings

from ctxassembly.assembly.gathering.scope import filter_not_seen
from ctxassembly.context import Context
from ctxassembly.errors import FilterNotSeenWarning, NothingToJoinWarning
from ctxassembly.tokens.models import too_small

REMEDY = "Say ContextAssemblyPostprocessor(filter=MetadataFilters(...)), or filter=function, asked at each call"


class Owed:
    """The warnings that a postprocessor still owes, its copies together with it."""

    def __init__(self) -> None:
        self._given: set[type[Warning]] = set()
        self._looked_at = 0
        """The `id` of the LLM whose window was checked last."""

    def no_room(self, llm: Any, most: int) -> str | None:
        """A warning if a context of `most` tokens may be too long for the LLM, once for each LLM; else None."""
        # Reading `Settings.llm` would create an LLM if none is set.
        llm = llm or getattr(Settings, "_llm", None)
        if id(llm) == self._looked_at:  # its metadata may take a while to read
            return None
        self._looked_at = id(llm)
        return too_small(llm, most)

    def warn_of(self, context: Context, llm: Any, most: int) -> None:
        """Give the warnings that `context` calls for. They name the line that called the postprocessor's method."""
        if message := self.no_room(llm, most):
            warnings.warn(message, UserWarning, stacklevel=4)
        for said, kind in (
            (filter_not_seen(context.trace, REMEDY), FilterNotSeenWarning),
            (context.trace.missing, NothingToJoinWarning),
        ):
            if said is not None and kind not in self._given:
                self._given.add(kind)
                warnings.warn(said, kind, stacklevel=4)
