"""The nodes that a postprocessor or a retriever answers with, and the event that tells of their context."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.schema import NodeWithScore
from llama_index_instrumentation import get_dispatcher

from ctxassembly.adapting.told import Told
from llamaindex_ctxassembly.convert.labelled import labelled_nodes, unread
from llamaindex_ctxassembly.convert.nodes import is_media
from llamaindex_ctxassembly.events import ContextAssembledEvent, listened_to

dispatcher = get_dispatcher("llamaindex_ctxassembly.postprocessor")  # the name by which handlers know it


def answered(nodes: Sequence[NodeWithScore], told: Told) -> list[NodeWithScore]:
    """The nodes of a context, one per label, and those of `nodes` that are media; listeners are told."""
    if listened_to(dispatcher):
        event = ContextAssembledEvent(query=told.context.query, citations=told.citations, trace=told.trace)
        dispatcher.event(event)
    media = [NodeWithScore(node=unread(scored.node), score=scored.score) for scored in nodes if is_media(scored)]
    return labelled_nodes(told, [scored.node for scored in nodes]) + media
