"""ContextRetriever in chains: an index in memory, PostgreSQL elsewhere; retrievers of other makes; filters; agents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_tests.integration_tests import RetrieversIntegrationTests

from ctxassembly import (
    AssemblyConfig,
    Chunk,
    ConfigError,
    InputError,
    MemoryIndex,
    MemoryStore,
    RetrievalConfig,
    Retrieved,
    StoreError,
)
from ctxassembly.retrieval import Node, Question, Relation, Taxonomy
from langchain_ctxassembly import ContextAssembler, ContextRetriever
from langchain_samples import WordEmbeddings, chunks, documents, vector_store

CORPUS = documents("A", "B", "C", "D")
QUERY = "the falcon in C, the granite in A and B, the ember in D"


def index_of(found: Sequence[Document]) -> MemoryIndex:
    texts = [document.page_content for document in found]
    return MemoryIndex(chunks(found), WordEmbeddings().embed_documents(texts))


class TestStandard(RetrieversIntegrationTests):
    """`k` is the number of chunks to retrieve: chunks of one document are one label, unless `cite` says otherwise."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return ContextRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        # A label a chunk, so that three chunks are three documents.
        assembler = ContextAssembler(config=AssemblyConfig(window=0, cite="chunk"))
        return {"index": index_of(CORPUS), "embeddings": WordEmbeddings(), "assembler": assembler}

    @property
    def retriever_query_example(self) -> str:
        return QUERY


def test_a_hit_is_found_by_words_and_joined_with_its_neighbors() -> None:
    assembler = ContextAssembler(config=AssemblyConfig(candidate_window=1))
    retriever = ContextRetriever(index_of(CORPUS), WordEmbeddings(), k=1, assembler=assembler)
    [found] = retriever.invoke("Where is the falcon in C described?")
    assert found.metadata["citation"]["chunk_ids"] == ["C#5", "C#6", "C#7"]
    assert found.page_content.startswith("[1] Source: C.pdf\n")
    assert found.metadata["search_method"] == "vector+keyword"
    assert 0 < found.metadata["vector_similarity"] <= 1


async def test_awaited_it_gives_the_same() -> None:
    retriever = ContextRetriever(index_of(CORPUS), WordEmbeddings())
    assert [d.page_content for d in await retriever.ainvoke(QUERY)] == [d.page_content for d in retriever.invoke(QUERY)]
    assert (await retriever.aretrieve(QUERY)).hits == retriever.retrieve(QUERY).hits


class TestContext:
    """`context` gives what `invoke` turns into documents, under the same filter, number of chunks and supplement."""

    def test_has_the_text_of_the_documents(self) -> None:
        retriever = ContextRetriever(index_of(CORPUS), WordEmbeddings(), supplement=lambda query: f"Asked: {query}")
        text = retriever.context(QUERY).text
        assert text == "\n\n".join(document.page_content for document in retriever.invoke(QUERY))
        assert f"Asked: {QUERY}" in text

    def test_holds_to_the_number_of_chunks_and_the_filter_of_the_call(self) -> None:
        retriever = ContextRetriever(index_of(TENANTS), WordEmbeddings())
        call: dict[str, Any] = {"k": 2, "filter": {"tenant": "x"}}
        context = retriever.context(QUERY, **call)
        assert context.text == "\n\n".join(document.page_content for document in retriever.invoke(QUERY, **call))
        assert context.trace.hits == 2
        assert {decision.document_id for decision in context.trace.decisions} <= {"A", "B"}

    def test_takes_a_question_that_was_rewritten(self) -> None:
        retriever = ContextRetriever(index_of(CORPUS), WordEmbeddings(), k=1, supplement="Asked: {}".format)
        context = retriever.context(Question("And in C?", rewritten="Where is the falcon in C?"))
        assert "In C the" in context.text
        assert "Asked: And in C?" in context.text


TENANTS = [*documents("A", "B", tenant="x"), *documents("C", "D", tenant="y")]


def halved(name: str) -> list[Document]:
    """A document whose first four chunks are x's, and the others y's."""
    return [
        document.model_copy(update={"metadata": {**document.metadata, "tenant": "x" if at < 4 else "y"}})
        for at, document in enumerate(documents(name))
    ]


