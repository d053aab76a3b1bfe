"""Views of a context for people: what the model reads, where it comes from, what was left out and why.

They read the fields of a context (`Assembled`) and nothing else, and load when one of them is first asked for.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("compare", "Comparison"):
        raise ImportError(f"{name} is in the package itself: from ctxassembly import {name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
