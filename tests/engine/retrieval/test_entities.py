from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, MemoryIndex, RetrievalConfig, Retrieved, assemble
from ctxassembly import retrieve as retrieve_from
from ctxassembly.retrieval import ListRule, Node, Question, Relation, Taxonomy

NODES = [
    Node("card", "department", "Cardiologie", ("cardiologen",), {"campus": "Noord"}),
    Node("neuro", "department", "Neurologie", ("neurologen",), {"campus": "Zuid"}),
    Node("hf", "condition", "Hartfalen", (), {"campus": "Noord"}),
    Node("a", "doctor", "cardioloog A", (), {"campus": "Noord"}),
    Node("b", "doctor", "cardioloog B", (), {"campus": "Zuid"}),
    Node("c", "doctor", "neuroloog C", ()),
]
RELATIONS = [
    Relation("card", "HANDLES", "hf"),
    *(Relation(doctor, "WORKS_IN", "card") for doctor in "ab"),
    Relation("c", "WORKS_IN", "neuro"),
]
TYPE_WORDS = {"doctor": ("arts", "artsen", "doctors", "wie werken er"), "department": ("afdeling",)}
FACTS = {"doctor": "Dr. {name} is verbonden aan {department} op {campus}."}
HOSPITAL = Taxonomy(
    NODES, RELATIONS, name="hospital", type_words=TYPE_WORDS, statements=FACTS, lists=ListRule(types=("doctor",))
)


GRAPH = RetrievalConfig(strategy="graph")


def ask(query: str, intent: str | None = None, condition: Any = None, taxonomy: Taxonomy = HOSPITAL) -> Retrieved:
    return retrieve_from(Question(query, intent=intent), GRAPH, taxonomy=taxonomy, filter=condition)


def ids(known: Retrieved) -> list[str]:
    return [one.chunk.id for one in known.chunks]


# Typed lookups


@pytest.mark.parametrize(
    ("query", "expected", "published"),
    [
        ("Which doctors work in Cardiologie?", ["hospital:a", "hospital:b"], 0.95),
        ("Welke artsen behandelen hartfalen?", ["hospital:a", "hospital:b"], 0.90),  # of the department that does
        ("Welke afdeling is er voor hartfalen?", ["hospital:card"], 0.95),
        ("Wie werken er op Neurologie?", ["hospital:c"], 0.95),
    ],
)
def test_a_type_and_an_entity_find_what_is_related(query: str, expected: list[str], published: float):
    found = ask(query).chunks
    assert [one.chunk.id for one in found] == expected
    assert {one.published_score for one in found} == {published}
    assert {one.channels for one in found} == {("entities",)}
    assert (ask(query).trace.search_method, ask(query).trace.round_trips) == ("graph_only", 0)


@pytest.mark.parametrize(
    "query", ["Cardiologie", "Welke artsen zijn er?", "Waar kan ik parkeren?", "doctorsassistent Cardiologie"]
)
def test_without_a_type_or_without_an_entity_nothing_is_found(query: str):
    assert ask(query).chunks == ()
    assert ask("Which doctors work in Cardiologie?", taxonomy=Taxonomy(NODES, RELATIONS)).chunks == ()


def test_an_entity_reads_as_a_sentence_and_is_cited_as_the_taxonomy():
    one = ask("doctors Cardiologie").chunks[0]
    assert one.chunk.text == "Dr. cardioloog A is verbonden aan Cardiologie op Noord."
    assert one.chunk.metadata == {"source": "hospital", "no_neighbors": True}
    assert one.because_of == ("Cardiologie", "cardioloog A")
    plain = Taxonomy(NODES, RELATIONS, type_words=TYPE_WORDS)
    assert ask("doctors Cardiologie", taxonomy=plain).chunks[0].chunk.text == "cardioloog A (doctor): Cardiologie"


# Lists


LIST = "Ik wil alle cardiologen zien"


def test_intent_phrase_and_entity_together_give_one_chunk_with_the_full_list():
    (one,) = ask(LIST, "list").chunks
    assert one.chunk.text == (
        "Cardiologie (2):\n"
        "- Dr. cardioloog A is verbonden aan Cardiologie op Noord.\n"
        "- Dr. cardioloog B is verbonden aan Cardiologie op Zuid."
    )
    assert one.chunk.metadata == {"source": "hospital", "no_neighbors": True, "keep_whole": True}
    assert (one.channels, one.published_score, one.because_of) == (("list",), 0.90, ("Cardiologie",))


