"""Who assembles: ours, the straightforward reference, and the peers of the quality benchmark that need no model.

All get the same hits. What a peer keeps between questions (its store, its nodes) is made beforehand and not measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from quality import haystack_peers
from quality.data import Document, Question, QuestionSet
from quality.filling import Case, Strategy
from quality.strategies import STRATEGIES
from reference import assemble_reference
from scenario import Scenario
from speed.variants import OURS, QUERY, REFERENCE, Run, Variant

PEERS = ("langchain-reorder", "llamaindex-prev-next", "haystack-window", "haystack-middle")


class Contestant(NamedTuple):
    prepare: Callable[[Scenario], Run]
    """From a scenario to what is measured."""
    warm: Mapping[str, Callable[[Scenario], Run]] = MappingProxyType({})
    """The same for those that are faster after it, because what was seen of the texts is remembered; by name."""


def contestants(ways: int | None = None) -> dict[str, Contestant]:
    """All by name, the reference first, without the peers that aren't installed; with so many of their warm `ways`."""
    found = {REFERENCE: Contestant(_reference)}
    for name, variant in OURS.items():
        found[name] = Contestant(_ours(variant), dict(islice(variant.warm.items(), ways)))
    found |= {name: Contestant(_peer(name)) for name in PEERS if STRATEGIES[name].missing is None}
    return found


def _reference(case: Scenario) -> Run:
    return lambda budget: assemble_reference(case.hits, case.store.chunks, budget)


def _ours(variant: Variant) -> Callable[[Scenario], Run]:
    return lambda case: partial(variant.run, case)


def _peer(name: str) -> Callable[[Scenario], Run]:
    def prepare(case: Scenario) -> Run:
        questions, asked = question_set(case)
        strategy: Strategy
        if name == "haystack-window":
            # Its store is filled beforehand, as LlamaIndex' is.
            strategy = haystack_peers.windows(questions, haystack_peers.store_around(questions, asked.hits))
        else:
            strategy = STRATEGIES[name].make(questions)

        def run(budget: int) -> object:
            return strategy(asked)(budget)

        return run

    return prepare


def question_set(case: Scenario) -> tuple[QuestionSet, Case]:
    """The scenario as the quality benchmark has it: chunks with offsets, which some peers can't do without."""
    chunks = {chunk.id: replace(chunk, start=case.starts[chunk.id]) for chunk in case.store.chunks.values()}
    documents = {chunk.document_id: Document(chunk.document_id, "", "") for chunk in chunks.values()}
    hits = tuple(replace(hit, chunk=chunks[hit.chunk.id]) for hit in case.hits)
    question = Question("speed", QUERY, (), hits)
    questions = QuestionSet("speed", documents, chunks, (question,), "")
    return questions, Case(question, hits, questions)
