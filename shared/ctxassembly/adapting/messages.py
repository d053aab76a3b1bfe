"""The check that an adapter's `to_messages` begins with: it is called with whatever a chain handed on."""

from __future__ import annotations

from typing import Any

from ctxassembly.context import Context
from ctxassembly.conversations.sources import is_context
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import shown


def context_given(context: Any, instead: str) -> Context:
    """`context`, if it is one or the dict of one; `instead` is the call that gives one.

    Raises:
        InputError: it is something else, such as the documents of a context.
    """
    if not is_context(context):
        raise InputError(f"context must be a Context, got {shown(context)}: {instead} gives one")
    return Context.from_dict(context)
