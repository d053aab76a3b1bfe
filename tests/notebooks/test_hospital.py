"""The hospital of the notebook: what its text says of it, and each step that it shows."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ctxassembly import RetrievalConfig, Retrieved, retrieve
from ctxassembly.retrieval import Boost, Question
from tour.hospital import BROCHURES, CONDITIONS, DEPARTMENTS, chunks, embed, hospital_index, hospital_taxonomy

QUESTION = "Welke arts behandelt epilepsie bij kinderen?"
INDEX, TAXONOMY = hospital_index(), hospital_taxonomy()


def asked(question: str | Question, config: RetrievalConfig | None = None) -> Retrieved:
    config = config or RetrievalConfig(limit=7)
    return retrieve(question, config, index=INDEX, embed=embed, taxonomy=TAXONOMY)


def ids(retrieved: Retrieved) -> Sequence[str]:
    return [found.chunk.id for found in retrieved.chunks]


def test_it_has_34_chunks_of_departments_that_there_are() -> None:
    assert len(list(chunks())) == 34
    others = {"Kindergeneeskunde", "Gastvrijheid", "Patiëntenservice"}
    assert {department for _, _, department, _ in BROCHURES.values()} == {*DEPARTMENTS, *others}
    assert {department for _, department in CONDITIONS.values()} <= set(DEPARTMENTS)


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


def test_boosts_of_20_and_10_percent_multiply() -> None:
    boosts = (
        Boost("category", 1.2, {"category": "clinical_info"}),
        Boost("entity", 1.1, {"department": "Kinderneurologie"}),
    )
    plain = {found.chunk.id: found.score for found in asked(QUESTION).chunks}
    best = asked(Question(QUESTION, boosts=boosts)).chunks[2]
    assert best.score == pytest.approx(plain[best.chunk.id] * 1.32)


def test_the_way_to_a_wheelchair_is_no_way_to_cardiology() -> None:
    question = Question("Waar leen ik een rolstoel voor de cardioloog?", intent="navigate")
    affinity = {"navigate": {"practical": 1.2, "clinical_info": 0.5}}
    assert "hartfalen#0" in ids(asked(question))[:2]
    assert "hartfalen#0" not in ids(asked(question, RetrievalConfig(limit=7, affinity=affinity)))[:4]


def test_a_list_needs_its_intent() -> None:
    text = "Geef mij alle kinderneurologen"
    assert ids(asked(Question(text, intent="list")))[0] == "artsenlijst:list:Kinderneurologie"
    assert not any("list" in found.channels for found in asked(text).chunks)


def test_psoriasis_is_rescued_and_epilepsie_is_not() -> None:
    retrieved = asked("Mag mijn kind met epilepsie en psoriasis medicijnen krijgen?")
    assert [(found.chunk.id, found.because_of) for found in retrieved.chunks if "rescue" in found.channels] == [
        ("huid#1", ("psoriasis",))
    ]
