"""What earlier contexts left out, read from the store again: as it is now, and as far as the filter of the call allows.

The reply to a model is a context, assembled of what was found, or a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple

from ctxassembly.assembly.arguments import check_filtered
from ctxassembly.assembly.expansion.admit import admit_chunks
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.conversations.left_out import LeftOut, find_left_out, left_out_refs, unreadable
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.requests import FetchChunks
from ctxassembly.errors import StoreError
from ctxassembly.runtime.assemble import assembly_ports
from ctxassembly.runtime.driver import adrive, drive
from ctxassembly.safe_repr import describe_error


class LeftOutRequest(NamedTuple):
    """One call of the tool."""

    contexts: Sequence[Context]
    """The contexts that the model has read, in order."""
    wanted: Mapping[str, str]
    """What it asks for: `words`, `document`, `label`."""
    store: Any
    """The store, which applies the filter of the call."""
    transform_fetched: Callable[..., Any] | None
    config: AssemblyConfig
    dropped: Sequence[Context] = ()
    """Contexts whose text the model no longer sees."""


def read_left_out(request: LeftOutRequest) -> LeftOut:
    """Return what answers `request`, or the reply if nothing does.

    Raises:
        ConfigError: `neighbors="filtered"`, and the store doesn't apply the filter of the call.
        InputError: the store can only be awaited.
        StoreError: the store failed and `on_store_error="raise"`.
    """
    return drive(_flow(request), assembly_ports(request.store, transform_fetched=request.transform_fetched))


async def aread_left_out(request: LeftOutRequest) -> LeftOut:
    """Async version of `read_left_out`."""
    ports = assembly_ports(request.store, transform_fetched=request.transform_fetched, needs_sync=False)
    return await adrive(_flow(request), ports)


def _flow(request: LeftOutRequest) -> Generator[FetchChunks, Any, LeftOut]:
    check_filtered(request.config, getattr(request.store, "holds_filter", None))
    known, stored = (*request.contexts, *request.dropped), list[Chunk]()
    if refs := left_out_refs(known):
        try:
            stored, _ = admit_chunks((yield FetchChunks(refs)), strict=False)
        except Exception as error:  # whatever a store raises, the model gets an answer
            if request.config.on_store_error == "raise":
                raise StoreError(f"what was left out could not be read: {describe_error(error)}") from error
            return unreadable(known, error)
    return find_left_out(request.contexts, stored, dropped=request.dropped, **request.wanted)
