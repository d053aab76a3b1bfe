"""Each enhancement of a retrieval has a question that it decides, and questions where it must not act.

On the small hospital of the notebooks, kept in memory and in PostgreSQL. Where an enhancement must not act, all that a
reader gets is the same with it and without, and nobody was asked more often. Decomposition, the ninth, is to come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from sqlalchemy import Column, Float, Integer, MetaData, NullPool, Table, Text, create_engine, insert, select

from ctxassembly import AssemblyConfig, Chunk, MemoryIndex, RetrievalConfig, assemble, retrieve
from ctxassembly.retrieval import Boost, Question
from ctxassembly.stores.postgres import PostgresIndex
from ctxassembly.text.words import strip_accents, words
from tour.hospital import chunks, embed, hospital_taxonomy

QUESTIONS = {"afspraken#1": ["Kan ik mijn consult annuleren?", "Hoe zeg ik een consult af?"]}
"""Questions that a chunk answers, in other words than its own."""
SUMMARIES = {"hartfalen": "Leefregels voor thuis bij een zwakke pompfunctie van het hart."}
TAXONOMY = hospital_taxonomy()
ALONE = AssemblyConfig(window=0, summary_key="no_summary", format="minimal", max_tokens=300)
"""Hits as they are, without what stands around them."""
PLAIN = RetrievalConfig(limit=3, rescue="off")


@dataclass(frozen=True)
class Setup:
    """A retrieval and a reading, with one enhancement or without it."""

    config: RetrievalConfig = PLAIN
    reading: AssemblyConfig = ALONE
    has_taxonomy: bool = False
    has_questions: bool = False
    rerankers: tuple[Callable[[str, Sequence[Chunk]], Any], ...] = ()


class Enhancement(NamedTuple):
    """One of the nine: what it decides, and where it stays out."""

    name: str
    question: str | Question
    wanted: str
    """Stands in what the model reads with the enhancement, and not without it."""
    on: Setup
    off: Setup = Setup()
    idle: tuple[str | Question, ...] = ()
    """Questions where it must not act."""
    costs: int = 0
    """Requests by which it learns that it has nothing to do."""


def by_pairs_of_words(query: str, some: Sequence[Chunk]) -> list[tuple[int, float]]:
    """A reranker that reads query and chunk together: words count that stand beside each other in both."""

    def pairs(text: str) -> set[tuple[str, str]]:
        said = words(strip_accents(text))
        return set(pairwise(said))

    scores = [float(len(pairs(query) & pairs(chunk.text))) / 10 for chunk in some]
    return sorted(enumerate(scores), key=lambda one: -one[1])


LIST = Question("Geef mij alle kinderneurologen", intent="list")
EXAMINATION = "Hoe verloopt het onderzoek?"
TWO = replace(PLAIN, limit=2)
ONE = replace(PLAIN, limit=1, min_evidence=1.1)


def boosted(config: RetrievalConfig, name: str, factor: float, **where: Any) -> Setup:
    return Setup(replace(config, boosts=(Boost(name, factor, where),)))


ENHANCEMENTS = [
    Enhancement(
        "questions",
        "Ik wil mijn consult annuleren",
        "Kunt u niet komen?",
        Setup(has_questions=True),
        idle=("Waar is route 41?", "asdkjh qwe zzzz"),
    ),
    Enhancement(
        "summaries",
        "Hoeveel zout mag ik?",
        "zwakke pompfunctie",
        Setup(reading=replace(ALONE, summary_key="page_summary")),
        idle=("Waar is route 41?",),
    ),
    Enhancement(
        "aliases",
        "Wat mag ik eten met suikerziekte?",
        "te veel glucose in het bloed",
        Setup(has_taxonomy=True),
        idle=("Waar is route 41?", "asdkjh qwe zzzz"),
    ),
    Enhancement(
        "boosts, category +20 %",
        EXAMINATION,
        "De pedagogisch medewerker",
        boosted(TWO, "category", 1.2, category="practical"),
        Setup(TWO),
        idle=("Bel ik 112?",),
    ),
    Enhancement(
        "boosts, type of entity +10 %",
        EXAMINATION,
        "Een EEG meet",
        boosted(PLAIN, "entity", 1.1, department="Neurologie"),
        idle=("Bel ik 112?", "Waar is route 41?"),
    ),
    Enhancement(
        "boosts, conversation +25 %",
        EXAMINATION,
        "Een EEG meet",
        boosted(TWO, "conversation", 1.25, document_id=["eeg"]),
        Setup(TWO),
        idle=("Bel ik 112?", "Waar is route 41?"),
    ),
    Enhancement(
        "content keyword",
        "Bel ik 112?",
        "Bel dan 112",
        Setup(replace(PLAIN, limit=1)),
        Setup(replace(PLAIN, limit=1, strategy="vector")),
        idle=("asdkjh qwe zzzz",),
        costs=1,
    ),
    Enhancement(
        "boosts, exact keyword +10 %",
        EXAMINATION,
        "De pedagogisch medewerker",
        boosted(TWO, "keyword", 1.1, keywords="onderzoek"),
        Setup(TWO),
        idle=("Bel ik 112?", "Waar is route 41?"),
    ),
    Enhancement(
        "rescue",
        "Mag mijn kind met epilepsie en psoriasis medicijnen krijgen?",
        "psoriasisplekken",
        Setup(replace(PLAIN, rescue="last")),
        idle=("Wie behandelt dat?", "Is de verpleegkundige er op dinsdag?", "Waar is route 41?"),
    ),
    Enhancement(
        "assembly",
        "Mag mijn kind medicijnen tegen de aanvallen?",
        "Bel dan 112",
        Setup(ONE, replace(ALONE, window=1), has_taxonomy=True),
        Setup(ONE, has_taxonomy=True),
        idle=(LIST,),
    ),
    Enhancement(
        "reranker",
        "Wie behandelt volwassenen met epilepsie en kinderen?",
        "De neuroloog behandelt volwassenen",
        Setup(ONE, rerankers=(by_pairs_of_words,)),
        Setup(ONE),
        idle=("asdkjh qwe zzzz",),
    ),
]


class Answer(NamedTuple):
    """All that comes of a question, and who was asked for it."""

    hits: tuple[tuple[str, float], ...]
    read: str
    notes: tuple[str, ...]
    asked: tuple[str, ...]


class Counted:
    """An index that notes what it is asked."""

    def __init__(self, index: Any, asked: list[str]) -> None:
        self._index, self._asked = index, asked

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._index, name)
        if name not in {"find_terms", "search", "fetch"}:
            return function

        def noted(request: Any) -> Any:
            self._asked.append(name)
            return function(request)

        return noted


def answer(index: Any, question: str | Question, setup: Setup) -> Answer:
    asked: list[str] = []

    def noted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: asked.append(name) or function(*given)

    retrieved = retrieve(
        question,
        setup.config,
        index=Counted(index, asked),
        embed=noted("embed", embed),
        taxonomy=TAXONOMY if setup.has_taxonomy else None,
        rerankers=[noted("rerank", reranker) for reranker in setup.rerankers],
    )
    store = Counted(index.with_filter(None), asked)
    context = assemble(retrieved.hits, setup.reading, query=retrieved.query, store=store)
    hits = tuple((found.chunk.id, found.score) for found in retrieved.chunks)
    return Answer(hits, context.text, retrieved.trace.notes, tuple(asked))


def corpus(*, with_questions: bool) -> list[Chunk]:
    more: dict[str, dict[str, Any]] = {"opname-kind#1": {"keywords": ["onderzoek", "voorbereiding"]}}
    more |= {id_: {"questions": some} for id_, some in QUESTIONS.items() if with_questions}
    return [
        replace(
            chunk,
            metadata={
                **chunk.metadata,
                **({"page_summary": SUMMARIES[chunk.document_id]} if chunk.document_id in SUMMARIES else {}),
                **more.get(chunk.id, {}),
            },
        )
        for chunk in chunks()
    ]


@pytest.fixture(scope="module", params=["in memory", "in PostgreSQL"])
def indexes(request: pytest.FixtureRequest) -> dict[bool, Any]:
    """An index without the questions that chunks answer, and one with them."""
    made: dict[bool, Any] = {}
    for with_questions in (False, True):
        stored = corpus(with_questions=with_questions)
        vectors = [embed(f"{chunk.metadata['title']} {chunk.text}") for chunk in stored]
        if request.param == "in memory":
            made[with_questions] = MemoryIndex(stored, vectors)
            continue
        url = request.getfixturevalue("module_database_url")
        made[with_questions] = PostgresIndex.create(url, f"chunks_{with_questions}", dimensions=len(vectors[0]))
        made[with_questions].add(stored, vectors, progress=False)
    return made


def both(indexes: dict[bool, Any], one: Enhancement, question: str | Question) -> tuple[Answer, Answer]:
    with_, without = (answer(indexes[setup.has_questions], question, setup) for setup in (one.on, one.off))
    return with_, without


@pytest.mark.parametrize("one", ENHANCEMENTS, ids=lambda one: one.name)
def test_it_decides_what_is_read(indexes: dict[bool, Any], one: Enhancement):
    with_, without = both(indexes, one, one.question)
    assert one.wanted in with_.read
    assert one.wanted not in without.read
    assert without.read


@pytest.mark.parametrize(
    ("one", "question"),
    [pytest.param(one, question, id=f"{one.name}: {question}") for one in ENHANCEMENTS for question in one.idle],
)
def test_where_it_must_not_act_all_is_the_same_and_nothing_is_paid(
    indexes: dict[bool, Any], one: Enhancement, question: str | Question
):
    with_, without = both(indexes, one, question)
    assert with_._replace(asked=()) == without._replace(asked=())
    assert len(with_.asked) == len(without.asked) + one.costs


def test_every_enhancement_has_both_cases():
    assert {one.name.partition(",")[0] for one in ENHANCEMENTS} == {
        *("questions", "summaries", "aliases", "boosts"),
        *("content keyword", "rescue", "assembly", "reranker"),
    }
    assert all(one.question and one.wanted and one.idle for one in ENHANCEMENTS)


# Beside the nine


NAVIGATE = {"navigate": {"practical": 1.2, "clinical_info": 0.5}}
WHEELCHAIR = "Waar leen ik een rolstoel voor de cardioloog?"


def test_a_wheelchair_does_not_bring_cardiology_where_the_way_is_asked_for(indexes: dict[bool, Any]):
    on = Setup(replace(TWO, affinity=NAVIGATE))
    assert "De cardioloog behandelt" in answer(indexes[False], Question(WHEELCHAIR, intent="navigate"), Setup(TWO)).read
    found = answer(indexes[False], Question(WHEELCHAIR, intent="navigate"), on)
    assert "Een rolstoel leent u" in found.read
    assert "cardioloog" not in found.read
    for other in (WHEELCHAIR, Question(WHEELCHAIR, intent="treat")):
        assert answer(indexes[False], other, on) == answer(indexes[False], other, Setup(replace(TWO, affinity={})))


def test_mismatches_are_rows_of_a_table(database_url: str):
    stored = corpus(with_questions=False)
    config = replace(TWO, strategy="keyword", affinity=NAVIGATE)
    retrieved = retrieve(Question(WHEELCHAIR, intent="navigate"), config, index=MemoryIndex(stored))
    names = ("query", "intent", "category", "factor", "chunk_id", "document_id", "score", "place")
    kinds: dict[str, Any] = {"factor": Float, "score": Float, "place": Integer}
    table = Table("mismatches", MetaData(), *(Column(name, kinds.get(name, Text)) for name in names))
    with create_engine(database_url, poolclass=NullPool).begin() as connection:
        table.create(connection)
        connection.execute(insert(table), retrieved.mismatches())
        rows = connection.execute(select(table.c["intent", "category", "chunk_id", "factor"])).all()
    assert ("navigate", "clinical_info", "hartfalen#0", 0.5) in rows
    assert len(rows) == len(retrieved.mismatches()) > 1
