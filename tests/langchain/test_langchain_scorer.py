"""`scorer=` through LangChain's own chains: an answer in other words than the question's."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from leaflet import ANSWER, LEAFLET, QUERY, WARDS

from ctxassembly import AssemblyConfig, MemoryIndex, RetrievalConfig
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, ContextRetriever
from langchain_samples import Tracer, chunks

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.errors.FilterNotSeenWarning")

CONFIG = AssemblyConfig(max_tokens=24, format="minimal")


class Meaning(Embeddings):
    """Knows that fluids are drunk, and keeps what it was asked to embed."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0] if "drink" in text or "Fluids" in text else [0.0, 1.0]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked.append(texts)
        return [self.embed_query(text) for text in texts]


def documents() -> list[Document]:
    return [
        Document(text, id=f"doc{at}#0", metadata={"document_id": f"doc{at}", "chunk_index": 0})
        for at, text in enumerate((LEAFLET, *WARDS))
    ]


def store() -> InMemoryVectorStore:
    made = InMemoryVectorStore(Meaning())
    made.add_documents(documents())
    return made


def piped(scorer: Any) -> Runnable[Any, Any]:
    assembler = ContextAssembler(config=CONFIG, scorer=scorer)
    return {"documents": store().as_retriever(search_kwargs={"k": 5}), "query": RunnablePassthrough()} | assembler


def from_vectorstore(scorer: Any) -> Runnable[Any, Any]:
    return ContextAssemblyRetriever.from_vectorstore(store(), assembler=ContextAssembler(config=CONFIG, scorer=scorer))


def compressed(scorer: Any) -> Runnable[Any, Any]:
    return ContextualCompressionRetriever(
        base_retriever=store().as_retriever(search_kwargs={"k": 5}),
        base_compressor=ContextAssembler(config=CONFIG, scorer=scorer),
    )


def retrieved(scorer: Any) -> Runnable[Any, Any]:
    index = MemoryIndex(chunks(documents()), Meaning().embed_documents([each.page_content for each in documents()]))
    assembler = ContextAssembler(config=CONFIG, scorer=scorer)
    return ContextRetriever(index, Meaning(), config=RetrievalConfig(min_similarity=0.0), assembler=assembler)


CHAINS = [piped, from_vectorstore, compressed, retrieved]


def text(found: list[Document]) -> str:
    return "\n\n".join(document.page_content for document in found)


@pytest.mark.parametrize("chain", CHAINS)
async def test_every_chain_finds_the_answer_with_a_scorer_alone_however_it_is_run(chain: Any) -> None:
    assert ANSWER not in text(chain(None).invoke(QUERY))
    with_it = chain(Meaning())
    found = with_it.invoke(QUERY)
    assert ANSWER in text(found)
    assert text(await with_it.ainvoke(QUERY)) == text(found)
    assert [text(each) for each in with_it.batch([QUERY, QUERY])] == [text(found)] * 2
    assert [text(each) for each in with_it.stream(QUERY)] == [text(found)]


def test_embeddings_are_asked_once_for_a_sentence() -> None:
    scorer = Meaning()
    chain = piped(scorer)
    for query in (QUERY, QUERY, "Where do I drink?"):
        chain.invoke(query)
    asked = [each for batch in scorer.asked for each in batch]
    assert len(asked) == len(set(asked)) == 14
    piped(scorer).invoke(QUERY)  # another chain with the same embeddings
    assert len(scorer.asked) == 1


def test_it_is_a_run_below_the_assemblers_and_in_the_trace() -> None:
    tracer = Tracer()
    found = piped(Meaning()).invoke(QUERY, {"callbacks": [tracer]})
    (assembler,) = [run for run in tracer.roots[0].child_runs if run.name == "ContextAssembler"]
    names = [run.name for run in assembler.child_runs]
    assert names.index("ctxassembly.score") == names.index("ctxassembly.budget") - 1
    (score,) = [run for run in assembler.child_runs if run.name == "ctxassembly.score"]
    assert score.outputs == {"chunks": 5, "sentences": 14, "asked": 14}
    (stage,) = [each for each in found[0].metadata["trace"]["stages"] if each["name"] == "score"]
    assert stage["counts"] == {"sentences": 14, "asked": 14}