@pytest.mark.parametrize(
    ("query", "intent"),
    [(LIST, None), (LIST, "navigate"), ("Waar zitten de cardiologen?", "list"), ("Ik wil alle folders", "list")],
)
def test_if_any_gate_is_shut_there_is_no_list(query: str, intent: str | None):
    assert ask(query, intent).chunks == ()


DEPARTMENT = Taxonomy([Node("card", "department", "Cardio"), NODES[3]], [Relation("a", "WORKS_IN", "card")])


@pytest.mark.parametrize(
    "query",
    [
        "Welke artsen werken bij Cardio?", "welke vrouwelijke dokters heeft Cardio", "Welke collega's heeft Cardio?",
        "Which doctors work in Cardio?", "Which other people work there, in Cardio?", "which of your nurses, Cardio",
        "Welche Ärzte arbeiten in Cardio?", "Welche Ärztinnen hat Cardio?", "Bei welchen Kardiologen in Cardio?",
        "Welche Ärzt:innen hat Cardio?", "Welche Schwestern hat Cardio?", "Welche Pfleger hat Cardio?",
        "Quels médecins travaillent en Cardio ?", "¿Qué médicos trabajan en Cardio?", "¿Cuáles son los de Cardio?",
    ],
)  # fmt: skip
def test_a_list_is_injected_for_list_questions(query: str):
    """Published: a list is injected only for list questions, such as "Welke artsen ..."."""
    assert ids(ask(query, "list", taxonomy=DEPARTMENT)) == ["taxonomy:list:card"]


@pytest.mark.parametrize(
    "query",
    [
        "Welke arts werkt bij Cardio?", "Welke huisarts, Cardio?", "Welke dokter is er bij Cardio?", "Welke is Cardio?",
        "Which doctor works in Cardio?", "The one which was in Cardio", "Which illness has Cardio?",
        "Welcher Arzt arbeitet in Cardio?", "Welche Ärztin hat Cardio?", "Welche Schwester ist in Cardio?",
        "Quel médecin travaille en Cardio ?", "¿Qué médico trabaja en Cardio?", "¿Qué es Cardio?",
        "¿Qué puedes decirme de Cardio?", "Dicen que los de Cardio llegan",
    ],
)  # fmt: skip
def test_no_list_is_injected_for_a_question_about_one(query: str):
    """Published: a list is injected only for list questions; "Welke arts ..." asks for one doctor."""
    assert ask(query, "list", taxonomy=DEPARTMENT).chunks == ()


def test_intents_and_phrases_are_the_callers():
    own = Taxonomy(NODES, RELATIONS, lists=ListRule(intents=("roster",), phrases=(r"\bsmoelenboek\b",)))
    assert ids(ask("smoelenboek Cardiologie", "roster", taxonomy=own)) == ["taxonomy:list:card"]
    assert ask(LIST, "list", taxonomy=own).chunks == ()
    everything = ask("smoelenboek Cardiologie", "roster", taxonomy=own).chunks[0].chunk.text
    assert everything == "Cardiologie (3):\n- Hartfalen\n- cardioloog A\n- cardioloog B"


# Constraints

PLACES = [
    Node("barbara", "campus", "Sint-Barbara"),
    Node("jan", "campus", "Sint-Jan"),
    Node("derm", "department", "Dermatologie"),
    Node("d", "doctor", "dermatoloog D"),
    Node("ecg", "test", "ECG"),
]
WORKPLACES = [("a", "jan"), ("b", "barbara"), ("c", "barbara"), ("d", "jan")]
LOCATED = [Relation(doctor, "WORKS_AT", campus) for doctor, campus in WORKPLACES]
CAMPUSES = Taxonomy(
    [*NODES, *PLACES],
    [*RELATIONS, Relation("d", "WORKS_IN", "derm"), *LOCATED],
    type_words=TYPE_WORDS,
    lists=ListRule(types=("doctor",)),
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Welke artsen van Cardiologie zijn er in Sint-Barbara?", "b"),
        ("Welke artsen zijn er in Sint-Barbara, bij Cardiologie?", "b"),
        ("Welke artsen in Sint-Barbara behandelen hartfalen?", "b"),
        ("Welke artsen van Dermatologie zijn er in Sint-Barbara?", ""),
        ("Welke artsen van Cardiologie en Neurologie zijn er in Sint-Barbara?", "bc"),  # either of one kind
        ("Welke artsen van Cardiologie zijn er in Sint-Barbara of Sint-Jan?", "ab"),
        ("Welke artsen van Cardiologie maken een ECG?", "ab"),  # no doctor is related to any test: no constraint
        ("Welke artsen van Cardiologie zijn er?", "ab"),
        ("Welke artsen zijn er in Sint-Barbara?", "bc"),
    ],
)
def test_two_constraints_intersect(query: str, expected: str):
    """Published: "cardiology in Sint-Barbara" (category and place) finds what meets both constraints."""
    assert ids(ask(query, taxonomy=CAMPUSES)) == [f"taxonomy:{doctor}" for doctor in expected]


