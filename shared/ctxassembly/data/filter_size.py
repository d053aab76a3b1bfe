"""The limits of a filter. Whoever reads filters checks them first, so that nothing recurses into one without end."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from ctxassembly.errors import ConfigError

MOST_LEVELS = 50
"""Most levels of a filter: groups in groups, and the steps of a dotted key."""
MOST_CONDITIONS = 1_000
"""Most conditions in a filter. One on a dotted key counts once for each step of each way to read it: 3 for `a.b`."""
MOST_VALUES = 100_000
"""Most values in all the lists of a filter."""
_MOST_VISITED = 10_000
"""Parts of a filter that are looked at: more than any within the limits has."""
PLAIN = frozenset({str, int, float, bool, type(None), bytes, date, datetime, Decimal, UUID})
"""Types of values that hold no others."""


class Size(NamedTuple):
    """The size of a filter."""

    levels: int
    conditions: int
    values: int


def check_size(condition: Any) -> None:
    """Check that a filter, whatever its form, is within the limits.

    >>> check_size({"$or": [{"year": 2000 + at} for at in range(1_001)]})
    Traceback (most recent call last):
    ctxassembly.errors.ConfigError: filter must be a filter of at most 1000 conditions, got 1001

    Raises:
        ConfigError: it is too deep or too large. The message doesn't show the filter.
    """
    size = size_of(condition)
    _check("levels", MOST_LEVELS, size.levels)
    _check("conditions", MOST_CONDITIONS, size.conditions)
    _check("values in lists", MOST_VALUES, size.values)


def check_levels(condition: Any, most: int = MOST_LEVELS) -> None:
    """Check that a filter, or anything that has some, is nested at most `most` levels deep.

    Raises:
        ConfigError: it is deeper. The message doesn't show the filter.
    """
    _check("levels", most, size_of(condition).levels)


def _check(of: str, most: int, found: int) -> None:
    if found > most:
        raise ConfigError("filter", f"a filter of at most {most} {of}", found)


def size_of(condition: Any) -> Size:
    """The size of a filter in any form: mappings, or models such as LlamaIndex's and Qdrant's.

    The walk is a loop, since a filter may be deeper than Python's stack. It ends early in one that contains itself.
    """
    levels = conditions = values = visited = 0
    waiting: list[tuple[Any, int, int]] = [(condition, 1, 1)]
    while waiting and visited < _MOST_VISITED:
        part, level, weight = waiting.pop()
        levels, visited = max(levels, level), visited + 1
        if _is_list(part):
            values += 0 if _holds_groups(part) else len(part)
            inside = [] if isinstance(part, range) else [inner for inner in part if type(inner) not in PLAIN]
            waiting += [(inner, level + _is_list(inner), weight) for inner in inside]
        elif isinstance(part, Mapping):
            conditions += not part
            for key, inner in part.items():
                is_key = isinstance(key, str) and not key.startswith("$")
                steps = key.count(".") + 1 if is_key else 1
                each = steps * (steps + 1) // 2 if is_key else weight
                levels = max(levels, level + steps - 1)
                conditions += 0 if _holds_groups(inner) else each
                if type(inner) not in PLAIN:
                    waiting.append((inner, level + steps * _holds_groups(inner), each))
        elif _is_model(part):
            inside = [inner for inner in vars(part).values() if type(inner) not in PLAIN]
            conditions += not any(map(_holds_groups, inside))
            waiting += [(inner, level + _holds_groups(inner), weight) for inner in inside]
    return Size(levels, max(conditions, visited) if waiting else conditions, values)


def _is_list(part: Any) -> bool:
    return isinstance(part, Collection) and not isinstance(part, (str, bytes, bytearray, memoryview, Mapping))


def _is_model(part: Any) -> bool:
    """True for filters that are objects: pydantic's models, and what has the attributes of LlamaIndex's filters."""
    is_one = hasattr(type(part), "model_dump") or hasattr(part, "filters")
    return is_one and not isinstance(part, type) and hasattr(part, "__dict__")


def _holds_groups(part: Any) -> bool:
    """True for a mapping or a model, and for a list with one."""
    if _is_list(part):
        return not isinstance(part, range) and any(
            isinstance(inner, Mapping) or _is_model(inner) for inner in part if type(inner) not in PLAIN
        )
    return type(part) not in PLAIN and (isinstance(part, Mapping) or _is_model(part))
