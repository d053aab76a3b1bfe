"""`scorer=`: sentences that answer in other words, what is asked for, what a failure costs, and what is told of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from leaflet import ANSWER, LEAFLET, QUERY

from builders import count
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, InputError, StoreError, aassemble, assemble

PARTS = ("heart", "liver", "stomach", "knee", "ear")
HITS = [
    Hit(Chunk("leaflet", "leaflet", LEAFLET)),
    *(Hit(Chunk(part, part, f"The {part} ward is on floor {part}. Lunch is in hall {part}.")) for part in PARTS),
]
CONFIG = AssemblyConfig(max_tokens=24, format="minimal", granularity="sentence")


class Fluids:
    """A scorer that knows what the question is about, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, query: str, sentences: list[str]) -> list[float]:
        assert query == QUERY
        self.asked.append(sentences)
        return [1.0 if "Fluids" in each else 0.0 for each in sentences]


def context(scorer: Any, config: AssemblyConfig = CONFIG, hits: list[Hit] = HITS, **options: Any) -> Context:
    return assemble(hits, config, query=QUERY, scorer=scorer, **options)


def test_a_sentence_without_a_word_of_the_query_gets_in_because_of_the_scorer():
    assert ANSWER not in context(None).text
    assert ANSWER in context(Fluids()).text


@pytest.mark.parametrize("granularity", ["auto", "sentence", "chunk", "passage"])
@pytest.mark.parametrize("most", [16, 20, 30])
def test_whole_chunks_and_passages_are_chosen_by_it_too_and_the_budget_holds(granularity: Any, most: int):
    config = AssemblyConfig(max_tokens=most, format="minimal", granularity=granularity)
    hits = [*HITS[1:3], Hit(Chunk("last", "last", ANSWER))]  # none has a word of the query
    found = context(Fluids(), config, hits)
    assert count(found.text) == found.token_count <= most
    assert ANSWER in found.text
    assert ANSWER not in context(None, config, hits).text


async def test_sync_and_async_give_the_same():
    async def asynchronous(query: str, sentences: list[str]) -> list[float]:
        return Fluids()(query, sentences)

    one = context(Fluids())
    for scorer in (Fluids(), asynchronous):
        assert await aassemble(HITS, CONFIG, query=QUERY, scorer=scorer) == one
    with pytest.raises(InputError, match=r"scorer can only be awaited: it needs aassemble\(\)"):
        context(asynchronous)


def test_it_is_asked_once_and_again_only_for_what_is_new():
    scorer = Fluids()
    first = context(scorer)
    assert len(scorer.asked) == 1
    assert len(scorer.asked[0]) == len(set(scorer.asked[0])) == 16
    assert context(scorer) == first
    assert len(scorer.asked) == 1
    more = [*HITS, Hit(Chunk("new", "new", "The examination is on Monday."))]
    context(scorer, hits=more)
    assert scorer.asked[1:] == [["The examination is on Monday."]]


@pytest.mark.parametrize(
    ("config", "query"),
    [
        (AssemblyConfig(max_tokens=8_000), QUERY),  # everything fits
        (CONFIG, None),
        (CONFIG, "  "),
        (AssemblyConfig(max_tokens=24, granularity="chunk", rank_by="rank"), QUERY),
        (AssemblyConfig(max_tokens=24, enabled=False), QUERY),
    ],
)
def test_it_is_not_asked_where_no_query_chooses(config: AssemblyConfig, query: str | None):
    scorer = Fluids()
    with_it = assemble(HITS, config, query=query, scorer=scorer)
    assert with_it == assemble(HITS, config, query=query)
    assert not scorer.asked
    assert "score" not in {stage.name for stage in with_it.trace.stages}
    assert not assemble([], config, query=query, scorer=scorer).text


def test_a_hits_own_vector_is_used_where_it_is_a_sentence():
    class Model:
        def __init__(self) -> None:
            self.asked: list[str] = []

        def embed_query(self, text: str) -> list[float]:
            return [1.0, 0.0]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            self.asked += texts
            return [[0.0, 1.0] for _ in texts]

    whole = [Hit(Chunk("own", "own", f" {ANSWER}\n", vector=[2.0, 0.0])), *HITS[1:]]
    model = Model()
    found = context(model, hits=whole)
    assert ANSWER in found.text
    assert ANSWER not in model.asked
    (stage,) = [each for each in found.trace.stages if each.name == "score"]
    assert stage.counts == {"sentences": 11, "asked": 10}


def raising(query: str, sentences: list[str]) -> list[float]:
    raise ConnectionError("no route")


FAULTS: list[tuple[Callable[..., Any], str]] = [
    (raising, "ConnectionError: no route"),
    (lambda query, sentences: [1.0], "InputError: the scorer must return one score for each of 16 texts, got [1.0]"),
    (lambda query, sentences: ["high" for _ in sentences], "InputError: the scorer must return numbers, got 'high'"),
    (lambda query, sentences: None, "InputError: the scorer must return one score for each of 16 texts, got None"),
]


@pytest.mark.parametrize(("scorer", "why"), FAULTS)
async def test_a_scorer_that_fails_costs_nothing_but_its_scores(scorer: Callable[..., Any], why: str):
    without = context(None)
    for found in (context(scorer), await aassemble(HITS, CONFIG, query=QUERY, scorer=scorer)):
        assert found.text == without.text
        assert found.trace.decisions == without.trace.decisions
        assert found.trace.notes == (f"scorer: no scores ({why}), chosen by words alone",)
    strict = AssemblyConfig(max_tokens=24, granularity="sentence", on_store_error="raise")
    with pytest.raises(StoreError, match="sentences could not be scored: ") as raised:
        context(scorer, strict)
    assert raised.value.__cause__ is not None


def test_what_is_no_scorer_is_an_error_before_anything_is_asked():
    with pytest.raises(InputError, match="scorer must be a model with embed_query"):
        context("all-MiniLM-L6-v2")
