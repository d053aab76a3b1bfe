"""The hospital of the notebook: what its text says of it, and each step that it shows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ctxassembly import RetrievalConfig, Retrieved, retrieve
from ctxassembly.retrieval import Question
from tour.hospital import embed, hospital_index, hospital_taxonomy

QUESTION = "Welke arts behandelt epilepsie bij kinderen?"
INDEX, TAXONOMY = hospital_index(), hospital_taxonomy()


def asked(question: str | Question, config: RetrievalConfig | None = None) -> Retrieved:
    config = config or RetrievalConfig(limit=7)
    return retrieve(question, config, index=INDEX, embed=embed, taxonomy=TAXONOMY)


def ids(retrieved: Retrieved) -> Sequence[str]:
    return [found.chunk.id for found in retrieved.chunks]


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("huidarts", ("Dermatologie",)),
        ("suikerziekte", ("Diabetes Mellitus", "Endocrinologie")),
        ("hartfilmpje", ("ECG", "Cardiologie")),
        ("oogarts", ("Oftalmologie",)),
        ("scan", ("Radiologie",)),
        ("hartfalen", ("Cardiologie",)),
        (QUESTION, ("Kinderneurologie",)),
    ],
)
def test_what_people_say_is_resolved(said: str, names: tuple[str, ...]) -> None:
    assert TAXONOMY.resolve(said).names == names


def test_28_candidates_by_vectors_become_7_hits_with_the_doctors_first() -> None:
    retrieved = asked(QUESTION)
    assert RetrievalConfig(limit=7).candidates_per_channel == 28
    assert ids(retrieved)[:3] == [
        "artsenlijst:kinderneuroloog A",
        "artsenlijst:kinderneuroloog B",
        "epilepsie-kinderen#1",
    ]
    assert len(retrieved.chunks) == 7
