"""`scorer=` with a real model: an answer that shares no word with its question."""

from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from ctxassembly.stores.sentence_transformers import SentenceTransformerEmbeddings

pytestmark = pytest.mark.semantic

QUERY = "How much does parking cost?"
ANSWER = "Leaving your car in the garage is two euros an hour."
LEAFLET = (
    "Tell the nurse how much you weigh and how much you smoke. We ask how much pain you have. "
    f"{ANSWER} Bring your card. Towels are in your room. Lunch is in the hall."
)
WARDS = [f"The {part} ward is on floor {part}. Lunch is in hall {part}." for part in ("heart", "liver", "knee", "ear")]
HITS = [Hit(Chunk(f"c{at}", f"c{at}", text)) for at, text in enumerate((LEAFLET, *WARDS))]
CONFIG = AssemblyConfig(max_tokens=24, format="minimal")


@pytest.mark.parametrize("wrapped", [False, True], ids=["the model itself", "SentenceTransformerEmbeddings"])
def test_a_real_model_finds_what_words_miss(model: Any, wrapped: bool) -> None:
    scorer = SentenceTransformerEmbeddings(model) if wrapped else model
    assert ANSWER not in assemble(HITS, CONFIG, query=QUERY).text
    found = assemble(HITS, CONFIG, query=QUERY, scorer=scorer)
    assert ANSWER in found.text
    assert not found.trace.notes
    again = assemble(HITS, CONFIG, query=QUERY, scorer=scorer)
    assert again == found
    assert [stage.counts["asked"] for stage in again.trace.stages if stage.name == "score"] == [0]
