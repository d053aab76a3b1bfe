"""The events of a stage, as whoever watches an assembly or a retrieval is told of them: it began, it ended, it failed.

All that they say is plain: numbers, words and ids, no text of a document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SPANS = "ctxassembly."
"""The beginning of the names of all spans."""


@dataclass(frozen=True, slots=True)
class StageBegan:
    """The beginning of a stage of an assembly, or of a step of a retrieval.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> said = ("Drink water.", "Drink water.", "Then rest.")
    >>> hits = [Hit(Chunk(f"leaflet {n}", f"leaflet {n}", text)) for n, text in enumerate(said)]
    >>> def on_stage(event):
    ...     if isinstance(event, StageBegan):
    ...         print(event.span, event.inputs)
    >>> _ = assemble(hits, on_stage=on_stage)
    ctxassembly.admit {'chunks': 3}
    ctxassembly.dedup {'chunks': 3}
    ctxassembly.expand {'chunks': 2}
    ctxassembly.budget {'chunks': 2}
    ctxassembly.repeats {'chunks': 2}
    ctxassembly.render {'chunks': 2}
    """

    name: str
    """Its name in the trace."""
    inputs: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The number of `chunks` before it, or the query that it begins with."""

    @property
    def span(self) -> str:
        """The name of its span in a tracer."""
        return SPANS + self.name.replace(" ", "_")


@dataclass(frozen=True, slots=True)
class StageEnded:
    """The end of a stage, with its outcome.

    >>> from ctxassembly import Chunk, Hit, MemoryStore, assemble
    >>> chunks = [Chunk(f"gastro#{at}", "gastro", text, at) for at, text in enumerate(["Drink.", "Rest.", "Go home."])]
    >>> def on_stage(event):
    ...     if isinstance(event, StageEnded) and event.name in ("expand", "render"):
    ...         print(event.name, dict(event.outputs))
    >>> _ = assemble([Hit(chunks[1])], store=MemoryStore(chunks), on_stage=on_stage)
    expand {'chunks': 3, 'queries': 1}
    render {'chunks': 3, 'labels': 1, 'tokens': 14, 'characters': 41}
    """

    name: str
    outputs: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The number of `chunks` after it, and of what else it counts: `queries` to a store or an index, `dropped` by
    reason, `tokens`; the `ids` after a step of retrieval, best first; the fallbacks that it took, as `notes`."""


@dataclass(frozen=True, slots=True)
class StageFailed:
    """The error that ended a stage, and with it the assembly or the retrieval.

    >>> from ctxassembly import AssemblyConfig, Chunk, Hit, StoreError, assemble
    >>> class Down:
    ...     def fetch(self, refs):
    ...         raise ConnectionError("no route")
    >>> def on_stage(event):
    ...     if isinstance(event, StageFailed):
    ...         print(event.name, type(event.error).__name__)
    >>> strict = AssemblyConfig(on_store_error="raise")
    >>> try:
    ...     assemble([Hit(Chunk("a", "d", "Rest.", 1))], strict, store=Down(), on_stage=on_stage)
    ... except StoreError:
    ...     pass
    expand StoreError
    """

    name: str
    error: BaseException


StageEvent = StageBegan | StageEnded | StageFailed
