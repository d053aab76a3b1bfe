"""One span a stage: for the dispatcher's handlers and for OpenTelemetry, in the engines that people have."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.span.simple import SimpleSpan
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import TextNode
from llama_index.core.tools import RetrieverTool
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ctxassembly import AssemblyConfig, Chunk, MemoryIndex, MemoryStore, RetrievalConfig, StoreError
from llamaindex_ctxassembly import AnswerQueryEngine, ContextAssemblyPostprocessor, ContextRetriever
from llamaindex_samples import Fixed, WordEmbedding, bare, document, scored

STEPS = ["ctxassembly.resolve", "ctxassembly.search", "ctxassembly.fuse", "ctxassembly.limit"]
STAGES = [f"ctxassembly.{name}" for name in ("admit", "dedup", "expand", "dedup", "budget", "repeats", "render")]
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
async def test_the_spans_of_what_a_stage_calls_stand_below_it(spans: Handler, awaited: bool) -> None:
    embedding = WordEmbedding()
    inside = VectorStoreIndex(NODES, embed_model=embedding).as_retriever()
    hybrid = ContextRetriever(
        channels={"vector": inside},
        rerankers=[ContextAssemblyPostprocessor(config=AssemblyConfig(window=0))],
        config=RetrievalConfig(strategy="vector", limit=2),
    )
    await hybrid.aretrieve(QUERY) if awaited else hybrid.retrieve(QUERY)
    search, rerank = spans.one("ctxassembly.search"), spans.one("ctxassembly.rerank")
    below = {span.parent_id: name(span) for span in spans.every()}
    assert below[search.id_] == "VectorIndexRetriever.retrieve"
    assert below[rerank.id_] == "ContextAssemblyPostprocessor._postprocess_nodes"


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
async def test_in_an_engine_and_in_a_tool_the_stages_stand_below_whoever_assembles(
    spans: Handler, awaited: bool
) -> None:
    engine = RetrieverQueryEngine.from_args(
        Fixed(scored(NODES[3], NODES[4])), llm=MockLLM(), node_postprocessors=[postprocessor()]
    )
    await engine.aquery(QUERY) if awaited else engine.query(QUERY)
    method = "_apostprocess_nodes" if awaited else "_postprocess_nodes"
    assert spans.below(spans.one(f"ContextAssemblyPostprocessor.{method}")) == STAGES
    tool = RetrieverTool.from_defaults(retriever())
    await tool.acall(QUERY) if awaited else tool.call(QUERY)
    assert spans.below(spans.one(f"ContextRetriever.{'aretrieve' if awaited else '_retrieve'}")) == STEPS + STAGES


@both_ways
async def test_in_an_answer_the_stages_stand_below_its_steps(spans: Handler, awaited: bool) -> None:
    engine = AnswerQueryEngine(MockLLM(), retriever())
    await engine.aquery(QUERY) if awaited else engine.query(QUERY)
    assert spans.below(spans.one("assemble")) == [*STAGES[:4], "ctxassembly.conversation", *STAGES[4:]]
    assert spans.below(spans.one("retrieve")) == ["ctxassembly.retrieve"]
    search = spans.one("ctxassembly.retrieve")
    assert spans.below(search) == STEPS
    assert spans.given[search.id_] == {"search": "question", "query": QUERY}
    assert not spans.open_spans


# Where they are looked at


@pytest.fixture
def exported() -> Iterator[InMemorySpanExporter]:
    dispatcher = get_dispatcher()
    before = (list(dispatcher.event_handlers), list(dispatcher.span_handlers))
    exporter, provider, instrumentor = InMemorySpanExporter(), TracerProvider(), LlamaIndexInstrumentor()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor.instrument(tracer_provider=provider)
    yield exporter
    instrumentor.uninstrument()
    dispatcher.event_handlers, dispatcher.span_handlers = before


@both_ways
async def test_opentelemetry_gets_a_span_for_each_stage_with_its_counts(
    exported: InMemorySpanExporter, awaited: bool
) -> None:
    texts = [TextNode(id_=chunk.id, text=chunk.text) for chunk in bare(NODES)]
    ours = retriever(MemoryIndex([Chunk(node.node_id, "A", node.text, at) for at, node in enumerate(texts)]))
    engine = RetrieverQueryEngine.from_args(ours, llm=MockLLM())
    await engine.aquery(QUERY) if awaited else engine.query(QUERY)
    spans = {span.name: span for span in exported.get_finished_spans()}
    assert set(STEPS + STAGES) <= set(spans)
    above = spans[f"ContextRetriever.{'aretrieve' if awaited else '_retrieve'}"].context.span_id
    assert {spans[stage].parent.span_id for stage in STEPS + STAGES} == {above}
    assert len({span.context.trace_id for span in spans.values()}) == 1
    expand = spans["ctxassembly.expand"]
    assert json.loads(expand.attributes["input.value"])["chunks"] == 2
    assert json.loads(expand.attributes["output.value"])["queries"] == 1
    assert expand.start_time < expand.end_time
    assert expand.status.is_ok
