"""Language models as functions from a prompt to a text, whichever framework they come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr


def text_model(name: str, model: Any) -> Callable[[str], str]:
    """Return `model` as a function from a prompt to its answer. `name` is the parameter, for errors.

    It may be a LangChain model or chain (`invoke`), a LlamaIndex model (`complete`), or such a function itself.

    >>> text_model("llm", lambda prompt: prompt.upper())("drink")
    'DRINK'

    Raises:
        InputError: `model` is none of these.
    """
    call = getattr(model, "invoke", None) or getattr(model, "complete", None) or (model if callable(model) else None)
    if call is None:
        raise InputError(f"{name} must be a LangChain or LlamaIndex model or a function, got {safe_repr(model)}")
    return lambda prompt: reply_text(call(prompt))


def reply_text(reply: Any) -> str:
    """Return the text of a message or a completion, which may be a property, a method or a string itself."""
    text = getattr(reply, "text", None) if not isinstance(reply, str) else reply
    text = text if isinstance(text, str) or not callable(text) else text()
    if not isinstance(text, str):
        text = getattr(reply, "content", None)
    if not isinstance(text, str):
        raise InputError(f"the model must reply with a text, got {safe_repr(reply)}")
    return str(text)
