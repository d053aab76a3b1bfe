"""on_stage: whoever watches an assembly or a retrieval is told of its stages, while they happen."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

import pytest

from builders import hits_of, split
from ctxassembly import (
    AssemblyConfig,
    Chunk,
    Context,
    MemoryIndex,
    MemoryStore,
    RetrievalConfig,
    Retrieved,
    StoreError,
    aassemble,
    aretrieve,
    assemble,
    retrieve,
)
from ctxassembly.protocols import StageBegan, StageEnded, StageFailed

CHUNKS = split("A", "".join(f"<{n:04} and some more words>" for n in range(60)), size=112, overlap=28)
WATER = [Chunk("w#0", "w", "Drink water."), Chunk("w#1", "v", "Drink water.")]
KEYWORD = RetrievalConfig(strategy="keyword", limit=2)
under_way: ContextVar[str] = ContextVar("under_way", default="")


class Told:
    """An `on_stage` that keeps the events, and sets a context variable as a tracer does."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def __call__(self, event: Any) -> None:
        self.events.append(event)
        under_way.set(event.name if isinstance(event, StageBegan) else "")

    def outputs(self, name: str) -> dict[str, Any]:
        """Those of the last stage of that name."""
        return dict(
            [event for event in self.events if isinstance(event, StageEnded) and event.name == name][-1].outputs
        )

    def began(self) -> list[str]:
        return [event.name for event in self.events if isinstance(event, StageBegan)]


class Awaited(Told):
    """The same, which has to be awaited."""

    async def __call__(self, event: Any) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        super().__call__(event)


def assembled(told: Told, **given: Any) -> Context:
    return assemble(hits_of([CHUNKS[5], CHUNKS[5], CHUNKS[8]]), on_stage=told, store=MemoryStore(CHUNKS), **given)


def retrieved(told: Told, config: RetrievalConfig = KEYWORD, **given: Any) -> Retrieved:
    index = given.pop("index", MemoryIndex([Chunk("a", "d", "Ferritin."), Chunk("b", "d", "Ferritin, and iron.")]))
    return retrieve("iron or ferritin", config, index=index, on_stage=told, **given)


def test_each_stage_of_an_assembly_begins_and_ends_before_the_next_one():
    told = Told()
    context = assembled(told, config=AssemblyConfig(dedup_sentences=False))
    names = [stage.name for stage in context.trace.stages]
    assert names == ["admit", "dedup", "expand", "dedup", "budget", "render"]
    assert [(type(event), event.name) for event in told.events] == [
        (kind, name) for name in names for kind in (StageBegan, StageEnded)
    ]


def test_what_is_told_is_what_the_trace_says():
    told = Told()
    context = assembled(told, config=AssemblyConfig(dedup_sentences=False))
    began = [event for event in told.events if isinstance(event, StageBegan)]
    ended = [event for event in told.events if isinstance(event, StageEnded)]
    assert [(one.inputs["chunks"], two.outputs["chunks"]) for one, two in zip(began, ended, strict=True)] == [
        (stage.chunks_in, stage.chunks_out) for stage in context.trace.stages
    ]
    assert told.outputs("expand") == {"chunks": 6, "queries": 1}
    assert told.outputs("render")["tokens"] == told.outputs("budget")["tokens"] == context.token_count
    assert told.outputs("render")["characters"] == len(context.text)


def test_a_stage_tells_the_fallbacks_that_it_took_and_no_other_does():
    class Down:
        def fetch(self, refs: Any) -> Any:
            raise ConnectionError("no route")

    told = Told()
    assemble(hits_of(CHUNKS[:1]), store=Down(), on_stage=told)
    assert "no route" in told.outputs("expand")["notes"][0]
    assert all(
        "notes" not in event.outputs
        for event in told.events
        if isinstance(event, StageEnded) and event.name != "expand"
    )


def test_each_step_of_a_retrieval_is_told_with_the_ids_after_it():
    told = Told()
    found = retrieved(told)
    assert told.began() == [step.name for step in found.trace.steps] == ["resolve", "search", "fuse", "limit"]
    assert told.events[0].inputs == {"query": "iron or ferritin"}
    search = told.outputs("search")
    assert (search["chunks"], search["queries"], search["found"]) == (2, 2, {"keyword": 2})
    assert told.outputs("limit")["ids"] == ["b", "a"]


def test_the_stage_that_failed_is_told_with_the_error():
    class Down(MemoryIndex):
        def fetch(self, refs: Any) -> Any:
            raise ConnectionError("no route")

        def search(self, request: Any) -> Any:
            raise ConnectionError("no route")

    told = Told()
    with pytest.raises(StoreError) as raised:
        assemble(hits_of(CHUNKS[:1]), AssemblyConfig(on_store_error="raise"), store=Down([]), on_stage=told)
    assert told.events[-1] == StageFailed("expand", raised.value)
    told = Told()
    with pytest.raises(StoreError) as searched:
        retrieved(told, index=Down([Chunk("a", "d", "Ferritin.")]))
    assert told.events[-1] == StageFailed("search", searched.value)


async def test_a_watcher_that_is_awaited_hears_the_same():
    for kind in (Awaited, Told):
        called, awaited = Told(), kind()
        store, hits = MemoryStore(CHUNKS), hits_of([CHUNKS[5], CHUNKS[8]])
        context = await aassemble(hits, store=store, on_stage=awaited)
        assert context == assemble(hits, store=store, on_stage=called)
        assert awaited.events == called.events
        called, awaited = Told(), kind()
        await aretrieve("ferritin", KEYWORD, index=MemoryIndex(WATER), on_stage=awaited)
        retrieve("ferritin", KEYWORD, index=MemoryIndex(WATER), on_stage=called)
        assert awaited.events == called.events


async def test_what_a_stage_asks_for_is_asked_within_it():
    """A tracer finds the parent of a span in the context variables."""
    asked: list[str] = []

    class Store(MemoryStore):
        def fetch(self, refs: Any) -> Any:
            asked.append(under_way.get())
            return super().fetch(refs)

    class Index(MemoryIndex):
        def search(self, request: Any) -> Any:
            asked.append(under_way.get())
            return super().search(request)

    hits, store, index = hits_of(CHUNKS[5:6]), Store(CHUNKS), Index(WATER)
    assemble(hits, store=store, on_stage=Told())
    retrieve("water", KEYWORD, index=index, on_stage=Told())
    await aassemble(hits, store=store, on_stage=Awaited())
    await aretrieve("water", KEYWORD, index=index, on_stage=Awaited())
    assert asked == ["expand", "search"] * 2


async def test_a_cancelled_assembly_fails_its_stage():
    asked = asyncio.Event()

    class Slow:
        async def afetch(self, refs: Any) -> Any:
            asked.set()
            await asyncio.sleep(60)

    told = Awaited()
    task = asyncio.ensure_future(aassemble(hits_of(CHUNKS[:1]), store=Slow(), on_stage=told))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    failed = told.events[-1]
    assert (type(failed), failed.name, type(failed.error)) == (StageFailed, "expand", asyncio.CancelledError)


@pytest.mark.parametrize("at", [StageBegan, StageEnded])
def test_a_watcher_that_raises_ends_the_assembly_and_is_told_of_no_stage_that_it_never_opened(at: type):
    told: list[Any] = []

    def broken(event: Any) -> None:
        told.append(event)
        if isinstance(event, at) and event.name == "expand":
            raise RuntimeError("no tracer")

    with pytest.raises(RuntimeError, match="no tracer"):
        assemble(hits_of(CHUNKS[:1]), store=MemoryStore(CHUNKS), on_stage=broken)
    assert isinstance(told[-1], at)
