"""Checks of settings: what is out of range is an error that names parameter, range and value."""

from __future__ import annotations

from typing import Any

from ctxassembly.errors import ConfigError


def check_int(parameter: str, value: Any, least: int, most: int | None = None) -> None:
    """Nothing, if `value` is an integer from `least` to `most`.

    Raises:
        ConfigError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        allowed = f"an integer of at least {least:,}" if most is None else f"an integer from {least:,} to {most:,}"
        raise ConfigError(parameter, allowed, value)
