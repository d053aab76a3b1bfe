"""Contexts in the state of a graph: a reducer, and a channel that checkpoints them as plain data.

LangGraph names the class of each object in a checkpoint, and by default warns of one that it doesn't know; under
LANGGRAPH_STRICT_MSGPACK it takes only those that the annotations of the state name. The channel writes dicts and lists
alone, so there is nothing to know, and gives the contexts back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_origin

from langgraph.channels import BinaryOperatorAggregate
from typing_extensions import Self, override

from ctxassembly.context import Context
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr


def add_contexts(existing: Any, new: Any) -> list[Context]:
    """Return the contexts of a conversation in order, `new` last: a reducer for the state of a LangGraph graph.

    `new` is a context, its dict, or a list of these. A context that is there already isn't added again, as where a
    subgraph gives back the whole list.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> first, second = (assemble([Hit(Chunk(name, name, name))]) for name in ("falcon", "ember"))
    >>> [context.passages[0].text for context in add_contexts([first], [first.to_dict(), second])]
    ['falcon', 'ember']

    Raises:
        InputError: one of them is neither a context nor its dict.
    """
    contexts = list(_to_contexts(existing))
    for context in _to_contexts(new):
        if context not in contexts:
            contexts.append(context)
    return contexts


class ContextChannel(BinaryOperatorAggregate[Any]):
    """A channel of a LangGraph state for contexts, saved in checkpoints as plain data: nothing to register.

    If it annotates a list, it keeps the contexts of all turns, as `add_contexts` does; otherwise only the last one.
    Nodes write a `Context` or its dict. `context_node` writes the dict, so that the writes that a checkpoint keeps are
    plain as well.

    >>> from typing import Annotated, TypedDict
    >>> from langgraph.graph import START, StateGraph
    >>> from ctxassembly import Chunk, Context, Hit, assemble
    >>> State = TypedDict("State", {"contexts": Annotated[list[Context], ContextChannel]})
    >>> def search(state):
    ...     return {"contexts": assemble([Hit(Chunk("gastro#0", "gastro", "Drink water."))]).to_dict()}
    >>> graph = StateGraph(State).add_node(search).add_edge(START, "search").compile()
    >>> [context.citations[0].label for context in graph.invoke({"contexts": []})["contexts"]]
    ['1']
    """

    def __init__(self, typ: Any, operator: Any = None) -> None:
        """Return `typ` is the annotated type; LangGraph gives it."""
        kind = get_origin(typ) or typ
        self.is_list = isinstance(kind, type) and issubclass(kind, Sequence)
        super().__init__(typ, operator or (add_contexts if self.is_list else _keep_last))

    @override
    def checkpoint(self) -> Any:
        value = super().checkpoint()
        if isinstance(value, Context):
            return value.to_dict()
        return [context.to_dict() for context in value] if isinstance(value, list) else value

    @override
    def from_checkpoint(self, checkpoint: Any) -> Self:
        restored = super().from_checkpoint(checkpoint)
        if isinstance(checkpoint, (Mapping, list)):
            restored.value = self._read_contexts(checkpoint)
        return restored

    @override
    def update(self, values: Sequence[Any]) -> bool:
        changed = super().update(values)
        if changed:
            self.value = self._read_contexts(self.value)  # a first write, or one that overwrites, is as it was given
        return changed

    def _read_contexts(self, value: Any) -> Any:
        contexts = list(_to_contexts(value))
        return contexts if self.is_list else contexts[-1] if contexts else None


def _keep_last(existing: Any, new: Any) -> Any:  # noqa: ARG001 - a reducer takes both
    return new


def _to_contexts(value: Any) -> list[Context]:
    values = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    for one in values:
        if not isinstance(one, (Context, Mapping)):
            raise InputError(f"contexts must be of Context, or what its to_dict() gave, got {safe_repr(one)}")
    return [Context.from_dict(one) for one in values]
