"""A small Dutch hospital that nobody works in."""

from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import ConfigError
from ctxassembly.retrieval import ListRule, Node, Relation, Taxonomy

NODES = [
    Node("derm", "department", "Dermatologie", ("huidarts", "huidartsen", "dermatoloog", "dermatologen")),
    Node("card", "department", "Cardiologie", ("hartspecialist", "cardioloog", "cardiologen")),
    Node("oog", "department", "Oftalmologie", ("oogarts", "oogheelkunde")),
    Node("rad", "department", "Radiologie", ("scan", "röntgenfoto")),
    Node("hf", "condition", "Hartfalen", ("zwak hart",)),
    Node("dm", "condition", "Diabetes Mellitus", ("suikerziekte", "diabetes")),
    Node("ecg", "test", "ECG", ("hartfilmpje",)),
    Node("mri", "test", "MRI-scan", ("mri scan",)),
]
HOSPITAL = Taxonomy(NODES, [Relation("card", "HANDLES", "hf"), Relation("rad", "MAKES", "mri")])


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("Heeft de huidarts avondspreekuur?", ("Dermatologie",)),
        ("Wat mag ik eten bij suikerziekte?", ("Diabetes Mellitus",)),
        ("Doet een hartfilmpje pijn?", ("ECG",)),
        ("Waar zit de oogarts?", ("Oftalmologie",)),
        ("Ik krijg een scan.", ("Radiologie",)),
        ("Welke klachten geeft hartfalen?", ("Cardiologie",)),  # by HANDLES; the name itself is there already
        ("ik heb een ZWAK  hart", ("Hartfalen", "Cardiologie")),
        ("Een rontgenfoto, of een RÖNTGENFOTO?", ("Radiologie",)),
        ("De huidarts en de oogarts", ("Dermatologie", "Oftalmologie")),
        ("huidarts, dermatoloog, dermatologen", ("Dermatologie",)),
        ("diabetes", ("Diabetes Mellitus",)),
        ("Diabetes mellitus type 2", ()),
    ],
)
def test_words_of_a_question_are_resolved_to_names(query: str, names: tuple[str, ...]):
    assert HOSPITAL.resolve(query).names == names


@pytest.mark.parametrize("query", ["", "!?", "huidartsenpost", "scanner", "Hoe laat gaat u open?", "hart zwak"])
def test_only_whole_words_and_phrases_count(query: str):
    assert HOSPITAL.resolve(query).names == ()


def resolves(alias: str, query: str) -> bool:
    return bool(Taxonomy([Node("n", "thing", "Name", (alias,))]).resolve(query).nodes)


@pytest.mark.parametrize(
    ("alias", "query"),
    [
        ("huidarts", "Waar zitten de huidartsen?"), ("hartfilmpje", "Doen hartfilmpjes pijn?"),
        ("mri scan", "Hoe duur zijn MRI-scans?"), ("operatie", "operaties"), ("allergie", "allergieën"),
        ("kwaal", "kwalen"), ("ziekenhuis", "ziekenhuizen"), ("brief", "brieven"), ("ziekte", "ziekten"),
        ("Hautarzt", "Wo sind die Hautärzte?"), ("Hautarzt", "bei den Hautärzten"), ("Ärztin", "Ärztinnen"),
        ("Krankenhaus", "Krankenhäuser"), ("Befund", "Befunde"), ("Schwester", "Schwestern"), ("Klinik", "Kliniken"),
        ("heart scan", "heart scans"), ("allergy", "allergies"), ("biopsy", "biopsies"), ("virus", "viruses"),
        ("diagnosis", "diagnoses"), ("pacemaker", "pacemakers"), ("stent", "stents"),
        ("huidarts", "kinderhuidarts"), ("huidarts", "kinderhuidartsen"), ("epilepsie", "kinderepilepsie"),
        ("infectie", "oorinfecties"), ("diabetes", "zwangerschapsdiabetes"), ("Klinik", "Augenkliniken"),
        ("Operation", "Herzoperationen"), ("neurologie", "kinderneurologie"),
    ],
)  # fmt: skip
def test_inflected_and_compound_aliases_resolve(alias: str, query: str):
    """Published: "huidartsen" resolves to the alias "huidarts", "hartfilmpjes" to "hartfilmpje"."""
    assert resolves(alias, query)


@pytest.mark.parametrize(
    ("alias", "query"),
    [
        # Not a plural.
        ("poli", "Vergoedt mijn polis dat?"), ("test", "tester"), ("scan", "scanner"), ("train", "trainer"),
        ("breath", "breathe"), ("human", "humane"), ("moral", "morale"), ("glas", "glass"),
        # Not a compound.
        ("arts", "charts"), ("nier", "op deze manier"), ("tand", "afstand"), ("test", "protest"), ("mond", "diamond"),
        ("urologie", "neurologie"), ("urologie", "kinderneurologie"), ("uroloog", "neurologen"),
        ("nation", "vaccination"), ("natie", "combinatie"), ("pension", "suspension"), ("stress", "distress"),
        ("handeling", "behandeling"), ("Bindung", "Entbindung"), ("lever", "clever"), ("liver", "deliver"),
        # The beginning or the middle of a word.
        ("huidarts", "huidartsenpost"), ("epilepsie", "epilepsiecentrum"),
    ],
)  # fmt: skip
def test_false_friends_do_not_resolve(alias: str, query: str):
    assert not resolves(alias, query)