def test_a_department_that_is_not_at_the_place_has_no_doctors_there():
    """If places are known of departments alone, the department has to be there."""
    located = [Relation("card", "IS_AT", "jan"), Relation("neuro", "IS_AT", "barbara")]
    taxonomy = Taxonomy([*NODES, *PLACES], [*RELATIONS, *located], type_words=TYPE_WORDS)
    assert ids(ask("Welke artsen van Cardiologie zijn er in Sint-Jan?", taxonomy=taxonomy)) == [
        "taxonomy:a",
        "taxonomy:b",
    ]
    assert ids(ask("Welke artsen van Cardiologie zijn er in Sint-Barbara?", taxonomy=taxonomy)) == []
    assert ids(ask("Welke afdeling in Sint-Jan is er voor hartfalen?", taxonomy=taxonomy)) == ["taxonomy:card"]
    assert ids(ask("Welke afdeling in Sint-Barbara is er voor hartfalen?", taxonomy=taxonomy)) == []


def with_metadata(*places: tuple[str, Any], nodes: Sequence[Node] = NODES) -> Taxonomy:
    """The taxonomy without a relation to any place: where a doctor works is in the doctor's metadata."""
    at = dict(places)
    placed = [replace(node, metadata={"campus": at[node.id]} if node.id in at else {}) for node in nodes]
    return Taxonomy(placed, RELATIONS, type_words=TYPE_WORDS, lists=ListRule(types=("doctor",)))


@pytest.mark.parametrize("barbara", ["Sint-Barbara", "sint barbara", ["Sint-Jan", "Sint-Barbara"], "barbara"])
def test_a_constraint_of_place_is_met_by_metadata(barbara: Any):
    """Published: "cardiology in Sint-Barbara" reads the place of a doctor from its metadata, too."""
    taxonomy = with_metadata(("a", "Sint-Jan"), ("b", barbara), ("c", barbara), nodes=[*NODES, *PLACES])
    for query, expected in (
        ("Welke artsen van Cardiologie zijn er in Sint-Barbara?", ["taxonomy:b"]),
        ("Welke artsen zijn er in Sint-Barbara?", ["taxonomy:b", "taxonomy:c"]),
        ("Welke artsen van Neurologie zijn er in Sint-Jan?", ["taxonomy:c"] if isinstance(barbara, list) else []),
    ):
        assert ids(ask(query, taxonomy=taxonomy)) == expected


# Labels


# Facts


def test_facts_are_told_of_what_the_question_names_or_finds():
    assert ask("Is cardioloog A er vandaag?").statements == ("Dr. cardioloog A is verbonden aan Cardiologie op Noord.",)
    assert ask("doctors Cardiologie").statements == (
        "Dr. cardioloog A is verbonden aan Cardiologie op Noord.",
        "Dr. cardioloog B is verbonden aan Cardiologie op Zuid.",
    )
    for query in ("Cardiologie", "Is neuroloog C er?"):  # of C no campus is known
        assert ask(query).statements == ()


# Filters


@pytest.mark.parametrize(("query", "intent"), [("doctors Cardiologie", None), (LIST, "list")])
@pytest.mark.parametrize("condition", [{"campus": "Noord"}, {"$or": [{"$and": [{"campus": {"$in": ["Noord"]}}]}]}])
def test_lists_entities_and_facts_hold_the_filter(query: str, intent: str | None, condition: Any):
    known = ask(query, intent, condition)
    told = " ".join((*known.statements, *(one.chunk.text for one in known.chunks)))
    assert "cardioloog A" in told
    assert "cardioloog B" not in told
    assert known.trace.notes == ()


