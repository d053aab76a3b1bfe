"""Turn retrieved chunks into the context that a language model reads: joined, within budget, cited, explained.

What a caller uses is here. The protocols of stores, indexes and models are in `ctxassembly.protocols`, the types of
retrieval in `ctxassembly.retrieval`, of answer chains in `ctxassembly.answering`, of labels and quotes in
`ctxassembly.citations`; all errors and warnings are in `ctxassembly.errors`. `ctxassembly.comparison` compares
configurations, and `ctxassembly.enrichment` has a model write notes on chunks. Each name is listed in
`__init__.pyi` and imported on first use, so importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ctxassembly.lazy import lazy_names

_EXTRAS = {
    f"{__name__}.stores.postgres.index": ("postgres", "sqlalchemy"),
    f"{__name__}.stores.qdrant.index": ("qdrant", "qdrant_client"),
}
__all__, _get_name, __dir__ = lazy_names(__name__, extras=_EXTRAS)


def __getattr__(name: str) -> Any:
    if name == "__version__":  # the version in pyproject.toml, which only an installed package knows
        return import_module("importlib.metadata").version("ctxassembly")
    return _get_name(name)
