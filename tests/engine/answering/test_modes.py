"""A mode widens a search: never fewer hits, fewer candidates or a stricter floor than the retriever by itself."""

from __future__ import annotations

from typing import Any

import pytest

from chain_parts import Scripted
from ctxassembly import AnswerChain, Chunk, MemoryIndex, RetrievalConfig
from ctxassembly.answering import Answer, AnswerConfig, Mode

LOTS = 200
CHUNKS = [Chunk(f"p#{at}", f"p{at}", f"Parking lot {at} is free.") for at in range(LOTS)]
INDEX = MemoryIndex(CHUNKS, [[1.0, at / 50] for at in range(LOTS)])
QUESTION = "Is parking free?"


def asked(retrieval: RetrievalConfig, mode: str, config: AnswerConfig | None = None, **given: Any) -> Answer:
    made = AnswerChain.from_index(INDEX, Scripted(), retrieval, None, config, embed=lambda _: [1.0, 0.0], **given)
    return made.answer(QUESTION, mode=mode)


def counts(answer: Answer) -> tuple[int, int]:
    """The hits, and the candidates of the vector channel."""
    steps = answer.retrieved["question"].trace.steps
    return len(answer.hits), next(step for step in steps if step.name == "search").chunks_out


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"normal": (20, 80), "full": (20, 80), "escalated": (20, 100)}),
        ({"limit": 7}, {"normal": (7, 28), "full": (15, 50), "escalated": (20, 100)}),
        ({"limit": 30}, {"normal": (30, 120), "full": (30, 120), "escalated": (30, 120)}),
        ({"limit": 7, "candidates": 7}, {"normal": (7, 7), "full": (15, 50), "escalated": (20, 100)}),
    ],
    ids=str,
)
def test_a_mode_never_takes_fewer_hits_or_candidates_than_the_retriever(
    settings: dict[str, Any], expected: dict[str, tuple[int, int]]
) -> None:
    """The rule: a mode never takes fewer hits or fewer candidates than the retriever that it escalates."""
    retrieval = RetrievalConfig(strategy="vector", **settings)
    assert {mode: counts(asked(retrieval, mode)) for mode in expected} == expected


@pytest.mark.parametrize(
    ("own", "of_mode", "floor"),
    [(None, 0.35, None), (0.4, 0.35, 0.35), (0.3, 0.35, 0.3), (0.4, None, 0.4), (None, None, None)],
)
def test_a_mode_never_has_a_stricter_floor_than_the_retriever(own: float | None, of_mode: float | None, floor: Any):
    """The rule: the lower floor; None is no floor."""
    config = AnswerConfig(modes={"normal": Mode(min_similarity=of_mode, candidates=LOTS, limit=LOTS)})
    answer = asked(RetrievalConfig(strategy="vector", min_similarity=own), "normal", config)
    similarities = [1 / (1 + (at / 50) ** 2) ** 0.5 for at in range(LOTS)]
    assert len(answer.hits) == sum(floor is None or similarity >= floor for similarity in similarities)


@pytest.mark.parametrize(("own", "handed"), [(None, 100), (10, 100), (120, 120)])
def test_a_reranker_never_gets_fewer_chunks_than_the_retriever_hands_it(own: int | None, handed: int) -> None:
    """The rule: never fewer candidates. None of `rerank_candidates` hands over all."""
    seen: list[int] = []

    def reranker(query: str, chunks: Any) -> Any:
        seen.append(len(chunks))
        return [(place, 1.0) for place in range(len(chunks))]

    asked(RetrievalConfig(strategy="vector", rerank_candidates=own), "escalated", rerankers=[reranker])
    assert seen == [handed]
