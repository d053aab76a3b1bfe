"""A chat model with a limit or a schema, wherever it stands among fallbacks, retries and bindings.

Such wrappers take a chat model's place, but not its settings: `with_structured_output` of a retry gives a model without
the retry. So the wrapper is kept, and the models in it are exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableBinding, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase

LIMITS = ("max_tokens", "max_output_tokens", "max_completion_tokens", "max_new_tokens", "num_predict")
"""The fields by which chat models call the most tokens of an answer."""
NAME = "question"
"""The name of the schema, which models that call tools are told."""


def limited(llm: Runnable[Any, Any], most_tokens: int) -> Runnable[Any, Any]:
    """`llm` with answers of at most `most_tokens`, as far as its models have a field for that."""
    return _exchanged(llm, partial(_limited, most_tokens=most_tokens))


def structured(llm: Runnable[Any, Any], schema: Mapping[str, Any]) -> Runnable[Any, Any]:
    """`llm` held to a JSON schema, as far as its models can call tools; the others go on answering in text.

    A model with bound arguments is one of these others: LangChain's structured output would lose them.
    """
    named = {"title": NAME, "description": "A question, prepared for a search.", **schema}
    return _exchanged(llm, partial(_structured, schema=named), through_arguments=False)


def _exchanged(
    llm: Runnable[Any, Any],
    change: Callable[[BaseChatModel], Runnable[Any, Any]],
    *,
    through_arguments: bool = True,
) -> Runnable[Any, Any]:
    exchange = partial(_exchanged, change=change, through_arguments=through_arguments)
    if isinstance(llm, BaseChatModel):
        return change(llm)
    if isinstance(llm, RunnableWithFallbacks):
        changed = {"runnable": exchange(llm.runnable), "fallbacks": [exchange(one) for one in llm.fallbacks]}
        return llm.model_copy(update=changed)
    if isinstance(llm, RunnableBindingBase):
        has_arguments = isinstance(llm, RunnableBinding) and bool(llm.kwargs)
        return llm if has_arguments and not through_arguments else llm.model_copy(update={"bound": exchange(llm.bound)})
    return llm


def _limited(llm: BaseChatModel, most_tokens: int) -> BaseChatModel:
    name = next((name for name in LIMITS if name in type(llm).model_fields), None)
    return llm if name is None else llm.model_copy(update={name: most_tokens})


def _structured(llm: BaseChatModel, schema: Mapping[str, Any]) -> Runnable[Any, Any]:
    can_call_tools = type(llm).bind_tools is not BaseChatModel.bind_tools
    return llm.with_structured_output(dict(schema), include_raw=True) if can_call_tools else llm
