"""The response of a run: whole, or as a stream."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.response.schema import AsyncStreamingResponse, Response, StreamingResponse

from ctxassembly.answering.answer import Answer
from llamaindex_ctxassembly.chain.run import Run
from llamaindex_ctxassembly.chain.streams import apieces_of, pieces_of


def response_of(run: Run, answer: Answer) -> Response:
    """The response with an answer."""
    return Response(answer.text, run.nodes, run.metadata)


def streamed_response(run: Run) -> StreamingResponse:
    """The response that streams."""
    metadata: dict[str, Any] = {}
    pieces = pieces_of(run.events(), str, lambda _: metadata.update(run.metadata))
    return StreamingResponse(pieces, run.nodes, metadata)


async def astreamed_response(run: Run) -> AsyncStreamingResponse:
    """The same as `streamed_response`, awaited."""
    metadata: dict[str, Any] = {}

    async def finish(_: Answer) -> None:
        metadata.update(run.metadata)

    return AsyncStreamingResponse(await apieces_of(run.aevents(), str, finish), run.nodes, metadata)
