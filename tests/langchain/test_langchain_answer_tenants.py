"""answer_chain for two tenants: with one cache for both, and with the chunks that a conversation brings along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from langchain_chroma import Chroma
from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.vectorstores import FAISS
from langchain_core.caches import InMemoryCache
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore, VectorStoreRetriever
from tenants import NOT_REWRITTEN, QUESTION, SAID, chunks, leaning, said_of, texts_of

from chain_samples import HOW, KEYWORD, Scripted
from ctxassembly import MemoryIndex
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    ContextRetriever,
    VectorStoreNeighbors,
    answer_chain,
)
from langchain_samples import WordEmbeddings

pytestmark = [
    pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


class Given(NamedTuple):
    """A chain's retriever and assembler, and the input and the config of a call."""

    retriever: Any
    assembler: Any = None
    input: dict[str, Any] = {}  # noqa: RUF012
    config: dict[str, Any] = {}  # noqa: RUF012


def papers(*tenants: str) -> list[Document]:
    return [
        Document(
            text,
            id=f"{tenant}-{page}",
            metadata={"source": f"{tenant}.pdf", "page": page, "tenant": tenant},
        )
        for tenant in tenants or SAID
        for page, text in enumerate(texts_of(tenant))
    ]


STORE = FAISS.from_documents(papers(), WordEmbeddings(), relevance_score_fn=lambda distance: 1 / (1 + distance))
INDEX = MemoryIndex(chunks())
IN_MEMORY = InMemoryVectorStore(WordEmbeddings())
IN_MEMORY.add_documents(papers())
COLLECTIONS = {
    tenant: Chroma.from_documents(papers(tenant), WordEmbeddings(), collection_name=f"answers-{tenant}")
    for tenant in SAID
}


def of(tenant: str) -> dict[str, str]:
    return {"tenant": tenant}


def search(**options: Any) -> VectorStoreRetriever:
    return STORE.as_retriever(search_kwargs={"k": 4, **options})


def of_index(index: Any = INDEX, **given: Any) -> ContextRetriever:
    return ContextRetriever(index, config=KEYWORD, **given)


class OwnRetriever(BaseRetriever):
    """A retriever of a user's own, which knows its tenant."""

    tenant: str

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return papers(self.tenant)


def of_lambda(tenant: str) -> Any:
    return RunnableLambda(lambda query: papers(tenant))


PER_SEARCH = search().configurable_fields(search_kwargs=ConfigurableField(id="search"))
ALTERNATIVES = (
    COLLECTIONS["ours"]
    .as_retriever()
    .configurable_alternatives(
        ConfigurableField("whose"), default_key="ours", theirs=COLLECTIONS["theirs"].as_retriever()
    )
)


def searching(tenant: str) -> dict[str, Any]:
    return {"configurable": {"search": {"k": 4, "filter": of(tenant)}}}


WAYS: dict[str, Callable[[str], Given]] = {
    "search_kwargs": lambda tenant: Given(search(filter=of(tenant))),
    "of the call": lambda tenant: Given(search(), None, {"filter": of(tenant)}),
    "of the call, beside search_kwargs": lambda tenant: Given(search(filter=of(tenant)), None, {"filter": {"page": 0}}),
    "bound": lambda tenant: Given(search().bind(filter=of(tenant))),
    "score threshold": lambda tenant: Given(
        STORE.as_retriever(
            search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.0, "filter": of(tenant)}
        )
    ),
    "configurable, of the call": lambda tenant: Given(PER_SEARCH, config=searching(tenant)),
    "one of two collections": lambda tenant: Given(ALTERNATIVES, config={"configurable": {"whose": tenant}}),
    "from_vectorstore, of the call": lambda tenant: Given(
        ContextAssemblyRetriever.from_vectorstore(STORE), None, {"filter": of(tenant)}
    ),
    "told to the assembler": lambda tenant: Given(of_lambda(tenant), ContextAssembler(filter=of(tenant))),
    "ContextRetriever": lambda tenant: Given(of_index(filter=of(tenant))),
    "ContextRetriever, of the call": lambda tenant: Given(of_index(), None, {"filter": of(tenant)}),
    "ContextRetriever.with_filter": lambda tenant: Given(of_index().with_filter(of(tenant))),
    "a channel": lambda tenant: Given(of_index(channels={"keyword": search(filter=of(tenant))})),
    "a store with a filter": lambda tenant: Given(
        search(filter=of(tenant)), ContextAssembler(store=VectorStoreNeighbors(STORE, filter=of(tenant)))
    ),
    "a function": lambda tenant: Given(
        IN_MEMORY.as_retriever(search_kwargs={"filter": lambda found: found.metadata["tenant"] == tenant})
    ),
    "a retriever of one's own": lambda tenant: Given(OwnRetriever(tenant=tenant)),
    "EnsembleRetriever": lambda tenant: Given(
        EnsembleRetriever(retrievers=[search(filter=of(tenant)), search(filter={**of(tenant), "page": 0})])
    ),
    "a supplement by a function": lambda tenant: Given(
        of_index(filter=of("ours"), supplement=lambda query: f"For {tenant}: {SAID[tenant]}")
    ),
}


