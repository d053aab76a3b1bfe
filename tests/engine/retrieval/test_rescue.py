"""Words of the question that no hit has: which are rescued, and by which chunks."""

from __future__ import annotations

from typing import Any

import pytest
from pieces import Found, chunk, ids, retrieved, scored

from ctxassembly import Chunk, RetrievalConfig, retrieve
from ctxassembly.retrieval import QueryVocabulary, Question, RetrievedChunk, ScoredChunk, TermStats

QUERY = "Welke arts behandelt epilepsie en psoriasis bij kinderen?"
COUNTS = {"welke": 300, "arts": 200, "behandelt": 90, "epilepsie": 1, "en": 990, "psoriasis": 1, "bij": 900}
TERMS = QueryVocabulary(1000, tuple(TermStats(word, count) for word, count in {**COUNTS, "kinderen": 120}.items()))
HIT = chunk("A", "De neuroloog ziet mensen met epilepsie.")


class Rescuing(Found):
    """It has a chunk for each word that is searched for."""

    def search(self, request: Any) -> list[ScoredChunk]:
        if request.vector is not None:
            return [ScoredChunk(one, 0.9, 0.0) for one in self.hits]
        return [scored(f"R{at}", None, 1.0, term.text) for at, term in enumerate(request.vocabulary.terms)]

    def __init__(self, hits: list[Chunk], vocabulary: QueryVocabulary) -> None:
        super().__init__((), vocabulary)
        self.hits = hits


def words(query: str, hits: list[Chunk], *terms: TermStats, config: RetrievalConfig | None = None) -> list[str]:
    """The words for which chunks are brought."""
    vocabulary = QueryVocabulary(1000, terms) if terms else TERMS
    index: Any = Rescuing(hits, vocabulary)
    found = retrieve(query, config or RetrievalConfig(), index=index, embed=lambda _: [1.0])
    return [word for one in found.chunks for word in one.because_of]


@pytest.mark.parametrize(
    ("query", "hits", "terms", "expected"),
    [
        (QUERY, [HIT], (), ["psoriasis"]),  # not "behandelt": long words aren't specific, rare ones are
        (QUERY, [], (), ["epilepsie", "psoriasis"]),
        # A part of a word, without case and accents, in title and questions.
        ("epilepsie", [chunk("A", "De kinderepilepsie.")], (), []),
        ("epilepsie", [chunk("A", "EPILEPSIË")], (), []),
        ("epilepsie", [chunk("A", title="Epilepsie")], (), []),
        ("epilepsie", [chunk("A", questions=["Wat is epilepsie?"])], (), []),
        ("epilepsie", [chunk("A", chunk_metadata={"canonical_questions": ["Wat is epilepsie?"]})], (), []),
        # A function word isn't specific, however rare.
        ("Waar leen ik een rolstoel?", [HIT], (TermStats("waar", 1), TermStats("rolstoel", 1)), ["rolstoel"]),
        ("Waar is een rolstoel?", [HIT], (TermStats("waar", 0, ("bewaar",)), TermStats("rolstoel", 1)), ["rolstoel"]),
        # A short word is no part of another.
        ("Is ms erfelijk?", [chunk("A", "systems")], (TermStats("ms", 1),), ["ms"]),
        ("Is ms erfelijk?", [chunk("A", "Over MS.")], (TermStats("ms", 1),), []),
        # Two words at most, and none that a chunk or more has.
        ("a1 b1 c1", [], (TermStats("a1", 1), TermStats("b1", 1), TermStats("c1", 1)), ["a1", "b1"]),
        ("often rare", [], (TermStats("often", 5), TermStats("rare", 1)), ["rare"]),
        # Names that were appended to the query aren't its words.
        ("huidarts", [], (TermStats("huidarts", 1), TermStats("dermatologie", 1)), ["huidarts"]),
        # A stem of the index is the word that begins with it.
        ("Ferritine?", [HIT], (TermStats("ferritin", 1),), ["ferritin"]),
        # A word that the index hasn't is looked for by near ones, and a hit that has a near one has the word.
        ("ferirtine zzzz", [HIT], (TermStats("ferirtine", 0, ("ferritine",)), TermStats("zzzz", 0)), ["ferirtine"]),
        ("ferirtine", [chunk("A", "Ferritine wordt bepaald.")], (TermStats("ferirtine", 0, ("ferritine",)),), []),
    ],
)
def test_which_words_are_rescued(query: str, hits: list[Chunk], terms: Any, expected: list[str]):
    assert words(query, hits, *terms) == expected


@pytest.mark.parametrize(
    ("query", "term", "found"),
    [
        ("Is lupus erfelijk?", TermStats("lupus", 1), []),
        ("Is lupis erfelijk?", TermStats("lupis", 0, ("lupus",)), []),
        ("Is eczeem erfelijk?", TermStats("eczeem", 1), ["eczeem"]),
        ("Is eczeem erfelijk?", TermStats("eczeem", 400), ["eczeem"]),
        ("Is mazelen erfelijk?", TermStats("mazel", 1), ["mazel"]),  # a stem of the index: the word has seven
        ("Zijn tics en tickets iets?", TermStats("tic", 1), ["tic"]),
        ("Is een tic een tickets?", TermStats("tic", 1), []),
    ],
)
def test_the_published_rule_needs_six_letters(query: str, term: TermStats, found: list[str]):
    """Published: a word of six letters or more that no hit has is rescued; no shorter one, however rare."""
    assert words(query, [HIT], term, config=RetrievalConfig.published()) == found


# Rescued

TWO = QueryVocabulary(1000, (TermStats("the", 900), TermStats("psoriasis", 1), TermStats("eczeem", 1)))


def brought(vocabulary: QueryVocabulary, some: list[ScoredChunk], **given: Any) -> list[RetrievedChunk]:
    query = Question(" ".join(term.text for term in vocabulary.terms), intent="visit")
    found = retrieved(Found([scored("Z", 0.9, 0.0)], vocabulary, some), query, **given).chunks
    return [one for one in found if one.channels == ("rescue",)]


def test_one_chunk_for_each_word_the_best_one_with_the_published_score():
    some = [scored(f"{name}", None, score, word) for name, score, word in (
        ("A", 1.0, "psoriasis"), ("B", 3.0, "psoriasis"), ("C", 2.0, "eczeem"), ("D", 9.0, "water"),
    )]  # fmt: skip
    after = brought(TWO, some)
    assert [(one.chunk.id, one.because_of, one.published_score) for one in after] == [
        ("B", ("psoriasis",), 0.90),
        ("C", ("eczeem",), 0.90),
    ]
    assert brought(TWO, [scored("A", None, 9.0, "water")]) == brought(TWO, []) == []


@pytest.mark.parametrize(("factors", "expected"), [((0.3, 1.0), ["B"]), ((0.3, 0.3), []), ((1.0, 20.0), ["B"])])
def test_a_chunk_that_does_not_go_with_the_intent_is_not_brought(factors: Any, expected: list[str]):
    vocabulary = QueryVocabulary(1000, (TermStats("the", 900), TermStats("rolstoel", 1)))
    some = [scored("A", None, 9.0, "rolstoel", category="a"), scored("B", None, 1.0, "rolstoel", category="b")]
    table = {"visit": dict(zip("ab", factors, strict=True))}
    assert ids(brought(vocabulary, some, affinity=table)) == expected
