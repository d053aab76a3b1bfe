"""One run a stage: in tracers, event streams, LangSmith and OpenTelemetry, in the chains that people have."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentCompressor
from langchain_core.language_models import FakeListLLM
from langchain_core.runnables import RunnableLambda
from langchain_core.tracers.context import collect_runs
from langchain_core.tracers.schemas import Run

from chain_samples import QUESTION, Scripted, following, leaflets, retriever
from ctxassembly import AssemblyConfig, MemoryIndex, RetrievalConfig, StoreError
from ctxassembly.answering import AnswerConfig
from langchain_ctxassembly import ContextAssembler, ContextRetriever, answer_chain
from langchain_samples import Tracer, documents, memory_store, vector_store

STEPS = ["ctxassembly.resolve", "ctxassembly.search", "ctxassembly.fuse", "ctxassembly.limit"]
STAGES = [f"ctxassembly.{name}" for name in ("admit", "dedup", "expand", "dedup", "budget", "render")]
CORPUS = documents("A", "B")
QUERY = "where is the meadow described?"


def tree(run: Run) -> Any:
    """The names of a run and of those below it."""
    return [run.name, *map(tree, run.child_runs)] if run.child_runs else run.name


def every(run: Run) -> Iterator[Run]:
    yield run
    for child in run.child_runs:
        yield from every(child)


def named(run: Run, name: str) -> Run:
    """The last run of that name."""
    return [one for one in every(run) if one.name == name][-1]


async def called(runnable: Any, given: Any, tracer: Tracer, *, awaited: bool) -> None:
    config = {"callbacks": [tracer]}
    await runnable.ainvoke(given, config) if awaited else runnable.invoke(given, config)


async def traced(runnable: Any, given: Any, *, awaited: bool) -> Run:
    tracer = Tracer()
    await called(runnable, given, tracer, awaited=awaited)
    (root,) = tracer.roots
    return root


def assembler(**given: Any) -> ContextAssembler:
    return ContextAssembler(store=memory_store(CORPUS), neighbors="unfiltered", **given)


both_ways = pytest.mark.parametrize("awaited", [False, True])


@both_ways
async def test_each_stage_is_a_run_below_the_assemblers(awaited: bool) -> None:
    run = await traced(assembler(), {"documents": CORPUS[3:5], "query": QUERY}, awaited=awaited)
    assert tree(run) == ["ContextAssembler", *STAGES]
    assert {child.run_type for child in run.child_runs} == {"chain"}
    run = await traced(assembler().as_context(), {"documents": CORPUS[3:5], "query": QUERY}, awaited=awaited)
    assert tree(run) == ["ContextAssembler.as_context", *STAGES]


@both_ways
async def test_a_run_shows_what_its_stage_counts(awaited: bool) -> None:
    run = await traced(assembler(config=AssemblyConfig(max_tokens=40)), CORPUS[3:5], awaited=awaited)
    expand, budget, render = (named(run, f"ctxassembly.{name}") for name in ("expand", "budget", "render"))
    assert (expand.inputs, expand.outputs) == ({"chunks": 2}, {"chunks": 4, "queries": 1})
    assert budget.inputs == {"chunks": 4}
    assert budget.outputs is not None
    assert budget.outputs["dropped"] == {"budget": 4 - budget.outputs["chunks"]}
    assert budget.outputs["tokens"] <= budget.outputs["max_tokens"] == 40
    assert render.outputs is not None
    assert render.outputs["labels"] == 1
    assert not any(sentence in str((one.inputs, one.outputs)) for one in run.child_runs for sentence in ("described",))


@both_ways
async def test_a_retriever_shows_its_steps_and_then_the_stages(awaited: bool) -> None:
    run = await traced(retriever(), QUESTION, awaited=awaited)
    assert tree(run) == ["ContextRetriever", *STEPS, ["ContextAssembler", *STAGES]]
    search = named(run, "ctxassembly.search")
    assert search.inputs == {"keyword": QUESTION}
    assert search.outputs is not None
    assert (search.outputs["queries"], search.outputs["ids"][0]) == (2, "lab#0")


@both_ways
async def test_the_runs_of_what_a_stage_calls_stand_below_it(awaited: bool) -> None:
    class Reversed(BaseDocumentCompressor):
        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
            return RunnableLambda(lambda given: list(reversed(given)), name="reranker").invoke(documents)

    inside = vector_store(CORPUS).as_retriever()
    hybrid = ContextRetriever(
        channels={"vector": inside}, rerankers=[Reversed()], config=RetrievalConfig(strategy="vector", limit=2)
    )
    run = await traced(hybrid, QUERY, awaited=awaited)
    assert tree(named(run, "ctxassembly.search")) == ["ctxassembly.search", "VectorStoreRetriever"]
    assert tree(named(run, "ctxassembly.rerank")) == ["ctxassembly.rerank", "reranker"]
    config = AssemblyConfig(compress="llm", max_tokens=60, granularity="chunk")
    compressing = assembler(config=config, llm=FakeListLLM(responses=["IRRELEVANT"]))
    run = await traced(compressing, {"documents": CORPUS[3:8], "query": QUERY}, awaited=awaited)
    budget = named(run, "ctxassembly.budget")
    assert {child.name for child in budget.child_runs} == {"FakeListLLM"}


@both_ways
async def test_the_run_of_the_stage_that_failed_has_the_error(awaited: bool) -> None:
    class Down(MemoryIndex):
        def fetch(self, refs: Any) -> Any:
            raise ConnectionError("no route")

        def search(self, request: Any) -> Any:
            raise ConnectionError("no route")

    strict = AssemblyConfig(on_store_error="raise")
    cases: list[tuple[Any, Any, str]] = [
        (ContextAssembler(store=Down([]), neighbors="unfiltered", config=strict), CORPUS[:1], "expand"),
        (ContextRetriever(Down(leaflets()), config=RetrievalConfig(strategy="keyword")), QUESTION, "search"),
    ]
    for runnable, given, stage in cases:
        tracer, name = Tracer(), f"ctxassembly.{stage}"
        with pytest.raises(StoreError):
            await called(runnable, given, tracer, awaited=awaited)
        (root,) = tracer.roots
        assert [run.name for run in every(root) if run.error] == [root.name, name]
        assert all(run.end_time for run in every(root))
        assert "no route" in str(named(root, name).error)


@pytest.mark.filterwarnings("ignore:The store failed")
async def test_a_store_that_is_done_without_is_noted_on_its_stage() -> None:
    class Down:
        def fetch(self, refs: Any) -> Any:
            raise ConnectionError("no route")

    run = await traced(ContextAssembler(store=Down(), neighbors="unfiltered"), CORPUS[:1], awaited=False)
    expand = named(run, "ctxassembly.expand")
    assert expand.error is None
    assert expand.outputs is not None
    assert "no route" in expand.outputs["notes"][0]


async def test_a_cancelled_run_leaves_no_stage_open() -> None:
    asked = asyncio.Event()

    class Slow:
        async def afetch(self, refs: Any) -> Any:
            asked.set()
            await asyncio.sleep(60)

    tracer = Tracer()
    running = ContextAssembler(store=Slow(), neighbors="unfiltered").ainvoke(CORPUS[:1], {"callbacks": [tracer]})
    task = asyncio.ensure_future(running)
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (root,) = tracer.roots
    assert "CancelledError" in str(named(root, "ctxassembly.expand").error)
    assert not tracer.run_map


def test_a_retrieval_below_no_run_makes_no_traces_of_its_stages() -> None:
    def searched(question: str) -> list[str]:
        return [hit.chunk.id for hit in retriever().retrieve(question).hits]

    tracer = Tracer()
    node = RunnableLambda(searched, name="node")
    node.invoke(QUESTION, {"callbacks": [tracer]})
    assert [tree(root) for root in tracer.roots] == [["node", *STEPS]]
    with collect_runs() as collector:
        retriever().retrieve(QUESTION)
    assert collector.traced_runs == []


# In the chains that people have


async def test_runs_at_the_same_time_on_an_event_loop_keep_their_stages_apart() -> None:
    runs = await asyncio.gather(*(traced(retriever(), QUESTION, awaited=True) for _ in range(8)))
    assert [tree(run) for run in runs] == [["ContextRetriever", *STEPS, ["ContextAssembler", *STAGES]]] * 8


@both_ways
async def test_in_an_answer_chain_the_stages_stand_below_its_steps(awaited: bool) -> None:
    run = await traced(answer_chain(Scripted(), retriever()), {"input": QUESTION}, awaited=awaited)
    assert [tree(child) for child in run.child_runs] == [
        ["retrieve", ["ctxassembly.retrieve", *STEPS]],
        ["assemble", *STAGES],
        "answer",
    ]
    search = named(run, "ctxassembly.retrieve")
    assert (search.inputs, search.outputs) == ({"search": "question", "query": QUESTION}, {"chunks": 1, "queries": 2})


@both_ways
async def test_searches_at_the_same_time_keep_their_steps_apart(awaited: bool) -> None:
    parts = ["When is ferritin measured?", "What does parking cost?"]
    llm = Scripted(says=following({"sub_questions": parts}))
    chain = answer_chain(llm, retriever(), AnswerConfig(decompose="auto"))
    run = await traced(chain, {"input": "Ferritin, and parking?"}, awaited=awaited)
    searches = [one for one in every(run) if one.name == "ctxassembly.retrieve"]
    assert {one.inputs["search"] for one in searches} >= set(parts)
    assert [tree(one) for one in searches] == [["ctxassembly.retrieve", *STEPS]] * len(searches)
    assert {one.parent_run_id for one in searches} == {named(run, "retrieve").id}


# Where they are looked at
