"""Views of a context for people: the text that the model reads, its sources, the chunks left out and why.

A view reads the fields of a context (`ContextData`) and nothing else. It is imported when it is first asked for.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("compare", "Comparison"):
        raise ImportError(f"{name} is in the package itself: from ctxassembly import {name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
