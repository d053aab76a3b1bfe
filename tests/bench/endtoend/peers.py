"""Peers from a question to its context: what each library retrieves, assembled as the same library does.

None of them knows a budget in tokens: whole pieces in their order, until the next one wouldn't fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ctxassembly import Hit
from endtoend.parents import auto_merging, parent_documents
from endtoend.system import Known, System
from quality import baselines, haystack_peers, langchain_peers, llamaindex_peers
from quality.data import Question, QuestionSet
from quality.filling import Case, Fill, Strategy
from recall.exact import Vectors, by_vectors, by_words, once
from recall.peers import peers
from recall.systems import System as Retrieval
from recall.systems import without_scores

HITS = (5, 10, 20, 40)
"""Chunks that each is tried with."""


class Chain(NamedTuple):
    """A retrieval and the assembly behind it."""

    retrieval: str
    """All hybrids of `recall.peers` whose name begins so, or one of `_ALONE`."""
    assembly: str


_ALONE = ("vectors", "exact BM25")
_STUFFED = "stuffed"
CHAINS: Mapping[str, Chain] = {
    "vectors, stuffed": Chain("vectors", _STUFFED),
    "exact BM25, stuffed": Chain("exact BM25", _STUFFED),
    "langchain-postgres, hybrid, stuffed": Chain("langchain-postgres, ", _STUFFED),
    "LangChain, EnsembleRetriever, stuffed": Chain("LangChain, ", _STUFFED),
    "LangChain, EnsembleRetriever, redundant filter, reordered": Chain("LangChain, ", "filtered, reordered"),
    "LlamaIndex, QueryFusionRetriever, stuffed": Chain("LlamaIndex, ", _STUFFED),
    "LlamaIndex, QueryFusionRetriever, PrevNextNodePostprocessor": Chain("LlamaIndex, ", "previous and next"),
    "Haystack, DocumentJoiner, stuffed": Chain("Haystack, ", _STUFFED),
    "Haystack, DocumentJoiner, SentenceWindowRetriever": Chain("Haystack, ", "window"),
}
PARENTS, MERGING = "LangChain, ParentDocumentRetriever, stuffed", "LlamaIndex, AutoMergingRetriever, stuffed"
PEERS = (*CHAINS, PARENTS, MERGING)


def variants(questions: QuestionSet, vectors: Vectors, embeddings: Known) -> Iterator[list[tuple[str, System]]]:
    """For each number of chunks the peers by name, with each fusion that they have; a PostgreSQL runs meanwhile."""
    chunks = list(questions.chunks.values())
    assemblies = {
        _STUFFED: baselines.concatenation(questions),
        "filtered, reordered": langchain_peers.filtered(embeddings),
        "previous and next": llamaindex_peers.prev_next(questions),
        "window": haystack_peers.sentence_window(questions),
    }
    for most in HITS:
        alone = zip(_ALONE, (by_vectors(chunks, vectors, most), by_words(chunks, most)), strict=True)
        with peers(questions, vectors, most) as hybrids:
            retrievals = {**{name: without_scores(scorer) for name, scorer in alone}, **hybrids}
            shared = {name: once(retrieval) for name, retrieval in retrievals.items()}
            yield [
                *(
                    (name, _chained(questions, shared[retrieval], assemblies[chain.assembly]))
                    for name, chain in CHAINS.items()
                    for retrieval in shared
                    if retrieval.startswith(chain.retrieval)
                ),
                (PARENTS, parent_documents(questions, embeddings, most)),
                (MERGING, auto_merging(questions, vectors, most)),
            ]


def _chained(questions: QuestionSet, retrieval: Retrieval, assembly: Strategy) -> System:
    def ask(question: Question, vector: Sequence[float]) -> Fill:
        hits = tuple(Hit(questions.chunks[id_]) for id_ in retrieval(question.text, vector))
        return assembly(Case(question, hits, questions))

    return ask
