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
from ctxassembly.stores.qdrant.rows import COLUMNS, Layout, own_key

_RESERVED = frozenset({"document_id", "doc_id", "ref_doc_id", "_node_content", "_node_type"})
"""Keys of the payload that LlamaIndex writes itself, over the same ones in the metadata."""
_MAX_EXACT = 2.0**53
"""Larger integers aren't exact as floats."""
_OPPOSITES = {"$ne": "$eq", "$nin": "$in", "$exists": "$exists"}
"""What a negated operator implies. The others imply nothing that can be tested: a negated `$gt` passes text, too."""
_PLAIN_STEP = re.compile(r"[A-Za-z0-9_-]+")
_NOTHING = models.HasIdCondition(has_id=[])


def engine_filter(layout: Layout, filters: Sequence[Any]) -> models.Filter | None:
    """Return conditions that pass at least the chunks that pass all `filters`; None passes all.

    A function can't be sent: what is found is tested by it.

    Args:
        layout: where the collection keeps metadata.
        filters: mappings, functions and None.

    Raises:
        ConfigError: a filter has a form that can't be read.
    """
    groups = tuple(parse_filter(one) for one in filters if one is not None and not callable(one))
    return _group(layout, FilterGroup("$and", groups), is_negated=False)


def _condition(layout: Layout, part: Comparison | FilterGroup, *, is_negated: bool) -> models.Filter | None:
    if isinstance(part, FilterGroup):
        return _group(layout, part, is_negated=is_negated)
    key, name, operand = part
    if is_negated:
        if name not in _OPPOSITES:
            return None
        name, operand = _OPPOSITES[name], not operand if name == "$exists" else operand
    paths = _paths(layout, key)
    if not paths or name in ("$ne", "$nin") or (name == "$exists" and operand):  # these narrow nothing
        return None
    if name == "$exists":
        return models.Filter(must=[_is_empty(path) for path in paths])
    conditions = [_compare(path, name, operand) for path in paths]
    return models.Filter(should=conditions) if all(conditions) else None


def _group(layout: Layout, group: FilterGroup, *, is_negated: bool) -> models.Filter | None:
    is_inner_negated = is_negated != (group.operator == "$not")
    members = [_condition(layout, member, is_negated=is_inner_negated) for member in group.members]
    needed: list[Any] = [member for member in members if member is not None]
    if is_negated != (group.operator == "$or"):
        return models.Filter(should=needed) if needed and len(needed) == len(members) else None
    return models.Filter(must=needed) if needed else None


def _paths(layout: Layout, key: str) -> list[str]:
    """Return the paths under which the value of a metadata key may be; none if that can't be expressed."""
    if key in COLUMNS:
        return [own_key(COLUMNS[key])]
    steps = key.split(".")
    is_unsayable = '"' in key or "\\" in key  # a quoted step has no escapes
    if is_unsayable or "" in steps or len(steps) > 2 or (layout.metadata is None and steps[0] in _RESERVED):
        return []
    quoted = [step if _PLAIN_STEP.fullmatch(step) else f'"{step}"' for step in steps]
    ways = [".".join(quoted)] if len(steps) == 1 else [".".join(quoted), f'"{key}"']
    return [way if layout.metadata is None else f"{layout.metadata}.{way}" for way in ways]


def _compare(path: str, name: str, operand: Any) -> Any:
    if name == "$eq":
        return _any_of(path, [operand])
    if name == "$in":
        return _any_of(path, operand)
    bounds = _number_bounds(name, operand)
    if bounds is None:
        # An empty list is as good as missing to Qdrant. It may be below another list, and it is no text.
        is_text = all(type(one) is str for one in (operand if name == "$between" else [operand]))
        return models.Filter(must_not=[_is_empty(path)]) if is_text else None
    return models.FieldCondition(key=path, range=models.Range(gte=bounds[0], lte=bounds[1]))


def _any_of(path: str, values: Collection[Any]) -> Any:
    """Return the condition of one of `values`; numbers by the range that they are in. None if one has another type."""
    kinds = _split_values(values)
    if kinds is None:
        return None
    texts, numbers, flags = kinds
    conditions: list[Any] = [models.FieldCondition(key=path, match=models.MatchValue(value=flag)) for flag in flags]
    if texts:
        conditions.append(models.FieldCondition(key=path, match=models.MatchAny(any=texts)))
    if numbers:
        around = models.Range(gte=min(numbers), lte=max(numbers))
        conditions.append(models.FieldCondition(key=path, range=around))
    return models.Filter(should=conditions) if conditions else _NOTHING


def _is_empty(path: str) -> models.IsEmptyCondition:
    return models.IsEmptyCondition(is_empty=models.PayloadField(key=path))


def _is_exact_number(value: Any) -> bool:
    """Return True for a number that is the same one as a float."""
    return type(value) in (int, float) and math.isfinite(value) and abs(value) < _MAX_EXACT


def _number_bounds(operator: str, operand: Any) -> tuple[Any, Any] | None:
    """Return the least and the most that `$gt` ... `$between` pass, None for no bound; None if they aren't numbers."""
    bounds = operand if operator == "$between" else [operand]
    if not all(map(_is_exact_number, bounds)):
        return None
    lowest = min(bounds) if operator in ("$gt", "$gte", "$between") else None
    highest = max(bounds) if operator in ("$lt", "$lte", "$between") else None
    return lowest, highest


def _split_values(values: Collection[Any]) -> tuple[list[str], list[float], set[bool]] | None:
    """Return texts, numbers and flags among `values`; None if one has another type."""
    texts = [value for value in values if type(value) is str]
    numbers = [value for value in values if _is_exact_number(value)]
    flags = [value for value in values if type(value) is bool]
    return (texts, numbers, {*flags}) if len(texts) + len(numbers) + len(flags) == len(values) else None
