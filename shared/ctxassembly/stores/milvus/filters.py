"""A filter as a condition of Milvus, which passes every chunk that the filter passes, and maybe more.

Milvus Lite takes True for 1, has no `in` for a value in JSON, and reads the escapes of LIKE otherwise. Of texts only
those that need no escape are sent: a text can't end its own quotation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import Any

from ctxassembly.data.filters import Comparison
from ctxassembly.stores.sparse.filters import narrow, number_bounds, split_values
from ctxassembly.stores.sparse.rows import COLUMNS, OWN

PK, METADATA = "pk", "metadata"
"""Fields named as LangChain's Milvus names them."""
DOCUMENT = "document"
"""The field with the hash of the document's id."""
_MAX_VALUES = 256
"""Longer lists aren't sent: each value is a comparison of its own."""
_PLAIN = re.compile(r'[^"\\\x00-\x1f\x7f]*')
_NOTHING = f'{PK} == ""'


def row_key(text: str) -> str:
    """Return the key of a row, or of a document, for an id or a word of any kind."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


def any_of(field: str, values: Sequence[Any]) -> str:
    """Return the condition that a field is one of `values`, which are keys or numbers."""
    return f"{field} in {json.dumps(list(values))}"


def engine_filter(filters: Sequence[Any]) -> str:
    """Return a condition that passes at least the chunks that pass all `filters`; an empty one passes all.

    A function can't be sent: what is found is tested by it.

    Raises:
        ConfigError: a filter has a form that can't be read.
    """
    return narrow(filters, _comparison, all_of, _any_of) or ""


def all_of(conditions: Sequence[str]) -> str:
    """Return the condition that all `conditions` hold, as far as they aren't empty."""
    return " and ".join(f"({condition})" for condition in conditions if condition)


def _any_of(conditions: Sequence[str]) -> str:
    return " or ".join(f"({condition})" for condition in conditions)


def _comparison(comparison: Comparison) -> str | None:
    key, name, operand = comparison
    values = operand if name == "$in" else [operand] if name == "$eq" else None
    if key == "document_id":
        if values is None or not all(type(value) is str for value in values):
            return None
        return any_of(DOCUMENT, [row_key(value) for value in values])
    conditions = [_compare(path, name, operand, values) for path in _paths(key)]
    known = [condition for condition in conditions if condition]
    return _any_of(known) if known and len(known) == len(conditions) else None


def _paths(key: str) -> list[str]:
    """Return the paths under which the value of a metadata key may be; none if that can't be expressed."""
    if key in COLUMNS:
        return [f'{OWN}["{COLUMNS[key]}"]']
    steps = key.split(".")
    if not _PLAIN.fullmatch(key) or "" in steps or len(steps) > 2:
        return []
    ways = [steps] if len(steps) == 1 else [steps, [key]]
    return [METADATA + "".join(f'["{step}"]' for step in way) for way in ways]


def _compare(path: str, name: str, operand: Any, values: Collection[Any] | None) -> str | None:
    if values is not None:
        return _one_of(path, values)
    if name in ("$exists", "$like", "$ilike"):
        return None
    bounds = number_bounds(name, operand)
    return None if bounds is None else _between(path, *bounds)


def _one_of(path: str, values: Collection[Any]) -> str | None:
    """Return the condition of one of `values`; numbers by the range that they are in. None if one can't be sent."""
    kinds = split_values(values)
    if kinds is None:
        return None
    texts, numbers, flags = kinds
    if len(texts) > _MAX_VALUES or not all(map(_PLAIN.fullmatch, texts)):
        return None
    conditions = [f'{path} == "{text}"' for text in texts] + [f"{path} == {str(flag).lower()}" for flag in flags]
    if numbers:
        conditions.append(_between(path, min(numbers), max(numbers)))
    return _any_of(conditions) if conditions else _NOTHING


def _between(path: str, lowest: float | None, highest: float | None) -> str:
    bounds = ((">=", lowest), ("<=", highest))
    return " and ".join(f"{path} {sign} {bound!r}" for sign, bound in bounds if bound is not None)
