"""Answer engines for two tenants: one cache for both, chunks that a conversation brings along, filters of the index."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever, VectorIndexRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters
from tenants import NOT_REWRITTEN, QUESTION, SAID, chunks, leaning, said_of, texts_of

from ctxassembly import MemoryIndex, RetrievalConfig
from llamaindex_ctxassembly import (
    AnswerChatEngine,
    AnswerQueryEngine,
    ContextAssemblyPostprocessor,
    ContextRetriever,
    number_chunks,
)
from llamaindex_samples import Fixed, TextVectorStore, WordEmbedding, scored
from test_llamaindex_answer_chain import Scripted, Shelf

WHO: ContextVar[str] = ContextVar("who", default="ours")
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")


class Given(NamedTuple):
    retriever: Any
    postprocessor: Any = None
    call: dict[str, Any] = {}  # noqa: RUF012


def papers(*tenants: str) -> list[TextNode]:
    return [
        TextNode(text=text, id_=f"{tenant}-{at}", metadata={"file_name": f"{tenant}.pdf", "tenant": tenant})
        for tenant in tenants or SAID
        for at, text in enumerate(texts_of(tenant))
    ]


def of(tenant: str) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key="tenant", value=tenant)])


def indexed(*tenants: str) -> VectorStoreIndex:
    return VectorStoreIndex(papers(*tenants), embed_model=WordEmbedding())


STORED = indexed()
INDEX = MemoryIndex(chunks())


def of_index(index: Any = INDEX, **given: Any) -> ContextRetriever:
    return ContextRetriever(index, config=RetrievalConfig(strategy="keyword", limit=2), **given)


def search(**given: Any) -> Any:
    return STORED.as_retriever(similarity_top_k=4, **given)


class Named(VectorIndexRetriever):
    """A retriever of a user's own that leaves the search as it is."""


class Derived(VectorIndexRetriever):
    """A retriever of a user's own, which knows its tenant."""

    tenant = ""

    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        return scored(*papers(self.tenant))

    async def _aretrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        return scored(*papers(self.tenant))


def derived(tenant: str) -> Any:
    made = Derived(STORED)
    made.tenant = tenant
    return made


def own_store(tenant: str) -> Any:
    """An index over a vector store of a user's own, which holds what it holds."""
    store = TextVectorStore()
    store.add(papers(tenant))
    return VectorStoreIndex.from_vector_store(store, embed_model=WordEmbedding())


def fusion(tenant: str) -> Any:
    return QueryFusionRetriever([search(filters=of(tenant))], llm=MockLLM(), num_queries=1, use_async=False)


def whose(query: str | None) -> MetadataFilters:
    return of(WHO.get())


