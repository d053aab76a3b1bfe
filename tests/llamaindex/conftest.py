from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler

from llamaindex_samples import splitted


class Recorder(BaseEventHandler):
    events: list[Any]

    def handle(self, event: Any, **kwargs: Any) -> None:
        self.events.append(event)


@pytest.fixture
def index() -> VectorStoreIndex:
    """An index of the sample text, split."""
    return splitted()


@pytest.fixture
def instruments() -> Iterator[tuple[list[Any], SimpleSpanHandler]]:
    """The events and the spans of all that runs."""
    dispatcher = get_dispatcher()
    events, spans = Recorder(events=[]), SimpleSpanHandler()
    before = (list(dispatcher.event_handlers), list(dispatcher.span_handlers))
    dispatcher.add_event_handler(events)
    dispatcher.add_span_handler(spans)
    yield events.events, spans
    dispatcher.event_handlers, dispatcher.span_handlers = before
