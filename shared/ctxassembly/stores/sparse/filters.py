"""A filter as the conditions of an engine, which pass every chunk that the filter passes, and maybe more.

Engines read conditions otherwise: a chunk without the key may pass a negation, a list may be its elements, True may be
1. So only what narrows the search safely is sent; what comes back is tested by `chunk_predicate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

from ctxassembly.data.filters import Comparison, FilterGroup, parse_filter

C = TypeVar("C")
RESERVED = frozenset({"document_id", "doc_id", "ref_doc_id", "_node_content", "_node_type"})
"""Keys of the row that LlamaIndex writes itself, over the same ones in the metadata."""
_MAX_EXACT = 2.0**53
"""Larger integers aren't exact as floats."""
_OPPOSITES = {"$ne": "$eq", "$nin": "$in", "$exists": "$exists"}
"""What a negated operator implies. The others imply nothing that can be tested: a negated `$gt` passes text, too."""


def narrow(
    filters: Sequence[Any],
    compare: Callable[[Comparison], C | None],
    all_of: Callable[[list[C]], C],
    any_of: Callable[[list[C]], C],
) -> C | None:
    """Return a condition that passes at least the chunks that pass all `filters`; None passes all.

    A function can't be sent: what is found is tested by it.

    Args:
        filters: mappings, functions and None.
        compare: makes the condition of one comparison, or None if the engine can't express it. It gets neither `$ne`
            nor `$nin`, which narrow nothing.
        all_of: joins conditions, at least one, all of which have to hold.
        any_of: joins conditions, at least one, one of which has to hold.

    Raises:
        ConfigError: a filter has a form that can't be read.
    """

    def condition(part: Comparison | FilterGroup, *, is_negated: bool) -> C | None:
        if isinstance(part, Comparison):
            return comparison(part, is_negated=is_negated)
        is_inner_negated = is_negated != (part.operator == "$not")
        members = [condition(member, is_negated=is_inner_negated) for member in part.members]
        needed = [member for member in members if member is not None]
        if is_negated != (part.operator == "$or"):
            return any_of(needed) if needed and len(needed) == len(members) else None
        return all_of(needed) if needed else None

    def comparison(part: Comparison, *, is_negated: bool) -> C | None:
        key, name, operand = part
        if is_negated:
            if name not in _OPPOSITES:
                return None
            name, operand = _OPPOSITES[name], not operand if name == "$exists" else operand
        return None if name in ("$ne", "$nin") else compare(Comparison(key, name, operand))

    groups = tuple(parse_filter(one) for one in filters if one is not None and not callable(one))
    return condition(FilterGroup("$and", groups), is_negated=False)


def _is_exact_number(value: Any) -> bool:
    """Return True for a number that is the same one as a float."""
    return type(value) in (int, float) and math.isfinite(value) and abs(value) < _MAX_EXACT


def number_bounds(operator: str, operand: Any) -> tuple[Any, Any] | None:
    """Return the least and the most that `$gt` ... `$between` pass, None for no bound; None if they aren't numbers."""
    bounds = operand if operator == "$between" else [operand]
    if not all(map(_is_exact_number, bounds)):
        return None
    lowest = min(bounds) if operator in ("$gt", "$gte", "$between") else None
    highest = max(bounds) if operator in ("$lt", "$lte", "$between") else None
    return lowest, highest


def split_values(values: Collection[Any]) -> tuple[list[str], list[float], set[bool]] | None:
    """Return texts, numbers and flags among `values`; None if one has another type."""
    texts = [value for value in values if type(value) is str]
    numbers = [value for value in values if _is_exact_number(value)]
    flags = [value for value in values if type(value) is bool]
    return (texts, numbers, {*flags}) if len(texts) + len(numbers) + len(flags) == len(values) else None
