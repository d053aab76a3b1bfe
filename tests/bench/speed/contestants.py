"""Who assembles: ours by what it knows, the straightforward reference, and the peers that need no model.

All get the same hits. What a peer keeps between questions (its store, its nodes) is made beforehand and not measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple, Protocol

from quality import haystack_peers
from quality.data import Document, Question, QuestionSet
from quality.filling import Case, Strategy
from quality.strategies import STRATEGIES
from reference import assemble_reference
from scenario import BUDGET, Scenario
from speed.variants import OURS, REFERENCE, anew, other

PEERS = ("langchain-reorder", "llamaindex-prev-next", "haystack-window", "haystack-middle")
STATES = COLD, ASKED, NO_QUERY = "cold", "another question", "no query"
"""Ours, in this order: the chunks of the second were seen by the first; the last one is cold, too."""


class Written(Protocol):
    @property
    def text(self) -> str: ...


Run = Callable[[int | None], Written]
"""What is measured, by the budget; None is the default of ours, and for others the most that it can be."""


class Contestant(NamedTuple):
    prepare: Callable[[Scenario], Run]
    """From a scenario to what is measured."""
    is_cold: bool = False
    """It forgets all that was seen of texts before it runs."""
    is_ours: bool = False
    """It is prepared again for each run, since its chunks come as new objects each time, as a database returns them."""


def contestants() -> dict[str, Contestant]:
    """All by name in the order of their turns, without the peers that aren't installed."""
    asking = OURS["query"].run
    return {
        COLD: Contestant(lambda case: partial(asking, anew(case)), is_cold=True, is_ours=True),
        ASKED: Contestant(lambda case: partial(asking, other(anew(case))), is_ours=True),
        NO_QUERY: Contestant(lambda case: partial(OURS["default"].run, anew(case)), is_cold=True, is_ours=True),
        REFERENCE: Contestant(_reference),
        **{name: Contestant(_peer(name)) for name in PEERS if STRATEGIES[name].missing is None},
    }


def _reference(case: Scenario) -> Run:
    return lambda budget: assemble_reference(case.hits, case.store.chunks, budget or BUDGET)


def _peer(name: str) -> Callable[[Scenario], Run]:
    def prepare(case: Scenario) -> Run:
        questions, asked = question_set(case)
        strategy: Strategy
        if name == "haystack-window":
            # Its store is filled beforehand, as LlamaIndex' is.
            strategy = haystack_peers.windows(questions, haystack_peers.store_around(questions, asked.hits))
        else:
            strategy = STRATEGIES[name].make(questions)

        def run(budget: int | None) -> Written:
            return strategy(asked)(budget or BUDGET)

        return run

    return prepare


def question_set(case: Scenario) -> tuple[QuestionSet, Case]:
    """The scenario as the quality benchmark has it: chunks with offsets, which some peers can't do without."""
    chunks = {chunk.id: replace(chunk, start=case.starts[chunk.id]) for chunk in case.store.chunks.values()}
    documents = {chunk.document_id: Document(chunk.document_id, "", "") for chunk in chunks.values()}
    hits = tuple(replace(hit, chunk=chunks[hit.chunk.id]) for hit in case.hits)
    question = Question("speed", case.query, (), hits)
    questions = QuestionSet("speed", documents, chunks, (question,), "")
    return questions, Case(question, hits, questions)
