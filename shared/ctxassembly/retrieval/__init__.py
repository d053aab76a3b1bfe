"""Retrieval: a query in, hits out, as one generator that asks for I/O instead of doing it.

The public types of retrieval are here; each is imported on first use.
"""

from __future__ import annotations

from ctxassembly.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
