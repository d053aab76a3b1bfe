"""One span a stage: for the dispatcher's handlers and for OpenTelemetry, in the engines that people have."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.span.simple import SimpleSpan
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.llms import MockLLM

from ctxassembly import AssemblyConfig, MemoryIndex, MemoryStore, RetrievalConfig, StoreError
from llamaindex_ctxassembly import AnswerQueryEngine, ContextAssemblyPostprocessor, ContextRetriever
from llamaindex_samples import bare, document, scored

STEPS = ["ctxassembly.resolve", "ctxassembly.search", "ctxassembly.fuse", "ctxassembly.limit"]
STAGES = [f"ctxassembly.{name}" for name in ("admit", "dedup", "expand", "dedup", "budget", "render")]
NODES = document(metadata={"file_name": "valley.pdf"})
QUERY = "who paid the tax on indigo?"


class Handler(SimpleSpanHandler):
    """Keeps the results as well."""

    results: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies it
    given: dict[str, Any] = {}  # noqa: RUF012

    def new_span(self, id_: str, bound_args: Any, *given: Any, **named: Any) -> SimpleSpan:
        self.given[id_] = dict(bound_args.arguments)
        return super().new_span(id_, bound_args, *given, **named)

    def prepare_to_exit_span(self, id_: str, *given: Any, **named: Any) -> SimpleSpan:
        self.results[id_] = named.get("result")
        return super().prepare_to_exit_span(id_, *given, **named)

    def every(self) -> list[SimpleSpan]:
        return sorted((*self.completed_spans, *self.dropped_spans), key=lambda span: span.start_time)

    def below(self, parent: SimpleSpan | None) -> list[str]:
        """The names of the stages below a span, in the order of their beginning."""
        found = [span for span in self.every() if span.parent_id == (parent.id_ if parent else None)]
        return [name(span) for span in found if name(span).startswith("ctxassembly.")]

    def one(self, wanted: str) -> SimpleSpan:
        """The last span of that name."""
        return [span for span in self.every() if name(span) == wanted][-1]


def name(span: SimpleSpan) -> str:
    return span.id_.partition("-")[0]


@pytest.fixture
def spans() -> Iterator[Handler]:
    dispatcher, handler = get_dispatcher(), Handler()
    before = list(dispatcher.span_handlers)
    dispatcher.add_span_handler(handler)
    yield handler
    dispatcher.span_handlers = before


def postprocessor(**given: Any) -> ContextAssemblyPostprocessor:
    return ContextAssemblyPostprocessor(store=MemoryStore(bare(NODES)), neighbors="unfiltered", **given)


def retriever(index: Any = None, **given: Any) -> ContextRetriever:
    index = index or MemoryIndex(bare(NODES))
    return ContextRetriever(index, config=RetrievalConfig(strategy="keyword", limit=2), **given)


both_ways = pytest.mark.parametrize("awaited", [False, True])


@both_ways
async def test_each_stage_is_a_span_below_the_postprocessors(spans: Handler, awaited: bool) -> None:
    hits = scored(NODES[3], NODES[4])
    if awaited:
        await postprocessor().apostprocess_nodes(hits, query_str=QUERY)
    else:
        postprocessor().postprocess_nodes(hits, query_str=QUERY)
    method = "_apostprocess_nodes" if awaited else "_postprocess_nodes"
    assert spans.below(spans.one(f"ContextAssemblyPostprocessor.{method}")) == STAGES
    assert not spans.open_spans
    expand, render = spans.one("ctxassembly.expand").id_, spans.one("ctxassembly.render").id_
    assert (spans.given[expand], spans.results[expand]["queries"]) == ({"chunks": 2}, 1)
    assert spans.results[render].keys() == {"chunks", "labels", "tokens", "characters"}


@both_ways
async def test_a_retriever_shows_its_steps_and_the_stages(spans: Handler, awaited: bool) -> None:
    await retriever().aretrieve(QUERY) if awaited else retriever().retrieve(QUERY)
    parent = spans.one(f"ContextRetriever.{'aretrieve' if awaited else '_retrieve'}")
    assert spans.below(parent) == STEPS + STAGES
    search = spans.one("ctxassembly.search").id_
    assert spans.given[search] == {"keyword": QUERY}
    assert spans.results[search]["found"].keys() == {"keyword"}


@both_ways
async def test_the_span_of_the_stage_that_failed_is_dropped_with_the_error(spans: Handler, awaited: bool) -> None:
    class Down(MemoryIndex):
        def fetch(self, refs: Any) -> Any:
            raise ConnectionError("no route")

        def search(self, request: Any) -> Any:
            raise ConnectionError("no route")

    strict = ContextAssemblyPostprocessor(store=Down([]), config=AssemblyConfig(on_store_error="raise"))
    hits = scored(NODES[3])
    with pytest.raises(StoreError):
        await strict.apostprocess_nodes(hits) if awaited else strict.postprocess_nodes(hits)
    broken = retriever(Down(bare(NODES)))
    with pytest.raises(StoreError):
        await broken.aretrieve(QUERY) if awaited else broken.retrieve(QUERY)
    dropped = [span for span in spans.dropped_spans if name(span).startswith("ctxassembly.")]
    assert [name(span) for span in dropped] == ["ctxassembly.expand", "ctxassembly.search"]
    assert all("no route" in (span.metadata or {})["error"] for span in dropped)
    assert not spans.open_spans


async def test_a_cancelled_assembly_leaves_no_span_open(spans: Handler) -> None:
    asked = asyncio.Event()

    class Slow:
        async def afetch(self, refs: Any) -> Any:
            asked.set()
            await asyncio.sleep(60)

    slow = ContextAssemblyPostprocessor(store=Slow(), neighbors="unfiltered")
    task = asyncio.ensure_future(slow.apostprocess_nodes(scored(NODES[3])))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [name(span) for span in spans.dropped_spans][:1] == ["ctxassembly.expand"]
    assert not spans.open_spans


def test_a_look_below_no_span_makes_no_traces_of_its_stages(spans: Handler) -> None:
    retriever().hits(QUERY)
    postprocessor().context(scored(NODES[3]))
    assert spans.every() == []


@both_ways
async def test_in_an_answer_the_stages_stand_below_its_steps(spans: Handler, awaited: bool) -> None:
    engine = AnswerQueryEngine(MockLLM(), retriever())
    await engine.aquery(QUERY) if awaited else engine.query(QUERY)
    assert spans.below(spans.one("assemble")) == STAGES
    assert spans.below(spans.one("retrieve")) == ["ctxassembly.retrieve"]
    search = spans.one("ctxassembly.retrieve")
    assert spans.below(search) == STEPS
    assert spans.given[search.id_] == {"search": "question", "query": QUERY}
    assert not spans.open_spans


# Where they are looked at