WAYS: dict[str, Callable[[str], Given]] = {
    "filters of the retriever": lambda tenant: Given(search(filters=of(tenant))),
    "of the call": lambda tenant: Given(search(), None, {"filters": of(tenant)}),
    "both": lambda tenant: Given(
        search(filters=of(tenant)),
        None,
        {"filters": MetadataFilters(filters=[MetadataFilter(key="file_name", value=f"{tenant}.pdf")])},
    ),
    "a derived retriever": lambda tenant: Given(Named(STORED, similarity_top_k=4, filters=of(tenant))),
    "node_ids": lambda tenant: Given(
        VectorIndexRetriever(STORED, similarity_top_k=4, node_ids=[node.node_id for node in papers(tenant)])
    ),
    "an index each": lambda tenant: Given(indexed(tenant).as_retriever()),
    "told to the postprocessor": lambda tenant: Given(
        Fixed(scored(*papers(tenant))), ContextAssemblyPostprocessor(filter=of(tenant))
    ),
    "asked of a function": lambda tenant: Given(
        Fixed(scored(*papers(tenant))), ContextAssemblyPostprocessor(filter=whose)
    ),
    "with a store": lambda tenant: Given(
        search(filters=of(tenant)), ContextAssemblyPostprocessor(docstore=STORED.docstore)
    ),
    "ContextRetriever": lambda tenant: Given(of_index(filters={"tenant": tenant})),
    "ContextRetriever.with_filter": lambda tenant: Given(of_index().with_filter({"tenant": tenant})),
    "ContextRetriever, of the call": lambda tenant: Given(of_index(), None, {"filters": {"tenant": tenant}}),
    "MemoryIndex.with_filter": lambda tenant: Given(of_index(INDEX.with_filter({"tenant": tenant}))),
    "MemoryIndex of each": lambda tenant: Given(of_index(MemoryIndex(chunks(tenant)))),
    "a channel": lambda tenant: Given(of_index(channels={"keyword": search(filters=of(tenant))})),
    # Filters that nobody tells
    "a retriever of one's own": lambda tenant: Given(Fixed(scored(*papers(tenant)))),
    "one that searches otherwise": lambda tenant: Given(derived(tenant)),
    "a vector store of one's own": lambda tenant: Given(own_store(tenant).as_retriever()),
    "QueryFusionRetriever": lambda tenant: Given(fusion(tenant)),
    "MemoryIndex.with_filter a function": lambda tenant: Given(
        of_index(INDEX.with_filter(lambda chunk: chunk.metadata["tenant"] == tenant))
    ),
    "a channel of one's own": lambda tenant: Given(of_index(channels={"keyword": Fixed(scored(*papers(tenant)))})),
    "transform_fetched": lambda tenant: Given(
        search(filters=of(tenant)), ContextAssemblyPostprocessor(transform_fetched=lambda found: found)
    ),
}
HOW: dict[str, Callable[..., Any]] = {
    "answer": lambda engine, question, call: engine.answer(question, **call),
    "aanswer": lambda engine, question, call: asyncio.run(engine.aanswer(question, **call)),
    "stream": lambda *given: _streamed(*given),  # noqa: PLW0108 - it is defined below
    "astream": lambda engine, question, call: asyncio.run(_astreamed(engine, question, call)),
}


class Streamed(NamedTuple):
    """What a stream gave on."""

    text: str
    read: str


def _chat(engine: Any, call: dict[str, Any]) -> tuple[Any, list[ChatMessage]]:
    return AnswerChatEngine(engine, filters=call.get("filters")), list(call.get("chat_history") or [])


def _streamed(engine: Any, question: str, call: dict[str, Any]) -> Streamed:
    chat, history = _chat(engine, call)
    response = chat.stream_chat(question, history)
    text = "".join(response.response_gen)
    return Streamed(text, "\n\n".join(node.text for node in response.source_nodes))


async def _astreamed(engine: Any, question: str, call: dict[str, Any]) -> Streamed:
    chat, history = _chat(engine, call)
    response = await chat.astream_chat(question, history)
    text = "".join([piece async for piece in response.async_response_gen()])
    return Streamed(text, "\n\n".join(node.text for node in response.source_nodes))


def read_of(answer: Any) -> str:
    """The text and the context of an answer."""
    return str(answer.text + (answer.read if isinstance(answer, Streamed) else answer.context.text))


@pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("way", WAYS)
def test_a_tenant_never_gets_the_answer_of_another(way: str, how: str) -> None:
    shelf, asked = Shelf(), []
    for tenant, other in (("ours", "theirs"), ("theirs", "ours"), ("ours", "theirs")):
        WHO.set(tenant)
        given, llm = WAYS[way](tenant), Scripted(says=said_of)
        engine = AnswerQueryEngine(
            llm, given.retriever, postprocessor=given.postprocessor, cache=shelf, cache_scope=lambda call: WHO.get()
        )
        read = read_of(HOW[how](engine, QUESTION, given.call))
        assert SAID[tenant] in read
        assert SAID[other] not in read
        asked.append(len(llm._asked))
    WHO.set("ours")
    can_compare = way != "MemoryIndex.with_filter a function"
    assert (asked, len(shelf)) == (([1, 1, 0], 2) if can_compare else ([1, 1, 1], 0))


