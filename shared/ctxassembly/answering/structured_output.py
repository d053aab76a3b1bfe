"""Structured answers of a model: the JSON object in its text, and the fields in it, each checked by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from json import JSONDecoder
from typing import Any

from ctxassembly.safe_repr import safe_repr

_DECODER = JSONDecoder()


def parse_object(text: str) -> Mapping[str, Any] | None:
    """Return the first JSON object in `text`, whatever surrounds it; None if there is none.

    Models put theirs into a fence, or a sentence before it.

    >>> parse_object('Sure! {"intent": "practical"} Anything else?'), parse_object("practical")
    ({'intent': 'practical'}, None)
    """
    at = text.find("{")
    while at >= 0:
        try:
            value, _ = _DECODER.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError):
            at = text.find("{", at + 1)
            continue
        return value if isinstance(value, dict) else None
    return None


def parse_strings(value: Any, max_count: int) -> tuple[str, ...] | None:
    """Return a list of strings without blanks and repeats, at most `max_count`; None for another type.

    >>> parse_strings([" parking ", "", "parking"], 4), parse_strings("parking", 4)
    (('parking',), None)
    """
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return None
    return tuple(dict.fromkeys(text for one in value if (text := " ".join(one.split()))))[:max_count]


def parse_share(value: Any) -> float | None:
    """Return `value` as a number from 0 to 1; None if it is something else."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= 1 else None


def parse_error(name: str, value: Any) -> str:
    """Return a note on a malformed field."""
    return f"understand: {name} is malformed, {safe_repr(value, 80)}"
