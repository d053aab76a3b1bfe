import asyncio
import json
import math
import threading
from typing import Any

import numpy as np
import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough

from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MetadataKeys, assemble
from ctxassembly.errors import ConfigError, InputError
from langchain_ctxassembly import ContextAssembler
from langchain_samples import Recorder, chunks, document, documents, memory_store, vector_store

# Documents are handed over bare: what a caller's filter means for neighbors is tested in test_langchain_scope.py.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.errors.FilterNotSeenWarning")

HITS = [document("A", 5, score=0.9), document("B", 2, score=0.8), document("A", 1, score=0.7)]
CORPUS = documents("A", "B")
BY_DOCUMENT = AssemblyConfig(cite="document")


def bare(hits: list[Document], config: AssemblyConfig | None = None, **options: Any) -> Context:
    scored = [Hit(chunk, hit.metadata.get("score")) for chunk, hit in zip(chunks(hits), hits, strict=True)]
    return assemble(scored, config, store=memory_store(CORPUS), **options)


# What comes out


@pytest.mark.parametrize("form", ["numbered", "xml", "minimal"])
@pytest.mark.parametrize("cite", ["document", "passage", "chunk"])
def test_the_documents_joined_by_a_blank_line_are_the_text_of_the_bare_engine(form: Any, cite: Any) -> None:
    config = AssemblyConfig(format=form, cite=cite)
    found = ContextAssembler(config=config, store=memory_store(CORPUS)).invoke(HITS)
    context = bare(HITS, config)
    assert "\n\n".join(each.page_content for each in found) == context.text
    assert len(found) == len(context.citations)


@pytest.mark.parametrize("hits", [HITS, []])
async def test_a_supplement_is_a_document_of_its_own_without_a_citation(hits: list[Document]) -> None:
    assembler = ContextAssembler(config=BY_DOCUMENT)
    given = {"documents": hits, "query": "the falcon", "supplement": "Aspirin is a blood thinner."}
    found = assembler.invoke(given)
    own = found[-1]
    assert own.id == "supplement"
    assert own.metadata["supplement"] == {"text": "Aspirin is a blood thinner."}
    assert "citation" not in own.metadata
    assert [each.metadata["citation"]["label"] for each in found if each is not own] == ["1", "2"][: len(hits)]
    context = assembler.as_context().invoke(given)
    assert context.supplement == own.page_content
    assert "\n\n".join(each.page_content for each in found) == context.text
    assert [each.page_content for each in await assembler.ainvoke(given)] == [each.page_content for each in found]
    json.dumps(own.metadata)


def test_neighbors_are_fetched_in_one_round_trip_and_overlap_is_stripped() -> None:
    store = memory_store(CORPUS)
    found = ContextAssembler(store=store, config=BY_DOCUMENT).invoke(HITS)
    assert store.round_trips == 1
    text = found[0].page_content
    assert text.count("In A the copper is described in paragraph 5.") == 1
    assert "paragraph 4" in text
    assert "paragraph 8" not in text


def test_each_document_has_the_id_and_metadata_of_its_best_hit_and_the_way_back() -> None:
    first, second = ContextAssembler(store=memory_store(CORPUS), config=BY_DOCUMENT).invoke(HITS)
    assert (first.id, second.id) == ("A#5", "B#2")
    assert first.metadata["source"] == "A.pdf"
    assert first.metadata["chunk_index"] == 5
    assert first.metadata["citation"]["label"] == "1"
    assert first.metadata["citation"]["best_chunk_id"] == "A#5"
    assert first.metadata["chunk_ids"] == ["A#0", "A#1", "A#2", "A#4", "A#5", "A#6"]
    assert first.metadata["scores"] == {"A#5": 0.9, "A#1": 0.7}
    assert first.metadata["trace"]["summary"].startswith("3 -> 9 chunks")
    assert {each["chunk_id"] for each in first.metadata["trace"]["decisions"]} >= {"A#5", "B#2"}
    assert "trace" not in second.metadata


