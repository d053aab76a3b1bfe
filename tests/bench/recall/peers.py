"""Hybrid retrieval of other libraries, at its defaults but for the number of chunks: 20 of each half, 20 in all.

All get the vectors and the text that ours get, and search the words in their own way. The BM25 retrievers of LangChain
and LlamaIndex know neither small letters from capitals (LangChain's) nor a language but English (LlamaIndex's) unless
they are told; so both libraries' fusion is measured with exact BM25 in their place, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import quality.haystack_peers  # noqa: F401  tells Haystack to report nothing
from ctxassembly import Chunk
from quality.data import QuestionSet
from recall.exact import MOST, Scorer, Vectors, by_vectors, by_words, once, searched
from recall.systems import System

JOINS = ("concatenate", "reciprocal_rank_fusion", "distribution_based_rank_fusion")
"""Of Haystack, its default first."""
FUSIONS = ("simple", "relative_score", "reciprocal_rerank")
"""Of LlamaIndex, its default first."""
WITH_EXACT = ", exact BM25"
PEERS = (
    "langchain-postgres, hybrid",
    *(f"LangChain, EnsembleRetriever{words}" for words in ("", WITH_EXACT)),
    *(f"LlamaIndex, {fusion}{words}" for words in ("", WITH_EXACT) for fusion in FUSIONS),
    *(f"Haystack, {join}" for join in JOINS),
)
_TABLE = "chunks"
_WORDS = "content_tsv"


@contextmanager
def peers(questions: QuestionSet, vectors: Vectors, most: int = MOST) -> Iterator[dict[str, System]]:
    """All of them, over the chunks of a set, whose vectors are in their order; a PostgreSQL runs meanwhile.

    Each takes `most` chunks of each half, and gives as many.
    """
    chunks = list(questions.chunks.values())
    words, meaning = by_words(chunks, most), by_vectors(chunks, vectors, most)
    with _langchain_postgres(chunks, vectors, most) as hybrid:
        made = [
            hybrid,
            *(_ensemble(chunks, meaning, exact, most) for exact in (None, words)),
            *(_query_fusion(chunks, meaning, exact, mode, most) for exact in (None, words) for mode in FUSIONS),
            *_joined(chunks, vectors, most),
        ]
        yield dict(zip(PEERS, made, strict=True))


@contextmanager
def _langchain_postgres(chunks: Sequence[Chunk], vectors: Vectors, most: int) -> Iterator[System]:
    """The weighted sum of its PGVectorStore, with the column of words that its documents advise."""
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_postgres import Column, PGEngine, PGVectorStore
    from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig

    from ctxassembly.stores.embedded_server import embedded_postgres

    def config(question: str = "") -> HybridSearchConfig:
        # A config keeps the first question that it sees.
        return HybridSearchConfig(tsv_column=_WORDS, fts_query=question, primary_top_k=most, secondary_top_k=most)

    size = vectors.shape[1]
    with embedded_postgres(durable=False) as url:
        engine = PGEngine.from_connection_string(url)
        try:
            engine.init_vectorstore_table(_TABLE, size, id_column=Column("id", "text"), hybrid_search_config=config())
            unused = DeterministicFakeEmbedding(size=size)
            store = PGVectorStore.create_sync(engine, unused, _TABLE, id_column="id", hybrid_search_config=config())
            texts, ids = [searched(chunk) for chunk in chunks], [chunk.id for chunk in chunks]
            store.add_embeddings(texts, vectors.tolist(), ids=ids)

            def ask(question: str, vector: Sequence[float]) -> list[str]:
                found = store.similarity_search_by_vector(
                    [float(each) for each in vector], k=most, hybrid_search_config=config(question)
                )
                return [str(document.id) for document in found]

            yield ask
        finally:
            asyncio.run(engine.close())


def _ensemble(chunks: Sequence[Chunk], meaning: Scorer, exact: Scorer | None, most: int) -> System:
    """LangChain's EnsembleRetriever, reciprocal ranks, both halves alike; of words its BM25Retriever or `exact`."""
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_core.documents import Document
    from langchain_core.runnables import RunnableLambda

    documents = {chunk.id: Document(searched(chunk), id=chunk.id) for chunk in chunks}
    words = BM25Retriever.from_documents(documents.values(), k=most)

    def ask(question: str, vector: Sequence[float]) -> list[str]:
        def half(scorer: Scorer) -> RunnableLambda[str, list[Document]]:
            return RunnableLambda(lambda text: [documents[id_] for id_, _ in scorer(text, vector)])

        halves = [words if exact is None else half(exact), half(meaning)]
        fused = EnsembleRetriever(retrievers=halves, weights=[0.5, 0.5]).invoke(question)
        return [str(document.id) for document in fused[:most]]  # it cuts nothing itself

    return ask


def _query_fusion(chunks: Sequence[Chunk], meaning: Scorer, exact: Scorer | None, mode: str, most: int) -> System:
    """LlamaIndex's QueryFusionRetriever without a language model, so for the question alone.

    Words are searched by its BM25Retriever or by `exact`.
    """
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.retrievers.bm25 import BM25Retriever

    nodes = {chunk.id: TextNode(id_=chunk.id, text=searched(chunk)) for chunk in chunks}

    class Half(BaseRetriever):
        def __init__(self, scorer: Scorer) -> None:
            super().__init__()
            self._scorer = scorer

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            found = self._scorer(query_bundle.query_str, query_bundle.embedding or ())
            return [NodeWithScore(node=nodes[id_], score=score) for id_, score in found]

    own = BM25Retriever(list(nodes.values()), similarity_top_k=min(most, len(nodes))) if exact is None else Half(exact)
    fused = QueryFusionRetriever(
        [own, Half(meaning)],
        llm=MockLLM(),
        mode=FUSION_MODES(mode),
        similarity_top_k=most,
        num_queries=1,
        use_async=False,
    )

    def ask(question: str, vector: Sequence[float]) -> list[str]:
        asked = QueryBundle(question, embedding=[float(each) for each in vector])
        return [found.node.node_id for found in fused.retrieve(asked)]

    return ask


def _joined(chunks: Sequence[Chunk], vectors: Vectors, most: int) -> list[System]:
    """Haystack's BM25 and embedding retrievers over its store in memory, and a DocumentJoiner of each of `JOINS`."""
    from haystack import Document
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.retrievers import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents(
        [
            Document(id=chunk.id, content=searched(chunk), embedding=vector)
            for chunk, vector in zip(chunks, vectors.tolist(), strict=True)
        ]
    )
    words = InMemoryBM25Retriever(store, top_k=most)
    meaning = InMemoryEmbeddingRetriever(store, top_k=most)

    @once
    def halves(question: str, vector: Sequence[float]) -> list[list[Document]]:
        by_words = words.run(query=question)["documents"]
        return [by_words, meaning.run(query_embedding=[float(each) for each in vector])["documents"]]

    def joined(mode: str) -> System:
        joiner = DocumentJoiner(join_mode=mode, top_k=most)
        return lambda question, vector: [
            document.id for document in joiner.run(documents=halves(question, vector))["documents"]
        ]

    return [joined(mode) for mode in JOINS]
