"""The check that an adapter's `to_messages` begins with: it is called with whatever a chain handed on."""

from __future__ import annotations

from typing import Any

from ctxassembly.context import Context
from ctxassembly.errors import InputError
from ctxassembly.shown import shown


def context_given(context: Any, instead: str) -> Context:
    """`context`, if it is one; `instead` is the call that gives one.

    Raises:
        InputError: it is something else, such as the documents of a context.
    """
    if not isinstance(context, Context):
        raise InputError(f"context must be a Context, got {shown(context)}: {instead} gives one")
    return context