def test_the_added_metadata_survive_json() -> None:
    hits = [document("A", 5, score=np.float32(0.5)), document("B", 2, score="0.25"), document("B", 7, score=math.nan)]
    for each in ContextAssembler(store=memory_store(CORPUS)).invoke(hits):
        added = {key: each.metadata.get(key) for key in ("citation", "chunk_ids", "scores", "trace")}
        assert json.loads(json.dumps(added, allow_nan=False)) == added


def test_every_key_name_can_be_set() -> None:
    hits = [Document(id=str(at), page_content=f"part {at}", metadata={"file": {"id": "F"}, "no": at}) for at in (2, 1)]
    keys = MetadataKeys(document_id="file.id", index="no")
    (found,) = ContextAssembler(config=AssemblyConfig(keys=keys)).invoke(hits)
    assert found.metadata["chunk_ids"] == ["1", "2"]


def test_documents_without_an_id_get_one_that_is_the_same_in_every_run() -> None:
    placed = Document(page_content="placed", metadata={"document_id": "A", "chunk_index": 5})
    loose, other = Document(page_content="loose"), Document(page_content="other")
    first = ContextAssembler().invoke([placed, loose, other])
    assert [each.id for each in first] == [each.id for each in ContextAssembler().invoke([placed, loose, other])]
    assert first[0].id == "A#5"
    assert len({each.id for each in first}) == 3


# What goes in


@pytest.mark.parametrize(
    "given",
    ["text", None, document("A", 1), ["text"], [document("A", 1), None], {"context": []}, {"query": "q"},
     {"documents": "text"}, {"documents": [], "query": 3}],
)  # fmt: skip
def test_anything_else_is_a_clear_error(given: Any) -> None:
    with pytest.raises(InputError, match=r"documents|query"):
        ContextAssembler().invoke(given)


def test_wrong_parameters_are_errors_at_construction() -> None:
    with pytest.raises(ConfigError, match=r"store must be an object with fetch\(refs\) or afetch\(refs\), got 3"):
        ContextAssembler(store=3)
    with pytest.raises(ConfigError, match="windw"):
        ContextAssembler(windw=1)  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match="config"):
        ContextAssembler(config={"window": 1})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="filter must be a function"):
        ContextAssembler(store=memory_store([]), filter=3)


# LangChain's interfaces


def test_the_users_question_is_the_query_under_whatever_name_chains_hand_it_on() -> None:
    read = ContextAssembler().as_context()
    assert read.invoke({"documents": HITS, "question": "the falcon"}).query == "the falcon"
    assert read.invoke({"documents": HITS, "input": "the falcon", "chat_history": []}).query == "the falcon"
    assert read.invoke({"documents": HITS, "query": "the ember", "question": "the falcon"}).query == "the ember"
    assert read.invoke({"documents": HITS, "input": ["no text"]}).query is None


def test_it_is_a_runnable_a_transformer_and_a_compressor() -> None:
    assembler = ContextAssembler(store=memory_store(CORPUS))
    for kind in (Runnable, BaseDocumentTransformer, BaseDocumentCompressor):
        assert isinstance(assembler, kind)
    plain, asked = assembler.invoke(HITS), assembler.invoke({"documents": HITS, "query": "the falcon"})
    assert [each.page_content for each in plain] != [each.page_content for each in asked]
    for found, expected in (
        ((RunnableLambda(lambda _: HITS) | assembler).invoke("q"), plain),
        (assembler.transform_documents(HITS), plain),
        (assembler.compress_documents(HITS, "the falcon"), asked),
        (asyncio.run(assembler.atransform_documents(HITS)), plain),
        (asyncio.run(assembler.acompress_documents(HITS, "the falcon")), asked),
        (assembler.batch([HITS, HITS])[1], plain),
        (asyncio.run(assembler.abatch([HITS]))[0], plain),
        (next(iter(assembler.stream(HITS))), plain),
    ):
        assert [each.page_content for each in found] == [each.page_content for each in expected]


