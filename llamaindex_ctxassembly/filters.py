"""The caller's filter on neighbors, for stores that can't be asked to apply it.

LlamaIndex's stores read one filter in different ways. Where they do, the narrowest reading holds here: a neighbor may
be lost by it, but none is added that the caller's own search would not have returned.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from ctxassembly.data import filters as mappings
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.filters import Verdict, check_size, not_verdict, or_verdicts
from ctxassembly.errors import ConfigError


def normalize_filters(filters: MetadataFilters | None) -> MetadataFilters | None:
    """Return `filters` without the groups that have no condition; None if nothing is left of them.

    An empty group says nothing, so that it neither opens an OR nor closes an AND.

    Raises:
        ConfigError: they are too large, or have an operator or a condition that isn't known, or one that compares with
            a list and has none.
    """
    if filters is None:
        return None
    check_size(filters)
    return _normalize_group(filters)


def _normalize_group(filters: MetadataFilters) -> MetadataFilters | None:
    if filters.condition not in (FilterCondition.AND, FilterCondition.OR, FilterCondition.NOT, None):
        raise ConfigError("filter.condition", "AND, OR or NOT", filters.condition)
    remaining: list[MetadataFilter | MetadataFilters] = []
    for condition in filters.filters:
        if isinstance(condition, MetadataFilter):
            _check_condition(condition)
            remaining.append(condition)
        elif (group := _normalize_group(condition)) is not None:
            remaining.append(group)
    return MetadataFilters(filters=remaining, condition=filters.condition) if remaining else None


def filter_chunks(filters: MetadataFilters | None, chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return the `chunks` that pass `filters` in every LlamaIndex store; all of them if there are no filters.

    A chunk without the key passes neither NE nor NIN: if a missing key means "anybody", use IS_EMPTY.
    """
    normalized = normalize_filters(filters)
    if normalized is None:
        return list(chunks)
    # Vector stores write these three over whatever the node has: a filter on them is about its document.
    ids = ("document_id", "doc_id", "ref_doc_id")
    return [
        chunk
        for chunk in chunks
        if _evaluate_group(normalized, {**chunk.metadata, **dict.fromkeys(ids, chunk.document_id)}) is True
    ]


def and_filters(first: Any, second: Any) -> Any:
    """Return one filter that means both `first` and `second`; None if their forms have no AND known here."""
    if isinstance(first, MetadataFilters) and isinstance(second, MetadataFilters):
        # Not every vector store reads groups in a group.
        return MetadataFilters(
            filters=[
                part
                for group in (first, second)
                for part in (group.filters if group.condition in (FilterCondition.AND, None) else [group])
            ]
        )
    return mappings.and_filters(first, second)


def _evaluate_group(filters: MetadataFilters, metadata: Mapping[str, Any]) -> Verdict:
    verdicts = [
        _evaluate_group(inner, metadata)
        if isinstance(inner, MetadataFilters)
        else _evaluate_condition(inner, metadata.get(inner.key))
        for inner in filters.filters
    ]
    if filters.condition is FilterCondition.OR:
        return or_verdicts(verdicts)
    if filters.condition is FilterCondition.NOT:
        return not_verdict(or_verdicts(verdicts))
    return not_verdict(or_verdicts([not_verdict(verdict) for verdict in verdicts]))  # AND


def _evaluate_condition(condition: MetadataFilter, value: Any) -> Verdict:
    if condition.operator is FilterOperator.IS_EMPTY:
        return value is None or value == []
    if condition.operator in _TEXT_OPERATORS:
        return _has_text(value, condition.value)
    if value is None:  # as in SQL: it equals nothing, and whether it differs is unknown
        return None if condition.operator in (FilterOperator.NE, FilterOperator.NIN) else False
    try:
        return bool(_COMPARISONS[condition.operator](value, condition.value))
    except Exception:  # noqa: BLE001 - values of two kinds, or one that can't be compared: any object is possible
        return None


def _has_text(value: Any, text: Any) -> Verdict:
    """Return True if every store finds `text` in `value`, False if none does, None if they differ.

    To PGVectorStore it must be a part of the text, to Qdrant all of its words must be in the text. Qdrant's index
    decides what a word is; whatever it decides, words between spaces are found again.
    """
    if value is None:
        return False
    if not (isinstance(value, str) and isinstance(text, str)):
        return None
    if not all(word in value.casefold() for word in re.findall(r"[^\W_]+", text.casefold())):
        return False
    words = set(text.split())
    return True if words and text in value and words <= set(value.split()) else None


def _check_condition(condition: MetadataFilter) -> None:
    name = f"filter on {condition.key!r}"
    known_operators = (*_COMPARISONS, *_TEXT_OPERATORS, FilterOperator.IS_EMPTY)
    if condition.operator not in known_operators:
        known = ", ".join(operator.name for operator in known_operators)
        raise ConfigError(name, f"one of {known}", condition.operator)
    if condition.operator in _LIST_OPERATORS and not isinstance(condition.value, list):
        raise ConfigError(name, f"a list for {condition.operator.name}", condition.value)


def _members(value: Any) -> Collection[Any]:
    """Return the elements of a collection; a text is one element, not its characters."""
    return value if isinstance(value, Collection) and not isinstance(value, str) else (value,)


_LIST_OPERATORS = (FilterOperator.IN, FilterOperator.NIN, FilterOperator.ANY, FilterOperator.ALL)
"""Operators that compare with a list."""
_TEXT_OPERATORS = (FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE)
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
