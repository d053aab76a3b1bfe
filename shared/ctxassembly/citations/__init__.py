"""Reading an answer: its citations, its quotes, and its text as it is spoken.

Each public name is imported on first use.
"""

from __future__ import annotations

from ctxassembly.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__)
