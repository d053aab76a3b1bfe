"""The events and the step of a LlamaIndex workflow that assembles: retrieved nodes in, a context out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from llama_index.core.schema import BaseNode, NodeWithScore
from llama_index.core.workflow import Event, Workflow, step
from pydantic import BeforeValidator, PlainSerializer, PlainValidator

from ctxassembly.context import Context
from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly.postprocessor import ContextAssemblyPostprocessor


def _node_classes() -> dict[str, Any]:
    """Return all classes of nodes, of callers too, by the name that is written; of several the least derived."""
    kinds: list[Any] = [BaseNode]
    for kind in kinds:  # it grows, level by level
        kinds += kind.__subclasses__()
    return {kind.class_name(): kind for kind in reversed(kinds)}


def _restore_nodes(nodes: Any) -> Any:
    """Return nodes as they were before they were written as JSON; LlamaIndex itself doesn't know their classes."""
    if not isinstance(nodes, list):
        return nodes
    classes = _node_classes()
    return [
        NodeWithScore(node=classes[scored["node"]["class_name"]].from_dict(scored["node"]), score=scored.get("score"))
        if isinstance(scored, Mapping)
        else scored
        for scored in nodes
    ]


class RetrievedEvent(Event):
    """Nodes were retrieved for a query.

    >>> from llama_index.core.schema import NodeWithScore, TextNode
    >>> event = RetrievedEvent(nodes=[NodeWithScore(node=TextNode(text="Drink water."))], query="May I drink?")
    >>> RetrievedEvent.model_validate(event.model_dump(mode="json")).nodes[0].text
    'Drink water.'
    """

    nodes: Annotated[list[NodeWithScore], BeforeValidator(_restore_nodes)]
    query: str | None = None


class ContextEvent(Event):
    """A context was assembled. It can be written as JSON, in a queue or in the store of a workflow's context.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> event = ContextEvent(context=assemble([Hit(Chunk("a", "a", "Drink water."))]), query="May I drink?")
    >>> ContextEvent.model_validate(event.model_dump(mode="json")).context == event.context
    True
    """

    context: Annotated[
        Context, PlainValidator(Context.from_dict), PlainSerializer(Context.to_dict, return_type=dict[str, Any])
    ]
    query: str | None = None


def add_assembly_step(
    workflow: type[Workflow], postprocessor: ContextAssemblyPostprocessor | None = None, *, name: str = "assemble"
) -> None:
    """Add the step `name` to `workflow`, from a RetrievedEvent to a ContextEvent.

    >>> import asyncio
    >>> from llama_index.core.schema import NodeWithScore, TextNode
    >>> from llama_index.core.workflow import StartEvent, StopEvent
    >>> class Reading(Workflow):
    ...     @step
    ...     async def retrieve(self, event: StartEvent) -> RetrievedEvent:
    ...         return RetrievedEvent(nodes=[NodeWithScore(node=TextNode(text="Drink water."))], query=event.query)
    ...
    ...     @step
    ...     async def answer(self, event: ContextEvent) -> StopEvent:
    ...         return StopEvent(result=event.context.text)
    >>> add_assembly_step(Reading, ContextAssemblyPostprocessor())
    >>> async def read():
    ...     return await Reading().run(query="May I drink?")
    >>> print(asyncio.run(read()))
    [1] Source: unknown
    Drink water.

    A step of one's own does the same with `await postprocessor.acontext(event.nodes, event.query)`.

    Raises:
        ConfigError: `workflow` is no class of workflows, `postprocessor` of another kind, or `name` no identifier.
        WorkflowValidationError: the workflow has a step of that name.
    """
    if not (isinstance(workflow, type) and issubclass(workflow, Workflow)):
        raise ConfigError("workflow", "a class of workflows", workflow)
    if not (postprocessor is None or isinstance(postprocessor, ContextAssemblyPostprocessor)):
        raise ConfigError("postprocessor", "a ContextAssemblyPostprocessor or None", postprocessor)
    if not (isinstance(name, str) and name.isidentifier()):
        raise ConfigError("name", "the name of a step, an identifier", name)
    assembly = postprocessor or ContextAssemblyPostprocessor()

    async def assemble(event: RetrievedEvent) -> ContextEvent:
        return ContextEvent(context=await assembly.acontext(event.nodes, event.query), query=event.query)

    # A workflow reads the events of a step from its annotations, and knows a free function by its name.
    assemble.__annotations__ = {"event": RetrievedEvent, "return": ContextEvent}
    assemble.__qualname__ = assemble.__name__ = name
    step(workflow=workflow)(assemble)
