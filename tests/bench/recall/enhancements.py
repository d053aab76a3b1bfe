"""`python -m recall.enhancements FOLDER... --out results/`: evidence with an enhancement of retrieval and without it.

Those that question sets allow: no set has questions or summaries of its chunks, a taxonomy, or conversations.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ctxassembly import AssemblyConfig, Hit, MemoryIndex, RetrievalConfig, assemble, retrieve
from ctxassembly.protocols import Reranker
from ctxassembly.retrieval import Boost, Question
from quality import minilm
from quality.data import QuestionSet
from quality.ours import answer
from recall.command import run_on_sets, sets_parser
from recall.exact import Vectors
from recall.measure import DEPTHS, Row, embedded, measured, table
from recall.rerankers import by_sentence_words
from recall.systems import System

FUSED = RetrievalConfig(rescue="off")
Boosts = Callable[[str], tuple[Boost, ...]]
"""A function from the text of a question to what is known of it."""


def effects(questions: QuestionSet, vectors: Vectors, rerankers: Mapping[str, Reranker]) -> dict[str, System]:
    """Fused retrieval, and the same with one enhancement more or less."""
    chunks = list(questions.chunks.values())
    index = MemoryIndex(chunks, vectors.tolist())
    system = partial(_system, index)
    right, wrong = _documents(questions)
    return {
        "fused": system(FUSED),
        "without content keyword": system(replace(FUSED, strategy="vector")),
        "with rescue": system(RetrievalConfig()),
        "with rescue as published, from 6 letters": system(RetrievalConfig(rescue_min_letters=6)),
        "with a boost of 20 %, its document known": system(FUSED, boosts=right),
        "with a boost of 20 %, another document": system(FUSED, boosts=wrong),
        **{f"with a reranker, {name}": system(FUSED, reranker=one) for name, one in rerankers.items()},
    }


def _system(
    index: MemoryIndex, config: RetrievalConfig, boosts: Boosts = lambda _: (), reranker: Reranker | None = None
) -> System:
    rerankers = [reranker] if reranker else []

    def ask(text: str, vector: Sequence[float]) -> list[str]:
        question = Question(text, boosts=boosts(text))
        found = retrieve(question, config, index=index, embed=lambda _: vector, rerankers=rerankers).chunks
        return [one.chunk.id for one in found]

    return ask


def _documents(questions: QuestionSet) -> tuple[Boosts, Boosts]:
    """A boost for the document that has the evidence, as a classifier without faults knows it; and for the next one."""
    names = list(questions.documents)
    known = {question.text: names.index(question.evidence[0].document_id) for question in questions.questions}

    def boost(further: int, text: str) -> tuple[Boost, ...]:
        name = names[(known[text] + further) % len(names)]
        return (Boost("document", 1.2, {"document_id": name}),)

    return partial(boost, 0), partial(boost, 1)


def assembled(questions: QuestionSet, asked: Vectors, system: System) -> Row:
    """The evidence in the hits' assembly with neighbors, which gets as many tokens as the hits take by themselves."""
    store = MemoryIndex(questions.chunks.values()).with_filter(None)
    found: list[list[float]] = []
    for question, vector in zip(questions.questions, asked, strict=True):
        ids = system(question.text, vector.tolist())
        found.append([])
        for depth in DEPTHS:
            hits = [Hit(questions.chunks[id_]) for id_ in ids[:depth]]
            plain = assemble(hits, AssemblyConfig(window=0, granularity="chunk", max_tokens=100_000))
            budget = max(plain.token_count, 1)
            context = assemble(hits, AssemblyConfig(max_tokens=budget, fill=True), query=question.text, store=store)
            runs = answer(context, questions).runs
            found[-1].append(questions.corpus.meter.recall(question.evidence, runs))
    recall = tuple(float(mean) for mean in np.mean(found, axis=0))
    return Row("with assembly, in as many tokens", recall, 0.0)


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, or 2 with one line that says what is wrong."""
    parser = sets_parser("recall.enhancements", __doc__)
    return run_on_sets(parser, arguments, _tables)


def _tables(sets: Iterable[QuestionSet], args: argparse.Namespace) -> Iterator[str]:
    for questions in sets:
        chunks, asked = embedded(questions, minilm.embed, args.out / "vectors")
        rerankers = {"words of the best sentence": by_sentence_words(questions)}
        systems = effects(questions, chunks, rerankers)
        rows = [*measured(questions, asked, systems), assembled(questions, asked, systems["fused"])]
        yield f"{table(questions.name, rows)}\n"


if __name__ == "__main__":
    sys.exit(main())
