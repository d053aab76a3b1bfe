from __future__ import annotations

import pytest
from pieces import chunk, ids

from ctxassembly import RetrievalConfig
from ctxassembly.retrieval import QueryVocabulary, ScoredChunk, TermStats
from ctxassembly.retrieval.ranking import PUBLISHED_RESCUE_SCORE, MissingTerm, rare_missing_terms, rescue_hits

CONFIG = RetrievalConfig()
QUERY = "Welke arts behandelt epilepsie en psoriasis bij kinderen?"
TERMS = QueryVocabulary(
    1000,
    (
        *(
            TermStats("welke", 300),
            TermStats("arts", 200),
            TermStats("behandelt", 90),
            TermStats("epilepsie", 1),
            TermStats("en", 990),
        ),
        *(TermStats("psoriasis", 1), TermStats("bij", 900), TermStats("kinderen", 120)),
    ),
)
HIT = chunk("A", "De neuroloog ziet mensen met epilepsie.")


def words(query: str, hits, vocabulary: QueryVocabulary, config: RetrievalConfig = CONFIG) -> list[str]:
    return [term.word for term in rare_missing_terms(query, hits, vocabulary, config)]


# Wanted


def test_a_word_that_no_hit_has_is_rescued_and_one_that_a_hit_has_is_not():
    assert words(QUERY, [HIT], TERMS) == ["psoriasis"]


@pytest.mark.parametrize(
    "hit",
    [
        chunk("A", "De kinderepilepsie."),
        chunk("A", "EPILEPSIË"),
        chunk("A", title="Epilepsie"),
        chunk("A", questions=["Wat is epilepsie?"]),
        chunk("A", chunk_metadata={"canonical_questions": ["Wat is epilepsie?"]}),
    ],
)
def test_as_a_part_of_a_word_without_case_and_accents_in_title_and_questions(hit):
    assert words("epilepsie", [hit], TERMS) == []


@pytest.mark.parametrize("term", [TermStats("waar", 0, ("bewaar",)), TermStats("waar", 1)])
def test_a_function_word_is_not_specific_however_rare(term: TermStats):
    vocabulary = QueryVocabulary(30, (term, TermStats("rolstoel", 1)))
    assert words("Waar leen ik een rolstoel?", [HIT], vocabulary) == ["rolstoel"]


def test_a_short_word_is_no_part_of_another():
    vocabulary = QueryVocabulary(1000, (TermStats("ms", 1),))
    assert words("Is ms erfelijk?", [chunk("A", "systems")], vocabulary) == ["ms"]
    assert words("Is ms erfelijk?", [chunk("A", "Over MS.")], vocabulary) == []


def test_long_words_are_not_specific(monkeypatch: pytest.MonkeyPatch):
    """Six letters brought a chunk on wound care to the first label for "behandelt"."""
    assert "behandelt" not in words(QUERY, [HIT], TERMS)
    monkeypatch.setattr("ctxassembly.retrieval.ranking.MAX_RESCUED_TERMS", 9)
    published = RetrievalConfig(rescue_min_letters=6)
    assert words(QUERY, [HIT], TERMS, published) == ["psoriasis", "behandelt", "kinderen"]


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
    assert words(query, [HIT], QueryVocabulary(1000, (term,)), RetrievalConfig.published()) == found


def test_two_words_at_most():
    assert words(QUERY, [], TERMS) == ["epilepsie", "psoriasis"]


def test_the_rarest_first(monkeypatch: pytest.MonkeyPatch):
    vocabulary = QueryVocabulary(1000, (TermStats("often", 5), TermStats("rare", 1), TermStats("less", 3)))
    monkeypatch.setattr("ctxassembly.retrieval.ranking.MAX_SPECIFIC_CHUNKS", 5)
    assert words("often rare less", [], vocabulary) == ["rare", "less"]


def test_names_that_were_appended_are_not_rescued():
    vocabulary = QueryVocabulary(1000, (TermStats("huidarts", 1), TermStats("dermatologie", 1)))
    assert words("huidarts", [], vocabulary) == ["huidarts"]


def test_a_stem_of_the_index_is_the_word_that_begins_with_it():
    vocabulary = QueryVocabulary(1000, (TermStats("ferritin", 1),))
    assert words("Ferritine?", [HIT], vocabulary) == ["ferritin"]


def test_a_word_that_the_index_has_not_is_looked_for_by_near_ones():
    vocabulary = QueryVocabulary(1000, (TermStats("ferirtine", 0, ("ferritine", "territoir")), TermStats("zzzz", 0)))
    (one,) = rare_missing_terms("ferirtine zzzz", [HIT], vocabulary, CONFIG)
    assert one == MissingTerm("ferirtine", (TermStats("ferritine", 1), TermStats("territoir", 1)))


def test_a_hit_that_has_the_near_word_has_the_word():
    """Else the chunk that answers would be fetched once more and stand last."""
    vocabulary = QueryVocabulary(1000, (TermStats("ferirtine", 0, ("ferritine",)),))
    assert words("ferirtine", [chunk("A", "Ferritine wordt 's ochtends bepaald.")], vocabulary) == []


# Rescued


def one(name: str, score: float, *terms: str) -> ScoredChunk:
    return ScoredChunk(chunk(name), None, score, terms)


def test_one_chunk_for_each_word_the_best_one():
    terms = [MissingTerm("psoriasis", (TermStats("psoriasis", 2),)), MissingTerm("eczeem", (TermStats("eczeem", 2),))]
    found = [one("A", 1.0, "psoriasis"), one("B", 3.0, "psoriasis"), one("C", 2.0, "eczeem"), one("D", 9.0, "water")]
    after = rescue_hits(terms, found)
    assert ids(after) == ["B", "C"]
    assert [(each.because_of, each.published_score, each.channels) for each in after] == [
        (("psoriasis",), PUBLISHED_RESCUE_SCORE, ("rescue",)),
        (("eczeem",), PUBLISHED_RESCUE_SCORE, ("rescue",)),
    ]


def test_a_chunk_that_serves_two_words_comes_once():
    terms = [MissingTerm(word, (TermStats(word, 2),)) for word in ("psoriasis", "eczeem")]
    (only,) = rescue_hits(terms, [one("A", 5.0, "psoriasis", "eczeem"), one("B", 1.0, "eczeem")])
    assert (only.chunk.id, only.because_of) == ("A", ("psoriasis", "eczeem"))


def test_the_nearest_form_goes_before_a_better_score():
    terms = [MissingTerm("ferirtine", (TermStats("ferritine", 1), TermStats("territoir", 1)))]
    assert ids(rescue_hits(terms, [one("A", 9.0, "territoir"), one("B", 1.0, "ferritine")])) == ["B"]


def test_none_has_the_word():
    assert rescue_hits([MissingTerm("psoriasis", (TermStats("psoriasis", 1),))], [one("A", 9.0, "water")]) == []
    assert rescue_hits([MissingTerm("psoriasis", (TermStats("psoriasis", 1),))], []) == []


def test_a_chunk_that_does_not_go_with_the_intent_is_not_brought():
    terms = [MissingTerm("rolstoel", (TermStats("rolstoel", 2),))]
    found = [one("A", 9.0, "rolstoel"), one("B", 1.0, "rolstoel")]
    assert ids(rescue_hits(terms, found, lambda each: 0.3 if each.id == "A" else 1.0)) == ["B"]
    assert rescue_hits(terms, found, lambda _: 0.3) == []
    assert ids(rescue_hits(terms, found, lambda each: 20.0 if each.id == "B" else 1.0)) == ["B"]