def test_a_fact_names_nothing_that_the_filter_excludes():
    south = Node("south", "department", "Cardiologie Zuid", (), {"campus": "Zuid"})
    taxonomy = Taxonomy([*NODES, south], [*RELATIONS, Relation("a", "WORKS_IN", "south")], statements=FACTS)
    both = "Dr. cardioloog A is verbonden aan Cardiologie, Cardiologie Zuid op Noord."
    assert ask("cardioloog A", taxonomy=taxonomy).statements == (both,)
    only = "Dr. cardioloog A is verbonden aan Cardiologie op Noord."
    assert ask("cardioloog A", None, {"campus": "Noord"}, taxonomy).statements == (only,)


def test_a_value_of_a_node_that_the_filter_excludes_is_no_constraint():
    nodes = [NODES[0], *(replace(node, metadata={**node.metadata, "speaks": said}) for node, said in (
        (NODES[3], "Frans"), (NODES[4], "Turks"),
    ))]  # fmt: skip
    taxonomy = Taxonomy(nodes, RELATIONS[1:3], type_words=TYPE_WORDS)
    query = "Welke artsen van Cardiologie spreken Turks?"
    assert ids(ask(query, taxonomy=taxonomy)) == ["taxonomy:b"]
    assert ids(ask(query, None, {"campus": "Noord"}, taxonomy)) == ["taxonomy:a"]  # that anybody does isn't told


def test_without_metadata_nothing_is_given_under_a_filter_and_a_note_says_so():
    bare = [Node("neuro", "department", "Neurologie"), NODES[5]], [Relation("c", "WORKS_IN", "neuro")]
    taxonomy = Taxonomy(*bare, type_words=TYPE_WORDS)
    for condition in (None, {}):  # an empty filter is none
        assert ids(ask("doctors Neurologie", None, condition, taxonomy)) == ["taxonomy:c"]
    for condition in ({"campus": "Zuid"}, {"campus": {"$exists": False}}, lambda chunk: True):
        known = ask("doctors Neurologie", None, condition, taxonomy)
        assert known.chunks == ()
    told = Taxonomy(*bare, statements={"doctor": "Dr. {name}."})
    assert ask("Is neuroloog C er?", None, None, told).statements == ("Dr. neuroloog C.",)
    assert ask("Is neuroloog C er?", None, {"campus": "Zuid"}, told).statements == ()
    assert known.trace.notes == ("taxonomy: 1 of its nodes have no metadata to test the filter on, and are left out",)


def test_a_filter_that_cannot_be_tested_gives_nothing_and_a_note():
    bare = Taxonomy([Node("neuro", "department", "Neurologie"), NODES[5]], type_words=TYPE_WORDS)
    known = ask("doctors Neurologie", None, "campus = 'Zuid'", bare)
    assert (known.chunks, known.statements) == ((), ())
    assert known.trace.notes == ("taxonomy: the filter can't be tested on its nodes, so nothing of it is given",)


# In the flow


TEXTS = ["Hartfalen is een aandoening.", "Het hart pompt bloed.", "De polikliniek is open.", "Een cardioloog werkt."]
INDEX = MemoryIndex(
    [Chunk(f"d{at}", "doc", text, at, metadata={"campus": "Noord"}, vector=[1.0]) for at, text in enumerate(TEXTS)]
)
KEYWORD = RetrievalConfig(limit=3, rescue="off")


def retrieve(query: Any, config: RetrievalConfig = KEYWORD, **more: Any) -> Any:
    return retrieve_from(query, config, index=INDEX, embed=lambda _: [1.0], taxonomy=HOSPITAL, **more)


def test_what_the_taxonomy_answers_is_given_however_thin_the_texts_are():
    thin = RetrievalConfig(min_evidence=2.0)
    chunks = retrieve("doctors Cardiologie", thin).chunks
    assert [found.chunk.id for found in chunks][:2] == ["hospital:a", "hospital:b"]
    assert retrieve("Waar is de polikliniek?", thin).chunks == ()


def test_a_list_stands_whole_and_first_in_the_context():
    retrieved = retrieve(Question("alle cardiologen met hartfalen", intent="list"))
    context = assemble(retrieved.hits, AssemblyConfig(max_tokens=60, format="minimal"), query=retrieved.query)
    assert context.text.startswith("Cardiologie, Hartfalen (2):\n- Dr. cardioloog A")
    assert "cardioloog B" in context.text
    assert context.citations[0].source == "hospital"