def read_by(tenant: str, output: Any) -> str:
    """The text and the context of an answer, which must be the tenant's alone."""
    read = output["answer"] + output["result"].context.text + "".join(one.page_content for one in output["context"])
    assert SAID[tenant] in read
    return read


@pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("way", WAYS)
def test_tenants_who_are_named_share_nothing(way: str, how: str) -> None:
    cache, asked = InMemoryCache(), []
    for tenant in ("ours", "theirs", "ours"):
        given = WAYS[way](tenant)
        llm = Scripted(says=said_of)
        chain = answer_chain(llm, given.retriever, assembler=given.assembler, cache=cache, cache_scope=tenant)
        output = HOW[how](chain, {"input": QUESTION, **given.input}, given.config)
        other = SAID["ours" if tenant == "theirs" else "theirs"]
        if way == "a supplement by a function":
            assert f"For {tenant}" in output["result"].context.text
        else:
            assert other not in read_by(tenant, output)
        asked.append(len(llm.asked))
    if way != "a function":
        assert asked[-1] == 0


@pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")
@pytest.mark.parametrize("how", HOW)
def test_the_filter_of_the_assembler_holds_for_what_is_found(how: str) -> None:
    told = {"assembler": ContextAssembler(filter=of("ours"))}
    lambda_ = RunnableLambda(lambda query: papers())
    for retriever, given in ((search(), told), (lambda_, told), (of_index(**told), {})):
        output = HOW[how](answer_chain(Scripted(says=said_of), retriever, **given), {"input": QUESTION}, {})
        assert SAID["theirs"] not in read_by("ours", output)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("way", ["search_kwargs", "of the call"])
def test_neighbors_are_held_to_the_filter_of_the_search(way: str, how: str) -> None:
    rows = [("ours", SAID["ours"]), ("theirs", SAID["theirs"])]
    stored = [
        Document(text, id=f"A#{at}", metadata={"document_id": "A", "chunk_index": at, "tenant": tenant})
        for at, (tenant, text) in enumerate(rows)
    ]
    store = FAISS.from_documents(stored, WordEmbeddings(), ids=[one.id for one in stored])
    own = ContextAssembler(store=VectorStoreNeighbors(store), neighbors="unfiltered")
    told, call = (of("ours"), {}) if way == "search_kwargs" else (None, {"filter": of("ours")})
    retriever = store.as_retriever(search_kwargs={"k": 1, **({"filter": told} if told else {})})
    output = HOW[how](answer_chain(Scripted(says=said_of), retriever, assembler=own), {"input": QUESTION, **call}, {})
    assert SAID["theirs"] not in read_by("ours", output)


def test_one_that_only_the_search_can_apply_is_left_to_it() -> None:
    told = ContextAssembler(filter="tenant == 'ours'")
    output = answer_chain(Scripted(says=said_of), of_lambda("ours"), assembler=told).invoke({"input": QUESTION})
    assert SAID["ours"] in output["answer"]
    assert "assembler.filter: only the search can apply it" in str(output["trace"])


# Conversations


@pytest.mark.parametrize("how", HOW)
@NOT_REWRITTEN
def test_what_leans_on_a_private_conversation_is_nobody_elses(config: Any, understood: Any, how: str) -> None:
    kept: Any = {"cache": InMemoryCache(), "cache_scope": "everybody"}
    chain = answer_chain(Scripted(says=leaning(understood)), search(filter=of("ours")), config, **kept)
    private = [HumanMessage("I take methadone. May I have a sedation?"), AIMessage("Yes, tell the nurse.")]
    others = [HumanMessage("When does it end?"), AIMessage("In March.")]
    asked = "And may I drive after the contract?"
    first = HOW[how](chain, {"input": asked, "chat_history": private}, {})
    assert first["answer"] == "Not after methadone [1]."
    for history in (others, []):
        assert HOW[how](chain, {"input": asked, "chat_history": history}, {})["answer"] == "No [1]."