class TestFilters:
    """A filter holds in every channel, and for neighbors; what can't take it is refused."""

    def texts(self, retriever: ContextRetriever, **call: Any) -> str:
        return "\n".join(document.page_content for document in retriever.invoke(QUERY, **call))

    @pytest.mark.parametrize("strategy", ["hybrid", "vector", "keyword"])
    def test_of_a_call_holds_in_every_channel(self, strategy: Any) -> None:
        retriever = ContextRetriever(index_of(TENANTS), WordEmbeddings(), config=RetrievalConfig(strategy=strategy))
        text = self.texts(retriever, filter={"tenant": "x"})
        assert "Source: A.pdf" in text
        assert "Source: C.pdf" not in text
        assert "Source: D.pdf" not in text
        assert "Source: C.pdf" in self.texts(retriever)  # the next call has its own

    @pytest.mark.parametrize(
        ("own", "given", "expected"),
        [
            ({"tenant": "x"}, {"tenant": "y"}, set()),
            ({"tenant": "x"}, {"document_id": {"$in": ["B", "C"]}}, {"B"}),
            (lambda chunk: chunk.metadata["tenant"] == "x", lambda chunk: chunk.document_id in ("B", "C"), {"B"}),
            ({"tenant": "x"}, {}, {"A", "B"}),
            ({}, {"tenant": "y"}, {"C", "D"}),
        ],
    )
    async def test_of_the_call_holds_beside_the_retrievers_own(self, own: Any, given: Any, expected: set[str]) -> None:
        """That one may keep a tenant."""
        retriever = ContextRetriever(index_of(TENANTS), WordEmbeddings(), filter=own)
        question = Question(QUERY, filter=given)
        for retrieved in (
            retriever.retrieve(QUERY, filter=given),
            await retriever.aretrieve(QUERY, filter=given),
            retriever.retrieve(question),
        ):
            assert {hit.chunk.document_id for hit in retrieved.hits} == expected
        for context in (retriever.context(QUERY, filter=given), await retriever.acontext(question)):
            assert {decision.document_id for decision in context.trace.decisions} == expected
        for found in (
            retriever.invoke(QUERY, filter=given),
            await retriever.ainvoke(QUERY, filter=given),
            retriever.with_filter(given).invoke(QUERY),
        ):
            assert {document.metadata["document_id"] for document in found} == expected

    def test_of_another_form_than_the_retrievers_own_is_refused(self) -> None:
        retriever = ContextRetriever(index_of(TENANTS), WordEmbeddings(), filter={"tenant": "x"})
        for ask in (retriever.retrieve, retriever.context, retriever.invoke):
            with pytest.raises(ConfigError, match="filter must be in the form of the retriever's own filter, which"):
                ask(QUERY, filter=lambda chunk: True)
        with pytest.raises(ConfigError, match="filter must be in the form of the retriever's own filter, which"):
            retriever.with_filter(lambda chunk: True)

    def test_holds_for_neighbors(self) -> None:
        retriever = ContextRetriever(index_of(halved("A")), WordEmbeddings(), k=1, filter={"tenant": "x"})
        [found] = retriever.invoke("the granite in A, paragraph 3")
        assert set(found.metadata["citation"]["chunk_ids"]) <= {"A#0", "A#1", "A#2", "A#3"}

    def test_reaches_a_vector_stores_retriever(self) -> None:
        vectors = vector_store(TENANTS).as_retriever()
        retriever = ContextRetriever(
            index_of(TENANTS), channels={"vector": vectors}, config=RetrievalConfig(strategy="vector")
        )
        # InMemoryVectorStore takes functions, the index mappings: each reads its own form.
        with pytest.raises(StoreError):
            retriever.invoke(QUERY, filter={"tenant": "x"})
        by_function = ContextRetriever(channels={"vector": vectors}, config=RetrievalConfig(strategy="vector"))
        found = by_function.retrieve(QUERY, filter=lambda document: document.metadata["tenant"] == "x")
        assert {hit.chunk.metadata["tenant"] for hit in found.hits} == {"x"}

    def test_stands_beside_the_filter_of_a_channel_not_in_its_place(self) -> None:
        def of_x(document: Document) -> bool:
            return bool(document.metadata["tenant"] == "x")

        vectors = vector_store(TENANTS).as_retriever(search_kwargs={"filter": of_x})
        retriever = ContextRetriever(channels={"vector": vectors}, config=RetrievalConfig(strategy="vector"))
        found = retriever.retrieve(QUERY, filter=lambda document: document.metadata["document_id"] in ("A", "C")).hits
        assert {hit.chunk.document_id for hit in found} == {"A"}
        with pytest.raises(ConfigError, match="without a filter of its own, where a call has another one"):
            retriever.retrieve(QUERY, filter={"document_id": "A"})

    def test_is_refused_where_a_channel_would_ignore_it(self) -> None:
        class Elsewhere(BaseRetriever):
            def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
                return list(CORPUS)

        retriever = ContextRetriever(channels={"keyword": Elsewhere()}, config=RetrievalConfig(strategy="keyword"))
        assert retriever.retrieve(QUERY).hits
        with pytest.raises(ConfigError, match="not Elsewhere"):
            retriever.retrieve(QUERY, filter={"tenant": "x"})

    def test_is_refused_where_the_assemblers_own_store_cant_hold_it(self) -> None:
        own = ContextAssembler(store=_Plain())
        with pytest.raises(ConfigError, match=r"assembler\.store must be one with a method with_filter"):
            ContextRetriever(index_of(CORPUS), WordEmbeddings(), assembler=own).invoke(QUERY, filter={"tenant": "x"})


