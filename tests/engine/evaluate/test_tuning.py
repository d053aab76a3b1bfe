from __future__ import annotations

import gc
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, InputError, MemoryIndex, RetrievalConfig, StoreError
from ctxassembly.evaluate import Evidence, LabeledQuestion, tune
from ctxassembly.evaluate.statistics import Estimate
from ctxassembly.evaluate.tuning import Score, _is_better, choose
from ctxassembly.retrieved import Retrieved

NUMBERS = range(24)
CHUNKS = [
    Chunk(f"value{n}", f"value{n}", f"value{n} is measured at {n} hours. " + "Nothing else is known of it. " * 40)
    for n in NUMBERS
]
ASKED = [LabeledQuestion(f"When is value{n} measured?", (Evidence(f"value{n}"),)) for n in NUMBERS]
KEYWORD = RetrievalConfig(strategy="keyword")
SMALL = AssemblyConfig(max_tokens=400, granularity="chunk")


def opposite(text: str) -> Any:
    """The vector of another chunk than the words name."""
    number = int(text.split("value")[1].split(maxsplit=1)[0])
    return one_hot((number + 5) % len(NUMBERS))


def own_vector(text: str) -> Any:
    """The vector of the chunk that the words name."""
    return one_hot(int(text.split("value")[1].split(maxsplit=1)[0]))


def one_hot(number: int) -> list[float]:
    return [float(at == number) for at in NUMBERS]


HYBRID = MemoryIndex(CHUNKS, [one_hot(n) for n in NUMBERS])


def test_a_weight_that_is_wrong_is_fitted_and_confirmed():
    """Vectors that mislead: with their weight the evidence isn't the one hit."""
    config = RetrievalConfig(limit=1, keyword_weight=0.0, rescue="off")
    tuned = tune(ASKED, index=HYBRID, embed=opposite, retrieval=config, assembly=SMALL)
    assert tuned.is_better
    assert tuned.retrieval.keyword_weight > 0.3
    recall = tuned.gains[0]
    assert (recall.measure, recall.before, recall.after) == ("recall", 0.0, 1.0)
    assert recall.difference.low > 0
    assert tuned.fitted["keyword_weight"] == (0.0, tuned.retrieval.keyword_weight)
    assert str(tuned).endswith("The fitted settings are better.")


def test_where_words_mislead_vectors_weigh_more():
    """A chunk that has all words of each question answers none."""
    noise = Chunk("noise", "noise", " ".join(question.text for question in ASKED))
    index = MemoryIndex([*CHUNKS, noise], [*map(one_hot, NUMBERS), [-1.0] * len(NUMBERS)])
    config = RetrievalConfig(limit=1, keyword_weight=1.0, rescue="off")
    tuned = tune(ASKED, index=index, embed=own_vector, retrieval=config, assembly=SMALL)
    assert tuned.retrieval.keyword_weight < 0.9
    assert tuned.gains[0].after == 1.0


@pytest.mark.parametrize("weight", [0.33, 0.6])
def test_ties_stay_at_the_present_weight(weight: float):
    config = RetrievalConfig(limit=3, keyword_weight=weight)
    assert tune(ASKED, index=HYBRID, embed=own_vector, retrieval=config).retrieval.keyword_weight == weight


def test_a_channel_that_fails_is_an_error():
    def broken(_: str) -> Any:
        raise OSError("gone")

    with pytest.raises(StoreError, match="the vector channel failed: OSError: gone"):
        tune(ASKED, index=HYBRID, embed=broken)


def test_the_fitted_settings_bear_failures_as_yours_do():
    config = RetrievalConfig(limit=1, keyword_weight=0.0, rescue="off")
    tuned = tune(ASKED, index=HYBRID, embed=opposite, retrieval=config, assembly=SMALL)
    assert tuned.is_better
    assert tuned.retrieval.on_search_error == config.on_search_error


def test_no_setting_is_better_than_the_defaults():
    """Each context has its one chunk, which has the evidence."""
    config = RetrievalConfig(limit=1, strategy="keyword", rescue="off")
    documents = [Chunk(f"value{n}", f"value{n}", f"value{n} is measured at {n} hours.") for n in NUMBERS]
    tuned = tune(ASKED, index=MemoryIndex(documents), retrieval=config)
    assert not tuned.is_better
    assert (tuned.retrieval, tuned.assembly) == (config, AssemblyConfig())
    assert str(tuned).splitlines() == [
        "12 questions to fit, 12 to test (seed 20)",
        "No setting is better than yours on your data.",
    ]


def test_a_fit_that_the_other_half_does_not_confirm_is_not_used():
    """By chance the first half finds its evidence in the first hit, so a quarter of the budget is enough there."""
    lucky = {question.text for question in _halves(ASKED)[0]}

    def retriever(query: str) -> list[Hit]:
        own = int(query.split("value")[1].split(maxsplit=1)[0])
        places = (own, own + 1, own + 2) if query in lucky else (own + 1, own + 2, own)
        return [Hit(CHUNKS[place % len(CHUNKS)]) for place in places]

    config = AssemblyConfig(max_tokens=1_000, granularity="chunk", rank_by="rank")
    tuned = tune(ASKED, retriever=retriever, assembly=config)
    assert tuned.fitted["max_tokens"] == (1_000, 250)
    assert tuned.gains[0].difference.mean == -1.0
    assert not tuned.is_better
    assert tuned.assembly == config
    assert str(tuned).endswith("No setting is better than yours on your data.")


