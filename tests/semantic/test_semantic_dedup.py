"""dedup="semantic" with a real model. The cosines are all-MiniLM-L6-v2's, as measured."""

from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from ctxassembly.stores.sentence_transformers import SentenceTransformerEmbeddings

pytestmark = pytest.mark.semantic

TEXTS = {
    "fast": "Do not eat anything for six hours before the gastroscopy.",
    "water": "You may drink water until two hours before the gastroscopy.",
    "after": "After the gastroscopy your throat stays numb for about an hour.",
    "fee": "The first half hour in the car park is free, after that an hour costs two euros.",
    "entrance": "The car park is open day and night, its entrance is in Mill Street.",
}
"""Different facts: no two have more than 0.80."""
FAST_TOO = "Please do not eat any food during the six hours before your gastroscopy."
"""0.956 with "fast"."""
FEE_TOO = "Parking is free for the first half hour and costs two euros for each hour after that."
"""0.876 with "fee"."""


@pytest.fixture(scope="module")
def embeddings(model: Any) -> SentenceTransformerEmbeddings:
    return SentenceTransformerEmbeddings(model)


def hits(**texts: str) -> list[Hit]:
    """One document each, best first."""
    return [Hit(Chunk(name, name, text, index=0)) for name, text in texts.items()]


@pytest.mark.parametrize(
    ("threshold", "collapsed"),
    [(0.97, {}), (0.92, {"fast too": "fast"}), (0.85, {"fast too": "fast", "fee too": "fee"})],
)
def test_a_paraphrase_collapses_onto_the_better_ranked_and_other_facts_stay(
    embeddings: SentenceTransformerEmbeddings, threshold: float, collapsed: dict[str, str]
) -> None:
    config = AssemblyConfig(dedup="semantic", semantic_threshold=threshold)
    found = hits(**TEXTS, **{"fast too": FAST_TOO, "fee too": FEE_TOO})
    context = assemble(found, config, embeddings=embeddings)
    duplicates = [each for each in context.trace.decisions if each.outcome == "duplicate"]
    assert {each.chunk_id: each.because_of for each in duplicates} == collapsed
    assert {hit.chunk.id for hit in found} - {each.document_id for each in context.citations} == set(collapsed)


@pytest.mark.parametrize(
    ("fact", "other"),
    [
        (TEXTS["fast"], "Do not eat anything for eight hours before the gastroscopy."),
        (TEXTS["fee"], "The first half hour in the car park is free, after that an hour costs three euros."),
    ],
)
def test_a_changed_number_is_nearer_than_a_paraphrase_and_kept(
    embeddings: SentenceTransformerEmbeddings, fact: str, other: str
) -> None:
    """0.965 and 0.985: no threshold separates these from paraphrases, the numbers do."""
    context = assemble(hits(fact=fact, other=other), AssemblyConfig(dedup="semantic"), embeddings=embeddings)
    assert len(context.citations) == 2
