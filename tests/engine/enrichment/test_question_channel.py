"""Questions as vectors of their own, a channel in the fusion: HyPE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ctxassembly import Chunk, Hit, MemoryIndex, RetrievalConfig, retrieve
from ctxassembly.enrichment import enrich, question_channel, question_chunks

LAB = Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0, metadata={"ward": 1})
IRON = Chunk("iron#0", "iron", "Dose: one tablet a day.", 0, metadata={"ward": 2})
PARK = Chunk("park#0", "park", "The garage is open day and night.", 0, metadata={"ward": 1})
ASKED = {"lab#0": ["When do you test my iron?", "Which blood test is it?"], "iron#0": ["How much iron may I take?"]}
MEANINGS = {
    ASKED["lab#0"][0]: [1.0, 0.1, 0.0],
    ASKED["lab#0"][1]: [0.0, 1.0, 0.0],
    ASKED["iron#0"][0]: [0.5, 0.0, 1.0],
    "iron?": [1.0, 0.0, 0.0],
    LAB.text: [0.5, 1.0, 0.0],
    IRON.text: [0.1, 0.0, 1.0],
    PARK.text: [0.6, 0.0, 0.8],
}


def embed(text: str) -> list[float]:
    return MEANINGS[text]


def with_questions(*chunks: Chunk) -> list[Chunk]:
    return [
        Chunk(
            one.id, one.document_id, one.text, one.index, metadata={**one.metadata, "asked": {"q": ASKED.get(one.id)}}
        )
        for one in chunks
    ]


def index_of(chunks: Sequence[Chunk]) -> MemoryIndex:
    return MemoryIndex(chunks, [embed(one.text) for one in chunks])


CHUNKS = with_questions(LAB, IRON, PARK)
INDEX = index_of(CHUNKS)
QUESTIONS = index_of(list(question_chunks(CHUNKS, "asked.q")))
CHANNEL = {"questions": question_channel(QUESTIONS, INDEX, embed)}


def ids(query: str = "iron?", **arguments: Any) -> list[str]:
    found = retrieve(query, RetrievalConfig(rescue="off"), index=INDEX, embed=embed, **arguments)
    return [hit.chunk.id for hit in found.hits]


def test_a_chunk_is_found_by_a_question_that_its_text_is_far_from():
    """Published: questions embedded as vectors of their own are a channel in the fusion."""
    assert ids()[0] == "park#0"
    assert ids(channels=CHANNEL)[0] == "lab#0"


def test_a_chunk_counts_by_its_best_question():
    found = retrieve("iron?", index=INDEX, embed=embed, channels=CHANNEL)
    assert {one.chunk.id: one.ranks.get("questions") for one in found.chunks} == {
        "lab#0": 0,
        "iron#0": 1,
        "park#0": None,
    }
    assert found.trace.queries["questions"] == "iron?"
    assert [hit.score for hit in CHANNEL["questions"]("iron?", 2, None)] == pytest.approx([0.995, 0.447], abs=0.001)


def test_the_filter_of_the_call_holds_for_questions():
    assert ids(channels=CHANNEL, filter={"ward": 2}) == ["iron#0"]


def test_a_chunk_that_may_no_longer_be_read_is_not_found_by_an_old_question():
    moved = index_of([Chunk("lab#0", "lab", LAB.text, 0, metadata={"ward": 3}), *CHUNKS[1:]])
    assert [hit.chunk.id for hit in question_channel(QUESTIONS, moved, embed)("iron?", 9, {"ward": 1})] == []


def test_what_keyword_weight_leaves_goes_to_vectors_and_questions_in_equal_parts():
    channels: Any = {
        "vector": lambda *_: [Hit(LAB, 1.0), Hit(IRON, 0.5)],
        "keyword": lambda *_: [Hit(IRON, 1.0)],
        "questions": lambda *_: [Hit(IRON, 1.0), Hit(LAB, 0.5)],
    }
    config = RetrievalConfig(keyword_weight=0.6, adjacency=0.0)
    fused = retrieve("iron?", config, channels=channels, embed=embed).chunks
    assert {one.chunk.id: round(one.score, 3) for one in fused} == {"iron#0": 1.0, "lab#0": round(0.3 / 0.9, 3)}


def test_questions_that_a_model_noted_are_embedded_as_they_are_stored():
    index = index_of([LAB, PARK])

    def model(request: Any) -> str:
        questions = ASKED["lab#0"] if "Ferritin" in request.messages[-1]["content"] else []
        return str({"chunks": [{"chunk": 1, "questions": questions}]}).replace("'", '"')

    enrich(index, model, progress=False)
    assert [(one.id, one.text) for one in question_chunks(index)] == [
        (f"lab#0?{number}", text) for number, text in enumerate(ASKED["lab#0"])
    ]
