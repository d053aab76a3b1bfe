"""LangChain's vector store hands over documents as loaded, without a splitter: the best one is over the budget."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from ctxassembly import AssemblyConfig, presets
from langchain_ctxassembly import ContextAssembler

# What a caller's filter means for neighbors is tested in test_langchain_scope.py.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.errors.FilterNotSeenWarning")

LEASE = " ".join(f"The tenant of room {n} pays by the third of the month." for n in range(900))


def assembled(config: AssemblyConfig) -> tuple[str, str]:
    """The context of two files without a splitter, the lease first, and what its trace says."""
    files = {"lease.txt": LEASE, "parking.txt": "Parking is free."}
    embeddings = DeterministicFakeEmbedding(size=8)
    store = InMemoryVectorStore(embeddings)
    store.add_documents([Document(text, metadata={"source": source}) for source, text in files.items()])
    found = store.similarity_search(LEASE, k=2)
    assert found[0].page_content == LEASE
    assembler = ContextAssembler(config=config, embeddings=embeddings)
    context = assembler.as_context().invoke(found)
    return context.text, str(context.trace)


def test_the_best_document_stands_cut_at_a_sentence() -> None:
    text, trace = assembled(AssemblyConfig())
    assert "The tenant of room 0 pays" in text
    assert ". [...]" in text
    assert "lease" in text.splitlines()[0]
    assert "cut" in trace


def test_the_answer_is_cut_in_a_small_window_rather_than_that_a_lesser_hit_stands_alone() -> None:
    clause = f"{'Where the tenant fails to pay within fourteen days of a notice in writing, ' * 8}the lease ends."
    found = [Document(clause, metadata={"source": "lease.txt"}), Document("Parking is free.")]
    assembler = ContextAssembler(config=AssemblyConfig(max_tokens=100))
    context = assembler.as_context().invoke({"documents": found, "query": "What if the tenant fails to pay?"})
    assert "the tenant fails to pay within fourteen days" in context.text
    assert context.trace.shortened
    assert 90 < context.token_count <= 100


def test_by_the_bookend_rule_2000_tokens_of_it_are_kept_or_what_a_model_selects() -> None:
    """A chunk of 7,193 tokens keeps up to 2,000 of them; with compress="llm" the model is asked for it."""
    deposit = "Deposits come back within six weeks."
    texts = {"lease.txt": f"{LEASE} {deposit}"} | {f"{n}.txt": f"Clause {n}. " * 1_000 for n in range(12)}
    embeddings = DeterministicFakeEmbedding(size=64)
    store = InMemoryVectorStore(embeddings)
    store.add_documents([Document(text, metadata={"source": source}) for source, text in texts.items()])
    best = store.similarity_search(texts["lease.txt"], k=len(texts))
    question = "When do deposits come back?"

    def kept(config: AssemblyConfig, llm: Any = None) -> Any:
        chain = ContextAssembler(config=config, embeddings=embeddings, llm=llm).as_context()
        context = chain.invoke({"documents": best, "query": question})
        assert deposit in context.text
        return next(each for each in context.trace.decisions if each.document_id == "lease.txt").shortened

    extracted = kept(presets.BOOKEND)
    assert extracted.tokens_before > 7_000
    assert 1_900 < extracted.tokens_after <= 2_000
    model = RunnableLambda(lambda prompt: deposit if "tenant" in str(prompt) else "IRRELEVANT")
    selected = kept(replace(presets.BOOKEND, compress="llm"), model)
    assert (selected.by, selected.tokens_before, selected.tokens_after < 20) == ("llm", extracted.tokens_before, True)