async def test_it_works_in_the_compression_retriever_and_in_the_pipeline() -> None:
    retriever = vector_store(CORPUS).as_retriever(search_kwargs={"k": 3})
    assembler = ContextAssembler(store=memory_store(CORPUS))
    expected = assembler.invoke({"documents": retriever.invoke("the falcon"), "query": "the falcon"})
    compressing = ContextualCompressionRetriever(base_retriever=retriever, base_compressor=assembler)
    pipeline = DocumentCompressorPipeline(transformers=[assembler])
    piped = ContextualCompressionRetriever(base_retriever=retriever, base_compressor=pipeline)
    for chain in (compressing, piped):
        for found in (chain.invoke("the falcon"), await chain.ainvoke("the falcon")):
            assert [each.page_content for each in found] == [each.page_content for each in expected]


def test_as_context_gives_the_context_and_its_text_as_a_string() -> None:
    assembler = ContextAssembler(store=memory_store(CORPUS))
    context = assembler.as_context().invoke({"documents": HITS, "query": "the falcon"})
    assert isinstance(context, Context)
    assert context.query == "the falcon"
    assert context.text == bare(HITS, query="the falcon").text
    retriever = RunnableLambda(lambda _: HITS)
    chain: Any = {"context": retriever | assembler.as_context() | str, "question": RunnablePassthrough()}
    assert (chain | RunnablePassthrough()).invoke("why?") == {"context": bare(HITS).text, "question": "why?"}


async def test_the_trace_is_a_custom_event() -> None:
    assembler = ContextAssembler(store=memory_store(CORPUS), config=BY_DOCUMENT)
    for run in (assembler, assembler.as_context()):
        recorder = Recorder()
        run.invoke(HITS, {"callbacks": [recorder]})
        await run.ainvoke(HITS, {"callbacks": [recorder]})
        (name, data), (_, again) = recorder.events
        assert name == "context_assembled"
        assert data["trace"]["summary"].startswith("3 -> 9 chunks")
        assert f"3 hits joined: {data['trace']['hit_tokens']} tokens; assembled: " in data["trace"]["summary"]
        assert [each["label"] for each in data["citations"]] == ["1", "2"]
        assert data["citations"][0]["metadata"]["source"] == "A.pdf"
        assert json.loads(json.dumps(data)) == data
        assert again["citations"] == data["citations"]
    chain = RunnableLambda(lambda _: HITS) | assembler
    events = [event async for event in chain.astream_events("q", version="v2")]
    (custom,) = [event for event in events if event["event"] == "on_custom_event"]
    (started,) = [e for e in events if e["event"] == "on_chain_start" and e["name"] == "ContextAssembler"]
    assert custom["run_id"] == started["run_id"]


# Stores


class WaitingStore:
    """Answers only once the event loop has gone on."""

    def __init__(self) -> None:
        self.asked, self.may_answer = threading.Event(), threading.Event()

    def fetch(self, refs: Any) -> list[Chunk]:
        self.asked.set()
        assert self.may_answer.wait(60), "the event loop stands still"
        return []


@pytest.mark.parametrize("condition", [None, {"tenant": "a"}])
@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")  # the store is empty
async def test_a_slow_sync_store_does_not_stall_the_event_loop(condition: Any) -> None:
    store = WaitingStore()
    config = AssemblyConfig(on_store_error="raise")
    running = asyncio.ensure_future(ContextAssembler(config=config, store=store, filter=condition).ainvoke(HITS))
    assert await asyncio.to_thread(store.asked.wait, 60)
    store.may_answer.set()
    assert await running


class AwaitedStore:
    def __init__(self, found: list[Document]) -> None:
        self.inner = memory_store(found)

    async def afetch(self, refs: Any) -> Any:
        await asyncio.sleep(0)
        return self.inner.fetch(refs)


async def test_async_is_native_and_gives_the_same() -> None:
    found = await ContextAssembler(store=AwaitedStore(CORPUS)).ainvoke(HITS)
    expected = ContextAssembler(store=memory_store(CORPUS)).invoke(HITS)
    assert [each.page_content for each in found] == [each.page_content for each in expected]
