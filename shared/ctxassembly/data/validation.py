"""Checks of settings. A value out of range is an error that names the parameter, the range and the value."""

from __future__ import annotations

import math
from typing import Any

from ctxassembly.errors import ConfigError

MAX_INTEGER = 2**63 - 1
"""The largest integer that databases hold. Only a value beyond it is told of this limit."""


def check_int(parameter: str, value: Any, minimum: int, maximum: int = MAX_INTEGER) -> None:
    """Check that `value` is an integer from `minimum` to `maximum`.

    Raises:
        ConfigError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        is_unbounded = maximum == MAX_INTEGER and not (isinstance(value, int) and value > maximum)
        allowed = (
            f"an integer of at least {minimum:,}" if is_unbounded else f"an integer from {minimum:,} to {maximum:,}"
        )
        raise ConfigError(parameter, allowed, value)


def check_number(
    parameter: str, value: Any, minimum: float = -math.inf, maximum: float = math.inf, *, above: float | None = None
) -> None:
    """Nothing, if `value` is a finite number from `minimum` to `maximum`, or one `above` something.

    Raises:
        ConfigError: it is not.
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or not minimum <= value <= maximum or (above is not None and value <= above):
        allowed = (
            f"a number from {minimum:g} to {maximum:g}" if maximum < math.inf else f"a number of at least {minimum:g}"
        )
        raise ConfigError(parameter, allowed if above is None else f"a number above {above:g}", value)


def check_weights(field_weights: Any, length_weight: Any) -> None:
    """Check the weights of an index for words: two numbers from 0 to 1 for title and questions, one for the length.

    Raises:
        ConfigError: they are something else.
    """
    check_number("length_weight", length_weight, 0, 1)
    if not isinstance(field_weights, (tuple, list)) or len(field_weights) != 2:
        raise ConfigError("field_weights", "two numbers from 0 to 1, for title and questions", field_weights)
    for weight in field_weights:
        check_number("field_weights", weight, 0, 1)
