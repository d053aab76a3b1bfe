"""MetadataFilters as an SQL condition: LlamaIndex's own checks first, then the translation that PostgreSQL shares."""

from __future__ import annotations

from typing import Any

from llama_index.core.vector_stores.types import MetadataFilters
from sqlalchemy import ColumnElement, true

from ctxassembly.stores.postgres import llamaindex_filters
from llamaindex_ctxassembly.stores.filters import conditions


def where(filters: MetadataFilters | None, metadata: ColumnElement[Any]) -> ColumnElement[bool]:
    """The condition that `filters` are on the JSON column `metadata`; true if no condition stands in them.

    Raises:
        ConfigError: an operator, a condition or a value's type has no translation.
    """
    condition = llamaindex_filters.where(conditions(filters), metadata)
    return true() if condition is None else condition
