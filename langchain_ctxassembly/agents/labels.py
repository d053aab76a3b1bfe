"""The labels of an agent's contexts, as they follow from the state of the branch that the agent is in.

Nothing is remembered here: a state restored from a checkpoint gives the labels that it gave before, in any process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.conversations.sources import is_context, last_label


def counted_on(
    config: AssemblyConfig, state: Any, *, call_id: str | None = None, evidence: str | None = None
) -> AssemblyConfig:
    """`config` with labels after all that the `state` has, in its contexts and in what its messages carry.

    Contexts under the key `evidence` don't count: a context is made of them.

    Tools that one message calls run at the same time, and none sees what the others find. So the call `call_id`, the
    second of three, say, takes every third label from the second one on.
    """
    values = [value for key, value in _items(state) if key != evidence]
    first = max(config.first_label, last_label([one for value in values for one in _labelled(value)]) + 1)
    for message in (message for value in values if isinstance(value, list) for message in reversed(value)):
        called = [call["id"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
        if call_id is not None and call_id in called:
            return replace(config, first_label=first + called.index(call_id), label_step=len(called))
    return replace(config, first_label=first)


def _items(state: Any) -> Iterable[tuple[str, Any]]:
    """The items of a graph's state: a dict, a dataclass, a model, or the list of messages that is all of it."""
    if isinstance(state, list):
        return [("", state)]
    if isinstance(state, Mapping):
        return state.items()
    names: Iterable[str] = getattr(state, "__dataclass_fields__", None) or getattr(state, "__dict__", {})
    return [(name, getattr(state, name)) for name in names]


def _labelled(value: Any) -> Iterator[Any]:
    """The contexts and messages in one value of the state. Documents that may be evidence for a context are neither."""
    if isinstance(value, BaseMessage) or is_context(value):
        yield value
    elif isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        for one in value:
            yield from _labelled(one)
