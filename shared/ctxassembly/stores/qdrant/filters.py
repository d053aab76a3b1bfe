"""A filter as Qdrant's conditions, which pass every chunk that the filter passes, and maybe more.

Qdrant reads conditions otherwise: a chunk without the key passes a negation, any element of a list is compared, 2020
doesn't match 2020.0, there is no LIKE, and text has no order. So only what narrows the search safely is sent; what
comes back is tested by `chunk_predicate`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Any

from qdrant_client import models

from ctxassembly.data.filters import Comparison, FilterGroup, parse_filter
from ctxassembly.stores.qdrant.points import own_key
from ctxassembly.stores.sparse.rows import COLUMNS, Layout

_RESERVED = frozenset({"document_id", "doc_id", "ref_doc_id", "_node_content", "_node_type"})
"""Keys of the payload that LlamaIndex writes itself, over the same ones in the metadata."""
_MAX_EXACT = 2.0**53
"""Larger integers aren't exact as the floats of a range."""
_PLAIN_STEP = re.compile(r"[A-Za-z0-9_-]+")
_NOTHING = models.HasIdCondition(has_id=[])


def engine_filter(layout: Layout, filters: Sequence[Any]) -> models.Filter | None:
    """Return conditions that pass at least the chunks that pass all `filters`; None passes all.

    A function can't be sent: what is found is tested by it.

    Raises:
        ConfigError: a filter has a form that can't be read.
    """
    groups = tuple(parse_filter(one) for one in filters if one is not None and not callable(one))
    condition = _condition(layout, FilterGroup("$and", groups), is_negated=False)
    return condition if condition is None or isinstance(condition, models.Filter) else models.Filter(must=[condition])


def _condition(layout: Layout, part: Comparison | FilterGroup, *, is_negated: bool) -> Any:
    """Return the condition of a part of a filter, or of its negation; None for one that passes all."""
    if isinstance(part, Comparison):
        return _comparison(layout, part, is_negated=is_negated)
    is_inner_negated = is_negated != (part.operator == "$not")
    members = [_condition(layout, member, is_negated=is_inner_negated) for member in part.members]
    if is_negated != (part.operator == "$or"):
        return models.Filter(should=members) if members and all(members) else None
    needed = [member for member in members if member is not None]
    return models.Filter(must=needed) if needed else None


_OPPOSITES = {"$ne": "$eq", "$nin": "$in", "$exists": "$exists"}
"""What a negated operator implies. The others imply nothing that Qdrant can test: a negated `$gt` passes text, too."""


def _comparison(layout: Layout, comparison: Comparison, *, is_negated: bool) -> Any:
    key, name, operand = comparison
    if is_negated:
        if name not in _OPPOSITES:
            return None
        name, operand = _OPPOSITES[name], not operand if name == "$exists" else operand
    paths = _paths(layout, key)
    if name in ("$ne", "$nin") or not paths or (name == "$exists" and operand):
        return None
    if name == "$exists":
        return models.Filter(must=[_is_empty(path) for path in paths])
    conditions = [_compare(path, name, operand) for path in paths]
    return models.Filter(should=conditions) if all(conditions) else None


def _paths(layout: Layout, key: str) -> list[str]:
    """Return the paths under which the value of a metadata key may be; none if that can't be expressed."""
    if key in COLUMNS:
        return [own_key(COLUMNS[key])]
    steps = key.split(".")
    if '"' in key or "" in steps or len(steps) > 2 or (layout.metadata is None and steps[0] in _RESERVED):
        return []
    quoted = [step if _PLAIN_STEP.fullmatch(step) else f'"{step}"' for step in steps]
    ways = [".".join(quoted)] if len(steps) == 1 else [".".join(quoted), f'"{key}"']
    return [way if layout.metadata is None else f"{layout.metadata}.{way}" for way in ways]


def _compare(path: str, name: str, operand: Any) -> Any:
    if name == "$eq":
        return _any_of(path, [operand])
    if name == "$in":
        return _any_of(path, operand)
    bounds = operand if name == "$between" else [operand]
    if not all(map(_is_exact_number, bounds)):
        return models.Filter(must_not=[_is_empty(path)])
    lowest = min(bounds) if name in ("$gt", "$gte", "$between") else None
    highest = max(bounds) if name in ("$lt", "$lte", "$between") else None
    return models.FieldCondition(key=path, range=models.Range(gte=lowest, lte=highest))


def _any_of(path: str, values: Collection[Any]) -> Any:
    """Return the condition of one of `values`; numbers by the range that they are in. None if one has another type."""
    texts = [value for value in values if type(value) is str]
    numbers = [value for value in values if _is_exact_number(value)]
    flags = {value for value in values if type(value) is bool}
    if len(texts) + len(numbers) + sum(type(value) is bool for value in values) < len(values):
        return None
    conditions: list[Any] = [models.FieldCondition(key=path, match=models.MatchValue(value=flag)) for flag in flags]
    if texts:
        conditions.append(models.FieldCondition(key=path, match=models.MatchAny(any=texts)))
    if numbers:
        around = models.Range(gte=min(numbers), lte=max(numbers))
        conditions.append(models.FieldCondition(key=path, range=around))
    return models.Filter(should=conditions) if conditions else _NOTHING


def _is_exact_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and abs(value) < _MAX_EXACT


def _is_empty(path: str) -> models.IsEmptyCondition:
    return models.IsEmptyCondition(is_empty=models.PayloadField(key=path))
