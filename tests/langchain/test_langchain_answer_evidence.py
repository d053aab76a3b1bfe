"""answer_chain over retrievers of other makes, and filters that hold in all of them."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from chain_samples import ANSWER, QUESTION, Runs, Scripted, leaflets, retriever
from ctxassembly import AssemblyConfig, ConfigError, Supplement
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, answer_chain
from langchain_samples import WordEmbeddings

USERS = {"ann": "In Ann's file ferritin is measured at eight.", "bob": "In Bob's file ferritin is measured at noon."}


def pages() -> InMemoryVectorStore:
    """A store as tutorials make it: ids of its own making, source and page, no index of chunks."""
    store = InMemoryVectorStore(WordEmbeddings())
    store.add_documents(
        [
            Document(text, metadata={"source": f"{user}.pdf", "page": page, "user": user})
            for user, said in USERS.items()
            for page, text in enumerate((said, f"{user.title()} parks for free."))
        ]
    )
    return store


def of(user: str) -> Any:
    return lambda document: document.metadata["user"] == user


class Plain(BaseRetriever):
    """A retriever of one's own, which takes no more than words."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [
            Document(f"{query} In the morning.", metadata={"source": "own.pdf", "year": 2020 + at}) for at in (1, 2)
        ]


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")
async def test_a_vector_store_of_a_tutorial_with_a_filter_for_each_user() -> None:
    found = ContextAssemblyRetriever.from_vectorstore(pages(), hits=2)
    chain = answer_chain(Scripted(), found)
    for user, said in USERS.items():
        for output in (
            chain.invoke({"input": QUESTION, "filter": of(user)}),
            await chain.ainvoke({"input": QUESTION, "filter": of(user)}),
        ):
            assert [one.metadata["user"] for one in output["documents"]] == [user, user]
            assert said in output["result"].context.text
            assert {one["source"] for one in output["citations"]} == {f"{user}.pdf"}
            assert output["citations"][0]["pages"]
    everybodys = chain.invoke({"input": QUESTION})
    assert {one.metadata["user"] for one in everybodys["documents"]} == {"ann", "bob"}


def test_the_filter_of_a_call_stands_beside_the_retrievers_own() -> None:
    own = pages().as_retriever(search_kwargs={"k": 4, "filter": of("ann")})
    chain = answer_chain(Scripted(), own)
    both = lambda document: "parks" in document.page_content  # noqa: E731
    with pytest.raises(ConfigError, match="retriever must be without a filter of its own"):
        chain.invoke({"input": QUESTION, "filter": {"page": 1}})
    output = chain.invoke({"input": QUESTION, "filter": both})
    assert [one.page_content for one in output["documents"]] == ["Ann parks for free."]


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")
def test_a_mode_says_how_many_a_vector_store_is_asked_for() -> None:
    chain = answer_chain(Scripted(), pages().as_retriever(search_kwargs={"k": 1}))
    assert len(chain.invoke({"input": QUESTION})["documents"]) == 1
    assert len(chain.invoke({"input": QUESTION, "mode": "full"})["documents"]) == 4


@pytest.mark.parametrize("wrap", [lambda own: own, lambda own: own.with_retry()])
async def test_any_retriever_will_do_and_is_refused_a_filter(wrap: Any) -> None:
    chain = answer_chain(Scripted(), wrap(Plain()), assembler=ContextAssembler(config=AssemblyConfig(cite="passage")))
    output = chain.invoke({"input": QUESTION})
    assert (output["answer"], output["citations"][0]["source"]) == (ANSWER, "own.pdf")
    assert output["trace"]["retrieval"]["question"]["notes"][0].startswith("searched by ")
    assert (await chain.ainvoke({"input": QUESTION}))["citations"] == output["citations"]
    with pytest.raises(ConfigError, match=r"directly inside, not .*: give the filter to the search in its own way"):
        chain.invoke({"input": QUESTION, "filter": {"year": 2021}})


async def test_a_retriever_runs_below_the_step() -> None:
    chain = answer_chain(Scripted(), Plain())
    called, awaited, streamed = Runs(), Runs(), Runs()
    chain.invoke({"input": QUESTION}, {"callbacks": [called]})
    await chain.ainvoke({"input": QUESTION}, {"callbacks": [awaited]})
    _ = [piece async for piece in chain.astream({"input": QUESTION}, {"callbacks": [streamed]})]
    for runs in (called, awaited, streamed):
        assert runs.below("answer_chain") == ["retrieve", "assemble", "answer"]
        assert runs.below("retrieve") == ["Plain"]


def test_a_runnable_that_gives_documents_is_a_retriever() -> None:
    found = RunnableLambda(lambda query: [Document("In the morning.", metadata={"source": "own.pdf"})])
    assert answer_chain(Scripted(), found).invoke({"input": QUESTION})["citations"][0]["source"] == "own.pdf"


@pytest.mark.parametrize("assembler", [ContextAssembler().configurable_fields(config=ConfigurableField("config")), 7])
def test_an_assembler_that_no_chain_can_use_is_refused_at_once(assembler: Any) -> None:
    with pytest.raises(ConfigError, match="assembler must be a ContextAssembler without configurable fields, or None"):
        answer_chain(Scripted(), RunnableLambda(lambda _: []), assembler=assembler)


def test_a_retrievers_own_limit_of_labels_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"retriever\.k must be None"):
        answer_chain(Scripted(), ContextAssemblyRetriever(retriever=Plain(), k=3))


def test_our_retriever_is_held_to_its_filter_and_to_that_of_a_call() -> None:
    chunks = [*leaflets("lab", tenant="a"), *leaflets("gastro", tenant="b")]
    asked = {"input": "When is ferritin measured before a gastroscopy?"}
    ours = answer_chain(Scripted(), retriever(chunks, filter={"tenant": "a"}))
    assert {one.metadata["tenant"] for one in ours.invoke(asked)["documents"]} == {"a"}
    both = answer_chain(Scripted(), retriever(chunks))
    assert {one.metadata["tenant"] for one in both.invoke(asked)["documents"]} == {"a", "b"}
    assert {one.metadata["tenant"] for one in both.invoke({**asked, "filter": {"tenant": "b"}})["documents"]} == {"b"}


def test_a_supplement_of_the_retriever_is_in_the_context() -> None:
    ours = retriever(supplement=lambda query: Supplement(f"Asked: {query}", force=True))
    assert f"Asked: {QUESTION}" in answer_chain(Scripted(), ours).invoke({"input": QUESTION})["result"].context.text
