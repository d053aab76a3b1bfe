"""The nodes that a postprocessor or a retriever answers with, and the event that tells of their context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from llama_index.core.schema import NodeWithScore
from llama_index_instrumentation import get_dispatcher

from ctxassembly.context import Context
from ctxassembly.integrations.metadata import Told
from llamaindex_ctxassembly.convert.labelled import labelled_nodes, unread
from llamaindex_ctxassembly.convert.nodes import is_media
from llamaindex_ctxassembly.events import ContextAssembledEvent, listened_to

dispatcher = get_dispatcher("llamaindex_ctxassembly.postprocessor")  # the name by which handlers know it


class Answered(NamedTuple):
    """A context, and the nodes made of it, which may take as long as a small assembly."""

    told: Told
    nodes: list[NodeWithScore]

    @classmethod
    def of(cls, nodes: Sequence[NodeWithScore], context: Context) -> Answered:
        """The nodes of `context`, one per label, and those of `nodes` that are media. Nobody is told."""
        told = Told(context)
        media = [NodeWithScore(node=unread(scored.node), score=scored.score) for scored in nodes if is_media(scored)]
        return cls(told, labelled_nodes(told, [scored.node for scored in nodes]) + media)

    def announced(self) -> Answered:
        """The same; listeners are told."""
        if listened_to(dispatcher):
            told = self.told
            dispatcher.event(
                ContextAssembledEvent(query=told.context.query, citations=told.citations, trace=told.trace)
            )
        return self
