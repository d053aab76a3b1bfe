"""The warnings of a postprocessor, each given once."""

from __future__ import annotations

from typing import Any

from llama_index.core import Settings

from ctxassembly.assembly.expansion.access import filter_not_seen
from ctxassembly.context import Context
from ctxassembly.tokens.budget import too_small
from ctxassembly.user_warnings import Once

REMEDY = "ContextAssemblyPostprocessor(filter=MetadataFilters(...)), or filter=function, which is called at each query"


class Owed(Once):
    """The warnings that a postprocessor still owes, its copies together with it."""

    _looked_at = 0
    """The `id` of the LLM whose window was checked last."""

    def warn_of_window(self, llm: Any, most: int) -> None:
        """Warn if a context of `most` tokens may be too long for the LLM."""
        # Reading `Settings.llm` would create an LLM if none is set.
        llm = llm or getattr(Settings, "_llm", None)
        if id(llm) == self._looked_at:  # its metadata may take a while to read
            return
        self._looked_at = id(llm)
        if message := too_small(llm, most):
            self.warn(message, key="window")

    def warn_of(self, context: Context, store: Any, llm: Any, most: int) -> None:
        """Issue what `context`, with neighbors from `store`, calls for."""
        self.warn_of_window(llm, most)
        self.warn_of_neighbors(filter_not_seen(context.trace, REMEDY), context.trace.missing, type(store))
