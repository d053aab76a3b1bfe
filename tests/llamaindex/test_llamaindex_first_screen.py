"""What a new user sees: an ordinary index, a filter for each user, and two turns of each engine."""

from __future__ import annotations

import asyncio
import uuid
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import chromadb
import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.base.llms.types import LLMMetadata
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.chat_engine.types import ChatMode
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index.vector_stores.chroma import ChromaVectorStore

from ctxassembly import AssemblyConfig, MetadataKeys
from ctxassembly.user_warnings import MAX_FACT_CHARS, REMEDY
from llamaindex_ctxassembly import AnswerChatEngine, AnswerQueryEngine, ContextAssemblyPostprocessor
from llamaindex_samples import RecordingLLM, WordEmbedding

QUESTIONS = ("How many bales of wool in year 12?", "And how many bales in year 31?")
Ask = Callable[[str], Any]


class Wide(RecordingLLM):
    """Has room for the default budget, as the models of the first screen have."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(context_window=128_000, num_output=512, is_chat_model=False)


def index(kind: str) -> VectorStoreIndex:
    """Two users' files of the same name, cut by the default splitter: random ids, and no index."""
    documents = [
        Document(
            text=" ".join(f"In year {year} the weavers of {user} paid {year} bales." for year in range(at, at + 20)),
            metadata={"file_name": "a.pdf", "page_label": str(at // 20 + 1), "user": user},
        )
        for at in (0, 20)
        for user in ("ann", "bob")
    ]
    splitter = SentenceSplitter(chunk_size=90, chunk_overlap=20)
    if kind == "simple":
        return VectorStoreIndex.from_documents(documents, transformations=[splitter], embed_model=WordEmbedding())
    collection = chromadb.EphemeralClient().create_collection(uuid.uuid4().hex)
    context = StorageContext.from_defaults(vector_store=ChromaVectorStore(chroma_collection=collection))
    return VectorStoreIndex.from_documents(
        documents, storage_context=context, transformations=[splitter], embed_model=WordEmbedding()
    )


def filters() -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key="user", value="ann")])


def fused(made: VectorStoreIndex, llm: Any) -> QueryFusionRetriever:
    parts = [made.as_retriever(filters=filters(), similarity_top_k=count) for count in (2, 3)]
    return QueryFusionRetriever(parts, llm=llm, similarity_top_k=3, num_queries=1, use_async=False)


def query_engine(made: VectorStoreIndex, llm: Any, ours: Any) -> Any:
    synthesizer = get_response_synthesizer(llm=llm)
    return RetrieverQueryEngine(fused(made, llm), response_synthesizer=synthesizer, node_postprocessors=[ours])


def condense_plus_context(made: VectorStoreIndex, llm: Any, ours: Any) -> Any:
    return CondensePlusContextChatEngine.from_defaults(
        fused(made, llm), llm=llm, node_postprocessors=[ours], memory=ChatMemoryBuffer.from_defaults()
    )


def as_chat_engine(made: VectorStoreIndex, llm: Any, ours: Any) -> Any:
    return made.as_chat_engine(
        ChatMode.CONTEXT,
        filters=filters(),
        node_postprocessors=[ours],
        llm=llm,
        memory=ChatMemoryBuffer.from_defaults(),
    )


def answer_chat_engine(made: VectorStoreIndex, llm: Any, ours: Any) -> Any:
    return AnswerChatEngine(AnswerQueryEngine(llm, fused(made, llm), postprocessor=ours))


def of_index(made: VectorStoreIndex, llm: Any, _: Any) -> Any:
    return AnswerChatEngine(AnswerQueryEngine.from_args(made, llm=llm, filters=filters()))


ENGINES = [query_engine, condense_plus_context, as_chat_engine, answer_chat_engine, of_index]


def turn(engine: Any, question: str, *, is_async: bool) -> None:
    name = "query" if isinstance(engine, RetrieverQueryEngine) else "chat"
    if is_async:
        asyncio.run(getattr(engine, f"a{name}")(question))
    else:
        getattr(engine, name)(question)  # the caller


@pytest.fixture(autouse=True)
def event_loop_of_chats() -> Iterator[None]:
    """LlamaIndex's chat engines make one to count tokens if there is none, and never close it."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("of_file", [False, True], ids=["pages", "of a file"])
@pytest.mark.parametrize(
    ("kind", "where"),
    [("simple", "nowhere"), ("simple", "docstore"), ("chroma", "docstore"), ("chroma", "vector_store")],
)
def test_two_turns_print_one_warning_at_most(kind: str, where: str, of_file: bool, engine: Any, is_async: bool) -> None:
    """The pages of a file are documents of their own, or one by its name, which both users' files have."""
    made, llm = index(kind), Wide()
    given = {} if where == "nowhere" else {where: getattr(made, where)}
    keys = MetadataKeys(document_id="file_name") if of_file else MetadataKeys()
    ours = ContextAssemblyPostprocessor(config=AssemblyConfig(keys=keys), **given)  # made here
    asked = engine(made, llm, ours)
    seen: list[warnings.WarningMessage] = []
    for question in QUESTIONS:
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            turn(asked, question, is_async=is_async)
        seen += issued
    assert len(seen) <= 1  # in whichever turn a neighbor is left out
    for each in seen:
        fact, remedy = str(each.message).split("\n")[-1].split(REMEDY)
        assert len(fact) <= 2 * MAX_FACT_CHARS  # with its effect
        assert remedy
    assert any("weavers of ann" in prompt for prompt in llm.prompts)
    assert not any("weavers of bob" in prompt for prompt in llm.prompts)
