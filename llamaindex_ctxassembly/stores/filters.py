"""The caller's filter on neighbours, for stores that can't be asked to apply it.

LlamaIndex's stores read one filter in different ways. Where they do, the narrowest reading holds here: a neighbour may
be lost by it, but none comes in that the caller's own search would not have returned.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from ctxassembly.data import filters as mappings
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.filters import Verdict, any_of, check_size, negated
from ctxassembly.errors import ConfigError


def conditions(filters: MetadataFilters | None) -> MetadataFilters | None:
    """`filters` without the groups in which no condition stands; None if nothing is left of them.

    An empty group says nothing, so that it neither opens an OR nor closes an AND.

    Raises:
        ConfigError: they are too large, or have an operator or a condition that isn't known, or one that compares with
            a list and has none.
    """
    if filters is None:
        return None
    check_size(filters)
    return _conditions(filters)


def _conditions(filters: MetadataFilters) -> MetadataFilters | None:
    if filters.condition not in (FilterCondition.AND, FilterCondition.OR, FilterCondition.NOT, None):
        raise ConfigError("filter.condition", "AND, OR or NOT", filters.condition)
    kept: list[MetadataFilter | MetadataFilters] = []
    for condition in filters.filters:
        if isinstance(condition, MetadataFilter):
            _check(condition)
            kept.append(condition)
        elif (group := _conditions(condition)) is not None:
            kept.append(group)
    return MetadataFilters(filters=kept, condition=filters.condition) if kept else None


def allowed(filters: MetadataFilters | None, chunks: Iterable[Chunk]) -> list[Chunk]:
    """Those of `chunks` that a retriever with `filters` returns from whichever of LlamaIndex's stores; all without any.

    A chunk without the key passes neither NE nor NIN: where no key means "anybody", say so by IS_EMPTY.
    """
    kept = conditions(filters)
    return list(chunks) if kept is None else [chunk for chunk in chunks if _group(kept, _metadata(chunk)) is True]


def both(first: Any, second: Any) -> Any:
    """One filter that means both `first` and `second`; None if their forms have no AND known here."""
    if isinstance(first, MetadataFilters) and isinstance(second, MetadataFilters):
        # Not every vector store reads groups in a group.
        return MetadataFilters(filters=[part for group in (first, second) for part in _all_of(group)])
    return mappings.both(first, second)


def _all_of(group: MetadataFilters) -> list[MetadataFilter | MetadataFilters]:
    """Conditions that all have to hold for `group` to hold."""
    return list(group.filters) if group.condition in (FilterCondition.AND, None) else [group]


def _metadata(chunk: Chunk) -> Mapping[str, Any]:
    # Vector stores write these three over whatever the node has: a filter on them is about its document.
    return {**chunk.metadata, **dict.fromkeys(("document_id", "doc_id", "ref_doc_id"), chunk.document_id)}


def _group(filters: MetadataFilters, metadata: Mapping[str, Any]) -> Verdict:
    verdicts = [
        _group(inner, metadata) if isinstance(inner, MetadataFilters) else _one(inner, metadata.get(inner.key))
        for inner in filters.filters
    ]
    if filters.condition is FilterCondition.OR:
        return any_of(verdicts)
    if filters.condition is FilterCondition.NOT:
        return negated(any_of(verdicts))
    return negated(any_of([negated(verdict) for verdict in verdicts]))  # AND


def _one(condition: MetadataFilter, found: Any) -> Verdict:
    if condition.operator is FilterOperator.IS_EMPTY:
        return found is None or found == []
    if condition.operator in _OF_TEXT:
        return _has_text(found, condition.value)
    if found is None:  # as in SQL: it equals nothing, and whether it differs is unknown
        return None if condition.operator in (FilterOperator.NE, FilterOperator.NIN) else False
    try:
        return bool(_COMPARISONS[condition.operator](found, condition.value))
    except Exception:  # noqa: BLE001 - values of two kinds, or one that can't be compared: any object may stand there
        return None


def _has_text(found: Any, text: Any) -> Verdict:
    """True if every store finds `text` in `found`, False if none does, None if they differ.

    To PGVectorStore it must be a part of the text, to Qdrant all of its words must stand there. Qdrant's index decides
    what a word is; whatever it decides, words between spaces are found again.
    """
    if found is None:
        return False
    if not (isinstance(found, str) and isinstance(text, str)):
        return None
    if not all(word in found.casefold() for word in re.findall(r"[^\W_]+", text.casefold())):
        return False
    words = set(text.split())
    return True if words and text in found and words <= set(found.split()) else None


def _check(condition: MetadataFilter) -> None:
    name = f"filter on {condition.key!r}"
    known_operators = (*_COMPARISONS, *_OF_TEXT, FilterOperator.IS_EMPTY)
    if condition.operator not in known_operators:
        known = ", ".join(operator.name for operator in known_operators)
        raise ConfigError(name, f"one of {known}", condition.operator)
    if condition.operator in _OF_MANY and not isinstance(condition.value, list):
        raise ConfigError(name, f"a list for {condition.operator.name}", condition.value)


def _members(found: Any) -> Collection[Any]:
    """The elements of a collection; a text is one element, not its characters."""
    return found if isinstance(found, Collection) and not isinstance(found, str) else (found,)


_OF_MANY = (FilterOperator.IN, FilterOperator.NIN, FilterOperator.ANY, FilterOperator.ALL)
"""Operators that compare with a list."""
_OF_TEXT = (FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE)
"""Operators that look for words. Stores differ on whether these mind the case: only what is found either way passes."""

_COMPARISONS: Mapping[FilterOperator, Callable[[Any, Any], Any]] = {
    FilterOperator.EQ: operator.eq,
    FilterOperator.NE: operator.ne,
    FilterOperator.GT: operator.gt,
    FilterOperator.GTE: operator.ge,
    FilterOperator.LT: operator.lt,
    FilterOperator.LTE: operator.le,
    FilterOperator.IN: lambda found, values: found in values,
    FilterOperator.NIN: lambda found, values: found not in values,
    FilterOperator.ANY: lambda found, values: any(value in _members(found) for value in values),
    FilterOperator.ALL: lambda found, values: all(value in _members(found) for value in values),
    FilterOperator.CONTAINS: operator.contains,
}
