"""From a question in a conversation to an answer with its citations, as one generator.

The public types of answer chains are here; each is imported on first use.
"""

from __future__ import annotations

from ctxassembly.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
