"""Ours from a question to its context, and the same as it would be for someone who knows where the evidence is."""

from __future__ import annotations

from collections.abc import Sequence

from ctxassembly import AssemblyConfig, Hit, MemoryIndex, RetrievalConfig
from ctxassembly.evaluate.corpus import Dense, overlap, size, union
from endtoend.system import Known, System
from langchain_ctxassembly import ContextAssembler, ContextRetriever
from quality.data import Question, QuestionSet, Span
from quality.filling import ENCODING, Answer, Case, Fill, whole
from quality.oracle import SENTENCE_WINDOW, oracle_sentences
from quality.ours import answer
from recall.exact import Vectors

POOL, CORPUS = "oracle, pool of ours", "oracle, whole corpus"


class Ours:
    """A `ContextRetriever` at its defaults, but for what it searches."""

    def __init__(self, questions: QuestionSet, vectors: Vectors, embeddings: Known, config: RetrievalConfig) -> None:
        self._questions = questions
        self._meter = questions.corpus.meter
        self._index = MemoryIndex(questions.chunks.values(), vectors.tolist())
        self._retriever = ContextRetriever(self._index, embeddings, config=config)

    def __call__(self, question: Question, vector: Sequence[float]) -> Fill:
        def fill(budget: int) -> Answer:
            self._index.requests.clear()
            config = AssemblyConfig(max_tokens=budget, encoding=ENCODING, fill=True)
            retriever = self._retriever.model_copy(update={"assembler": ContextAssembler(config=config)})
            return answer(retriever.context(question.text), self._questions)

        return fill

    def pooled(self, question: Question) -> float:
        """The share of the evidence that assembly may choose from: the hits and their neighbors."""
        near = (
            whole(chunk).runs[0]
            for hit in self._hits(question)
            for chunk in self._questions.around(hit.chunk, SENTENCE_WINDOW)
        )
        runs = union(self._meter.dense.span(run) for run in near)
        return size(self._meter.found(question.evidence, runs)) / size(_evidence(question, self._meter.dense))

    def oracle(self) -> System:
        """Sentences picked from the same pool."""
        strategy = oracle_sentences(self._questions)
        return lambda question, vector: strategy(Case(question, self._hits(question), self._questions))

    def _hits(self, question: Question) -> tuple[Hit, ...]:
        return self._retriever.retrieve(question.text).hits


def corpus_oracle(questions: QuestionSet) -> System:
    """Sentences picked from all chunks that have evidence."""
    strategy, dense = oracle_sentences(questions), questions.corpus.meter.dense
    spans = {chunk.id: dense.span(whole(chunk).runs[0]) for chunk in questions.chunks.values()}

    def ask(question: Question, vector: Sequence[float]) -> Fill:
        evidence = _evidence(question, dense)
        having = (chunk for chunk in questions.chunks.values() if overlap([spans[chunk.id]], evidence))
        return strategy(Case(question, tuple(map(Hit, having)), questions))

    return ask


def _evidence(question: Question, dense: Dense) -> list[Span]:
    return union(dense.span(span) for span in question.evidence)