class _Plain:
    def fetch(self, refs: Any) -> list[Chunk]:
        return []


class TestChannels:
    def test_of_another_make_may_serve_words_and_vectors(self) -> None:
        vectors = vector_store(CORPUS).as_retriever()
        retriever = ContextRetriever(index_of(CORPUS), channels={"vector": vectors}, k=3)
        [best, *_] = retriever.retrieve("the falcon in C").chunks
        assert best.chunk.id in {"C#6", "C#7"}
        assert set(best.channels) == {"vector", "keyword"}


class _Backwards(BaseDocumentCompressor):
    top_n: int = 100
    fails: bool = False

    def compress_documents(self, documents: Sequence[Document], query: str, callbacks: Any = None) -> list[Document]:
        if self.fails:
            raise RuntimeError("out of order")
        kept = list(documents)[::-1][: self.top_n]
        scored = {"relevance_score": 3.0}
        return [Document(page_content=d.page_content, metadata={**d.metadata, **scored}) for d in kept]


class TestRerankers:
    def test_a_compressors_order_is_taken_and_its_logits_go_through_a_sigmoid(self) -> None:
        retriever = ContextRetriever(index_of(CORPUS), WordEmbeddings(), k=5)
        plain = retriever.retrieve(QUERY)
        again = retriever.model_copy(update={"rerankers": [_Backwards()]}).retrieve(QUERY)
        candidates = next(step for step in plain.trace.steps if step.name == "fuse").ids
        assert [one.chunk.id for one in again.chunks] == list(candidates)[::-1][:5]
        assert again.chunks[0].score == pytest.approx(1 / (1 + math.exp(-3)))

    def test_a_cross_encoder_scores_pairs(self) -> None:
        class Longest:
            def predict(self, pairs: list[tuple[str, str]]) -> list[float]:
                return [len(text) for _, text in pairs]

        best = ContextRetriever(index_of(CORPUS), WordEmbeddings(), rerankers=[Longest()]).retrieve(QUERY).chunks
        lengths = [len(one.chunk.text) for one in best]
        assert lengths == sorted(lengths, reverse=True)


def test_what_was_retrieved_can_be_assembled_elsewhere() -> None:
    retriever = ContextRetriever(index_of(CORPUS), WordEmbeddings(), k=2)
    chain = RunnableLambda(retriever.retrieve) | ContextAssembler(store=index_of(CORPUS).with_filter(None))
    assert [d.page_content for d in chain.invoke(QUERY)] == [d.page_content for d in retriever.invoke(QUERY)]


def test_misuse_is_told() -> None:
    with pytest.raises(ConfigError, match="strategy='hybrid' needs an embedding model"):
        ContextRetriever(index_of(CORPUS)).invoke(QUERY)
    with pytest.raises(InputError, match="index must be an object with find_terms"):
        ContextRetriever(MemoryStore([]), WordEmbeddings()).invoke(QUERY)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="greater than or equal to 1"):
        ContextRetriever(index_of(CORPUS), WordEmbeddings(), k=0)
    with pytest.raises(ConfigError, match="limit must be an integer of at least 1, got 0"):
        ContextRetriever(index_of(CORPUS), WordEmbeddings()).invoke(QUERY, k=0)
    assert isinstance(ContextRetriever(index_of(CORPUS), WordEmbeddings()).retrieve(QUERY), Retrieved)


@pytest.mark.parametrize("is_open", [True, False])
def test_facts_of_the_taxonomy_are_the_supplement_behind_its_gate(is_open: bool) -> None:
    taxonomy = Taxonomy(
        [Node("a", "weaver", "Weaver A"), Node("d", "workshop", "Dyes")],
        [Relation("a", "WORKS_IN", "d")],
        statements={"weaver": "{name} works in {workshop}."},
    )
    config = AssemblyConfig(supplement_threshold=lambda query, score: is_open)
    assembler = ContextAssembler(config=config)
    retriever = ContextRetriever(index_of(CORPUS), WordEmbeddings(), taxonomy=taxonomy, assembler=assembler)
    last = retriever.invoke("Where does weaver A keep the falcon?")[-1].page_content
    assert ("SUPPLEMENTARY" in last and "Weaver A works in Dyes." in last) == is_open
