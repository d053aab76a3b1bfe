"""Checks of settings. A value out of range is an error that names the parameter, the range and the value."""

from __future__ import annotations

from typing import Any

from ctxassembly.errors import ConfigError

MOST = 2**63 - 1
"""The largest integer that databases hold. Only a value beyond it is told of this limit."""


def check_int(parameter: str, value: Any, least: int, most: int = MOST) -> None:
    """Check that `value` is an integer from `least` to `most`.

    Raises:
        ConfigError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        endless = most == MOST and not (isinstance(value, int) and value > most)
        allowed = f"an integer of at least {least:,}" if endless else f"an integer from {least:,} to {most:,}"
        raise ConfigError(parameter, allowed, value)