@pytest.mark.parametrize("how", HOW)
def test_the_filter_of_the_postprocessor_holds_for_what_is_found(how: str) -> None:
    for own in (of("ours"), whose):
        told = ContextAssemblyPostprocessor(filter=own)
        for retriever in (search(), Fixed(scored(*papers()))):
            engine = AnswerQueryEngine(Scripted(says=said_of), retriever, postprocessor=told)
            read = read_of(HOW[how](engine, QUESTION, {}))
            assert SAID["ours"] in read
            assert SAID["theirs"] not in read


# Conversations


@pytest.mark.parametrize("how", HOW)
@NOT_REWRITTEN
def test_what_leans_on_a_private_conversation_is_nobody_elses(config: Any, understood: Any, how: str) -> None:
    engine = AnswerQueryEngine(
        Scripted(says=leaning(understood)), search(filters=of("ours")), config, cache=Shelf(), cache_scope="all"
    )
    private = [ChatMessage("I take methadone. May I have a sedation?"), ChatMessage("Yes.", role="assistant")]
    others = [ChatMessage("When does it end?"), ChatMessage("In March.", role="assistant")]
    asked = "And may I drive after the contract?"
    assert HOW[how](engine, asked, {"chat_history": private}).text == "Not after methadone [1]."
    for history in (others, []):
        assert HOW[how](engine, asked, {"chat_history": history}).text == "No [1]."


# Filters that an index' retriever has


def shared() -> VectorStoreIndex:
    """One document, each other chunk of which is another tenant's."""
    rows = [("ours", SAID["ours"]), ("theirs", SAID["theirs"]), ("ours", "Notice is given in writing.")]
    nodes = [TextNode(text=text, metadata={"file_name": "contract.pdf", "tenant": tenant}) for tenant, text in rows]
    return VectorStoreIndex(number_chunks(nodes), embed_model=WordEmbedding())


@pytest.mark.parametrize("streaming", [False, True])
def test_neighbors_are_held_to_the_filters_of_the_retriever(streaming: bool) -> None:
    index = shared()
    retriever = index.as_retriever(filters=of("ours"), similarity_top_k=1)
    engine = AnswerQueryEngine.from_args(index, Scripted(), retriever=retriever, streaming=streaming)
    for response in (engine.query("When does the contract end on 31 March?"), asyncio.run(engine.aquery(QUESTION))):
        read = "\n".join(node.text for node in response.source_nodes)
        assert SAID["theirs"] not in read
        assert "Notice is given in writing." in read or "31 March" in read


def test_a_neighbor_that_passes_them_need_not_agree_with_its_hit() -> None:
    """A seen filter is all that counts: nobody is warned, and a key that the filter doesn't name may differ."""
    nodes = number_chunks(
        [
            TextNode(text=text, metadata={"file_name": "contract.pdf", "tenant": "ours", "signed": by})
            for text, by in ((SAID["ours"], "Ann"), ("Notice is given in writing.", "Bob"))
        ]
    )
    index = VectorStoreIndex(nodes, embed_model=WordEmbedding())
    retriever = index.as_retriever(filters=of("ours"), similarity_top_k=1)
    engine = AnswerQueryEngine.from_args(index, Scripted(), retriever=retriever)
    assert "Notice" in "\n".join(node.text for node in engine.query(QUESTION).source_nodes)


async def test_the_filters_of_a_conversation_hold_for_neighbors_over_an_ordinary_index() -> None:
    index = shared()
    chat = AnswerChatEngine.from_defaults(
        index.as_retriever(similarity_top_k=1),
        Scripted(),
        postprocessor=ContextAssemblyPostprocessor.from_index(index),
        filters=of("ours"),
    )
    for response in (chat.chat(QUESTION), await chat.achat(QUESTION)):
        assert SAID["theirs"] not in "\n".join(node.text for node in response.source_nodes)