def _halves(questions: list[LabeledQuestion]) -> tuple[list[LabeledQuestion], list[LabeledQuestion]]:
    shuffled = list(questions)
    random.Random(20).shuffle(shuffled)
    return shuffled[: len(shuffled) // 2], shuffled[len(shuffled) // 2 :]


def test_the_budget_is_never_raised():
    tuned = tune(ASKED, index=MemoryIndex(CHUNKS), retrieval=KEYWORD, assembly=SMALL)
    assert tuned.assembly.token_limit <= 400


def test_the_split_follows_from_the_seed():
    first, second, other = (
        tune(ASKED, index=MemoryIndex(CHUNKS), retrieval=KEYWORD, assembly=SMALL, seed=seed) for seed in (1, 1, 2)
    )
    assert first == second
    assert str(other).startswith("12 questions to fit, 12 to test (seed 2)")


def test_filters_hold():
    """A question under a filter finds nothing else, whatever is tried."""
    seen: list[str] = []
    tenants = [replace(chunk, metadata={"tenant": "odd" if n % 2 else "even"}) for n, chunk in enumerate(CHUNKS)]

    def watched(query: str, chunks: Any) -> Any:
        seen.extend(chunk.metadata["tenant"] for chunk in chunks)
        return [(place, None) for place in range(len(chunks))]

    asked = [replace(question, filter={"tenant": "odd"}) for question in ASKED[1::2]]
    tune(asked, index=MemoryIndex(tenants), retrieval=KEYWORD, rerankers=[watched])
    assert set(seen) == {"odd"}


def test_each_search_is_made_once():
    asked: list[str] = []

    def retriever(query: str) -> list[Hit]:
        asked.append(query)
        return [Hit(chunk) for chunk in CHUNKS[:3]]

    tune(ASKED, retriever=retriever)
    assert len(asked) == len(set(asked))


def test_of_a_search_the_hits_alone_are_kept():
    """Not its candidates and its trace, which for a thousand questions take gigabytes."""
    alive: list[int] = []

    def counting(query: str, chunks: Any) -> Any:
        alive.append(sum(type(one) is Retrieved for one in gc.get_objects()))
        return [(place, None) for place in range(len(chunks))]

    gc.collect()
    gc.freeze()  # what was there before isn't looked through
    tune(ASKED, index=MemoryIndex(CHUNKS), retrieval=KEYWORD, assembly=SMALL, rerankers=[counting])
    gc.unfreeze()
    assert max(alive) <= 2


@pytest.mark.parametrize(
    ("options", "goal", "chosen"),
    [
        ([[(0.5, 100, 0)] * 4, [(1.0, 900, 0)] * 4], "recall", 1),
        ([[(1.0, 900, 0)] * 4, [(1.0, 100, 0)] * 4], "recall", 1),
        ([[(1.0, 900, 0)] * 4, [(1.0, 850, 0)] * 4], "recall", 0),
        ([[(1.0, 900, 0)] * 4, [(0.9, 100, 0)] * 4], "recall", 0),
        ([[(1.0, 900, 0)] * 4, [(1.0, 100, 0)] * 3 + [(0.9, 100, 0)]], "recall", 1),
        ([[(1.0, 900, 1.0)] * 4, [(1.0, 100, 0.0)] * 4, [(1.0, 500, 1.0)] * 4], "recall", 2),
        ([[(1.0, 900, 0.5)] * 4, [(1.0, 900, 0.9)] * 4], "early", 1),
        ([[(1.0, 900, 0.5)] * 4, [(1.0, 100, 0.5)] * 4], "early", 0),
    ],
    ids=[
        "more recall",
        "fewer tokens",
        "not many fewer",
        "less recall",
        "within one error",
        "not later",
        "earlier",
        "as early",
    ],
)
def test_the_choice(options: Any, goal: Any, chosen: int):
    """Of the settings within one standard error of the highest recall, the one with the fewest tokens."""
    assert choose([np.array([Score(*row) for row in rows]) for rows in options], goal) == chosen


@pytest.mark.parametrize(
    ("recall", "tokens", "early", "better"),
    [
        ((0.1, 0.01, 0.2), (500, 400, 600), (-0.5, -0.6, -0.4), True),
        ((0.0, 0.0, 0.0), (-500, -600, -400), (0.0, 0.0, 0.0), True),
        ((0.0, 0.0, 0.0), (-500, -600, -400), (-0.2, -0.5, 0.0), False),
        ((-0.02, -0.1, 0.0), (-500, -600, -400), (0.0, 0.0, 0.0), False),
        ((0.0, 0.0, 0.0), (-500, -1_000, 10), (0.0, 0.0, 0.0), False),
        ((0.0, 0.0, 0.0), (0, 0, 0), (0.2, 0.1, 0.3), True),
        ((0.05, 0.0, 0.1), (0, 0, 0), (0.0, 0.0, 0.0), False),
    ],
    ids=["more", "shorter", "shorter and later", "shorter and less", "maybe shorter", "earlier", "maybe more"],
)
def test_the_verdict(recall: Any, tokens: Any, early: Any, better: bool):
    gains = {"recall": Estimate(*recall), "tokens": Estimate(*tokens), "early": Estimate(*early)}
    assert _is_better(gains) is better


def test_wrong_arguments():
    with pytest.raises(InputError, match="tune needs at least 4 questions with evidence, got 1"):
        tune([ASKED[0], LabeledQuestion("Anything?")], index=HYBRID)
    with pytest.raises(InputError, match="give an index, or a retriever in its place"):
        tune(ASKED)
