"""answer_chain over retrievers of other makes, and filters that hold in all of them."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from chain_samples import ANSWER, QUESTION, Runs, Scripted, retriever
from ctxassembly import AssemblyConfig, ConfigError, Supplement
from langchain_ctxassembly import ContextAssembler, answer_chain
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


def test_the_filter_of_a_call_stands_beside_the_retrievers_own() -> None:
    own = pages().as_retriever(search_kwargs={"k": 4, "filter": of("ann")})
    chain = answer_chain(Scripted(), own)
    both = lambda document: "parks" in document.page_content  # noqa: E731
    with pytest.raises(ConfigError, match="retriever must be without a filter of its own"):
        chain.invoke({"input": QUESTION, "filter": {"page": 1}})
    output = chain.invoke({"input": QUESTION, "filter": both})
    assert [one.page_content for one in output["documents"]] == ["Ann parks for free."]


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


def test_a_supplement_of_the_retriever_is_in_the_context() -> None:
    ours = retriever(supplement=lambda query: Supplement(f"Asked: {query}", force=True))
    assert f"Asked: {QUESTION}" in answer_chain(Scripted(), ours).invoke({"input": QUESTION})["result"].context.text
