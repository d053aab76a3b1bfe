"""A filter as Qdrant's conditions, which pass every chunk that the filter passes, and maybe more.

Qdrant reads conditions otherwise: a chunk without the key passes a negation, any element of a list is compared, 2020
doesn't match 2020.0, there is no LIKE, and text has no order. So only what narrows the search safely is sent; what
comes back is tested by `chunk_predicate`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from qdrant_client import models

from ctxassembly.data.filters import Comparison
from ctxassembly.stores.sparse.filters import RESERVED, narrow, number_bounds, split_values
from ctxassembly.stores.sparse.rows import COLUMNS, OWN, Layout

_PLAIN_STEP = re.compile(r"[A-Za-z0-9_-]+")
_NOTHING = models.HasIdCondition(has_id=[])


def own_key(name: str) -> str:
    """Return the path of what we keep of a chunk under `name`."""
    return f"{OWN}.{name}"


def engine_filter(layout: Layout, filters: Sequence[Any]) -> models.Filter | None:
    """Return conditions that pass at least the chunks that pass all `filters`; None passes all.

    A function can't be sent: what is found is tested by it.

    Raises:
        ConfigError: a filter has a form that can't be read.
    """

    def all_of(conditions: list[Any]) -> Any:
        return models.Filter(must=conditions)

    def any_of(conditions: list[Any]) -> Any:
        return models.Filter(should=conditions)

    condition = narrow(filters, partial(_comparison, layout), all_of, any_of)
    return condition if condition is None or isinstance(condition, models.Filter) else models.Filter(must=[condition])


def _comparison(layout: Layout, comparison: Comparison) -> Any:
    key, name, operand = comparison
    paths = _paths(layout, key)
    if not paths or (name == "$exists" and operand):
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
    is_unsayable = '"' in key or "\\" in key  # a quoted step has no escapes
    if is_unsayable or "" in steps or len(steps) > 2 or (layout.metadata is None and steps[0] in RESERVED):
        return []
    quoted = [step if _PLAIN_STEP.fullmatch(step) else f'"{step}"' for step in steps]
    ways = [".".join(quoted)] if len(steps) == 1 else [".".join(quoted), f'"{key}"']
    return [way if layout.metadata is None else f"{layout.metadata}.{way}" for way in ways]


def _compare(path: str, name: str, operand: Any) -> Any:
    if name == "$eq":
        return _any_of(path, [operand])
    if name == "$in":
        return _any_of(path, operand)
    bounds = number_bounds(name, operand)
    if bounds is None:
        # An empty list is as good as missing to Qdrant. It may be below another list, and it is no text.
        is_text = all(type(one) is str for one in (operand if name == "$between" else [operand]))
        return models.Filter(must_not=[_is_empty(path)]) if is_text else None
    return models.FieldCondition(key=path, range=models.Range(gte=bounds[0], lte=bounds[1]))


def _any_of(path: str, values: Collection[Any]) -> Any:
    """Return the condition of one of `values`; numbers by the range that they are in. None if one has another type."""
    kinds = split_values(values)
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