def test_what_is_written_out_goes_before_an_inflected_form():
    nodes = [
        Node("one", "thing", "One", ("mri scan", "huidarts")),
        Node("all", "thing", "All", ("mri scans", "huidartsen")),
    ]
    taxonomy = Taxonomy(nodes)
    assert [taxonomy.resolve(query).names for query in ("mri scans", "huidartsen")] == [("All",)] * 2
    assert [taxonomy.resolve(query).names for query in ("mri scan", "huidarts")] == [("One",)] * 2


def test_the_longest_phrase_is_taken():
    assert [node.id for node in HOSPITAL.resolve("een MRI-scan").nodes] == ["mri"]
    assert [node.id for node in HOSPITAL.resolve("een scan, MRI").nodes] == ["rad"]
    assert [node.id for node in HOSPITAL.resolve("mri scan scan").nodes] == ["mri", "rad"]


def test_only_named_relations_lead_on():
    assert Taxonomy(NODES, [Relation("card", "HANDLES", "hf")], triggered_by=()).resolve("zwak hart").names == (
        "Hartfalen",
    )
    assert HOSPITAL.resolve("cardioloog").names == ("Cardiologie",)  # what handles doesn't lead to what is handled
    assert HOSPITAL.resolve("mri scan").names == ()


def test_under_a_filter_nodes_of_others_are_not_there():
    taxonomy = Taxonomy(
        [
            Node("a", "project", "Project Noord", ("ijsbeer",), {"tenant": "noord"}),
            Node("b", "project", "Project Zuid", ("pinguin",), {"tenant": "zuid"}),
            Node("c", "project", "Water", ("nat",)),
        ]
    )
    query = "ijsbeer pinguïn nat"
    assert taxonomy.resolve(query).names == ("Project Noord", "Project Zuid", "Water")
    assert taxonomy.resolve(query, {"tenant": "noord"}).names == ("Project Noord", "Water")
    assert taxonomy.resolve(query, lambda chunk: chunk.metadata["tenant"] == "zuid").names == ("Project Zuid", "Water")
    assert taxonomy.resolve(query, "tenant = 'noord'").names == ("Water",)


def test_nobody_is_led_to_what_the_filter_excludes():
    nodes = [
        Node("card", "department", "Cardiologie Noord", (), {"campus": "Noord"}),
        Node("hf", "condition", "Hartfalen"),
    ]
    taxonomy = Taxonomy(nodes, [Relation("card", "HANDLES", "hf")])
    for condition in (None, {}, {"campus": "Noord"}):
        assert taxonomy.resolve("hartfalen", condition).names == ("Cardiologie Noord",)
    assert taxonomy.resolve("hartfalen", {"campus": "Zuid"}).names == ()


# Where it comes from

PLAIN: dict[str, Any] = {
    "nodes": [
        {"id": "card", "type": "department", "name": "Cardiologie"},
        {"id": "hf", "type": "condition", "name": "Hartfalen", "aliases": ["zwak hart"], "metadata": {"tenant": "x"}},
    ],
    "relations": [{"source": "card", "type": "HANDLES", "target": "hf"}],
}


def test_from_dicts():
    taxonomy = Taxonomy.from_dict(PLAIN)
    assert taxonomy.resolve("zwak hart").names == ("Hartfalen", "Cardiologie")
    assert taxonomy.nodes["hf"].metadata == {"tenant": "x"}
    assert Taxonomy.from_dict(PLAIN, triggered_by=()).resolve("zwak hart").names == ("Hartfalen",)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Taxonomy([NODES[0], NODES[0]]), "nodes must be nodes with an id each of its own, got 'derm'"),
        (lambda: Taxonomy(NODES, [Relation("card", "HANDLES", "x")]), "relations must be .* the ids of nodes, got 'x'"),
        (lambda: Taxonomy.from_dict({}), "taxonomy must be a mapping with nodes"),
        (lambda: Node("", "type", "name"), "node.id must be a non-empty string, got ''"),
        (lambda: Taxonomy(NODES, statements={"doctor": "{name"}), "statements must be templates with names in braces"),
        (
            lambda: Taxonomy(NODES, statements={"doctor": "{} works"}),
            "statements must be templates with names in braces",
        ),
        (lambda: ListRule(phrases=("(",)), r"lists.phrases must be made of regular expressions \("),
    ],
)
def test_what_is_wrong_is_an_error(make: Any, message: str):
    with pytest.raises(ConfigError, match=f"^{message}"):
        make()
