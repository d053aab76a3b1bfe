from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from builders import candidate_of
from ctxassembly import Chunk
from ctxassembly.assembly.rendering.groups import document_texts
from ctxassembly.assembly.rendering.join import Joins
from ctxassembly.assembly.scoring.features import score_sentences
from ctxassembly.assembly.scoring.sentences import EVERY_SENTENCE, Ranking, ScoredSentences, minimum_at
from ctxassembly.assembly.scoring.weights import WEIGHTS
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import Candidate, CandidateSpan
from ctxassembly.text.lines import TextLines


def candidate(
    name: str, text: str, rank: int = 0, distance: int = 0, position: int = 0, document: str = ""
) -> Candidate:
    return candidate_of(Chunk(name, document or name, text), rank, None, distance, position)


def valued(query: str, *candidates: Candidate) -> ScoredSentences:
    return score_sentences(document_texts(candidates, Joins(AssemblyConfig())), query)


def ranked(query: str, *candidates: Candidate) -> list[str]:
    units = valued(query, *candidates)
    return [units.sentence_text(index) for index in units.included]


FILLER = "Nothing here. "


@pytest.mark.parametrize(
    ("rule", "candidates", "first"),
    [
        (
            "the words of the query decide",
            [candidate("a", FILLER + "Parking is free."), candidate("b", FILLER + "Drink no water.", rank=1)],
            "Drink no water.",
        ),
        (
            "where none has them, the rank does",
            [candidate("a", "One thing.", rank=1), candidate("b", "Another.", rank=0)],
            "Another.",
        ),
        (
            "of equal ones the hit before its neighbor",
            [
                candidate("n", "No water here.", distance=1, position=0, document="D"),
                candidate("h", "No water there.", position=1, document="D"),
            ],
            "No water there.",
        ),
        (
            "what stands between two that answer is worth more than what stands alone",
            [candidate("a", "Cold milk. " + FILLER * 8 + "No water. It is so. No water. ")],
            "It is so.",
        ),
        (
            "a document with several hits before one with one",
            [
                candidate("a0", "One.", rank=1, position=0, document="A"),
                candidate("a9", "Two.", rank=2, position=9, document="A"),
                candidate("b", "Three.", rank=1, document="B"),
            ],
            "One.",
        ),
    ],
)
def test_what_is_worth_most(rule: str, candidates: list[Candidate], first: str):
    order = ranked("water", *candidates)
    if rule.startswith("what stands between"):
        assert order.index(first) < order.index("Nothing here.")
    else:
        assert order[0] == first


@pytest.mark.parametrize(
    ("rule", "query", "answers", "misleads"),
    [
        (
            "a compound says more than what begins like it",
            "Wer besitzt Gemeinschaftsapotheken?",
            "Die Gemeinschaftsapotheke gehört ihr.",
            "Die Gemeinde ist der Gemeinde Gemeinden.",
        ),
        (
            "a word that every chunk has says nothing, however few sentences have it",
            "Annual clinical report: which dose?",
            "The dose is low.",
            "An annual report, a clinical one.",
        ),
    ],
)
def test_which_words_say_most(rule: str, query: str, answers: str, misleads: str):
    filler = "Annual clinical report. " + FILLER * 6
    texts = [filler + misleads, filler + answers, filler, filler]
    order = ranked(query, *(candidate(f"c{rank}", text, rank=rank) for rank, text in enumerate(texts)))
    assert order.index(answers) < order.index(misleads)


@pytest.mark.parametrize(
    ("language", "query", "answers", "misleads"),
    [
        ("en", "Explain ferritin", "Ferritin is low.", "They explain all."),
        ("en", "What is explained about ferritin?", "Ferritin lay low.", "Much about a door."),
        ("nl", "Waarom vergoeding?", "Vergoeding volgt dan.", "Zie verder waarom."),
        ("de", "Erkläre Rente", "Rente bleibt niedrig.", "ERKLÄRE alles hier."),
        ("fr", "Résume l'indemnité", "Indemnité faible donc.", "Il se résume ainsi."),
        ("es", "¿Cuándo cerró?", "Cerró temprano ayer.", "Depende de cuándo."),
    ],
)
def test_function_words_weigh_half(
    language: str, query: str, answers: str, misleads: str, monkeypatch: pytest.MonkeyPatch
):
    """The function word is rarer here than what is asked for, as instructions are in any text."""
    texts = (misleads, answers, f"{answers} {FILLER * 4}", *[FILLER] * 6)
    candidates = [candidate(f"c{number}", text) for number, text in enumerate(texts)]
    assert ranked(query, *candidates)[0] == answers
    monkeypatch.setattr("ctxassembly.assembly.scoring.weights.STOP_WORD_WEIGHT", 1.0)
    assert ranked(query, *candidates)[0] == misleads


def test_a_word_that_begins_like_a_function_word_weighs_all():
    """ "Furthering" is asked for, and found as "further", which says little in a query that has nothing else of it."""
    texts = ("Further milk.", "Ferritin is low.", f"Ferritin is low. {FILLER * 4}", *[FILLER] * 6)
    candidates = [candidate(f"c{number}", text) for number, text in enumerate(texts)]
    assert ranked("the furthering of ferritin", *candidates)[0] == "Further milk."
    assert ranked("further ferritin", *candidates)[0] == "Ferritin is low."


def test_function_words_alone_weigh_alike(monkeypatch: pytest.MonkeyPatch):
    texts = ("What is it about?", "Something about it.", *[FILLER] * 6)
    candidates = [candidate(f"c{number}", text) for number, text in enumerate(texts)]
    asked = valued("What is it about?", *candidates)
    monkeypatch.setattr("ctxassembly.assembly.scoring.weights.STOP_WORD_WEIGHT", 1.0)
    alike = valued("What is it about?", *candidates)
    assert asked.scores.tolist() == alike.scores.tolist()


def test_what_a_heading_says_holds_for_its_section():
    text = "# Parking\nIt is free.\n# Water\nYou may have some of it.\n"
    order = ranked("water", candidate("a", text))
    assert order.index("You may have some of it.") < order.index("It is free.")
    # without the headings there is nothing to tell them by but the sentence beside them
    units = valued("water", candidate("a", text))
    plain = valued("water", candidate("a", text.replace("# ", "")))
    assert units.scores[3] - units.scores[1] > plain.scores[3] - plain.scores[1]


def test_units_are_the_sentences_of_what_the_chunks_make_together():
    first = candidate("a", "One. Two begins ", position=0, document="D")
    second = candidate("b", "Two begins and ends. Three.", position=1, document="D", rank=1)
    other = candidate("c", "Elsewhere.", document="E", rank=2)
    joined = [each._replace(chunk=replace(each.chunk, start=start)) for each, start in ((first, 0), (second, 5))]
    units = valued("query", *joined, other)
    texts = [units.text[begin:end] for begin, end in pairwise(units.boundaries)]
    assert texts == ["One. ", "Two begins and ends. ", "Three.", "Elsewhere."]
    assert units.continues == [False, True, True, False]
    assert [(share.candidate.chunk.id, list(share.sentence_range)) for share in units.candidate_spans] == [
        ("a", [0, 1]),
        ("b", [1, 2]),
        ("c", [3]),
    ]


def test_a_chunk_with_a_sentence_that_answers_may_be_worth_more_than_one_with_a_better_mean():
    even, uneven = candidate("a", "One. Two. Three."), candidate("b", "One. Two. Three.")
    shares = [CandidateSpan(even, 0, 16, range(3)), CandidateSpan(uneven, 0, 16, range(3, 6))]
    for answer, order in ((8.0, [uneven, even]), (4.0, [even, uneven])):
        values = np.array([3.0, 3.0, 3.0, 0.0, answer, 0.0])
        text: tuple[str, list[int], Any, list[bool], list[str]] = ("", [], values, [], [])
        ranking = Ranking(values, shares, np.arange(6), np.array([3, 3]))
        units = ScoredSentences(*text, ranking, values, values, TextLines("", [], [], []))
        assert units.rank_candidates([even, uneven]) == order


def test_what_is_worth_its_room_follows_from_the_best_alone():
    good, bad, worse = candidate("a", "No water."), candidate("b", "Parking is free."), candidate("c", "So.", rank=9)
    units = valued("water", good, bad, worse)
    assert units.scores[0] - units.scores[1] == pytest.approx(WEIGHTS.max_lexical_score)
    for min_relevance, poor in ((0.49, {worse.key}), (0.51, {bad.key, worse.key}), (1.0, {bad.key, worse.key})):
        found = units.above_minimum(min_relevance, 4, math.inf)
        assert found.cutoff == min(score for score in units.scores if score >= found.cutoff)
        assert found.below_cutoff() == poor
    assert units.below_cutoff() == set()


def test_the_minimum_rises_with_the_tokens_so_far():
    hits = [candidate(f"h{n}", f"Nothing is said here of number {n}. " * 10, rank=n) for n in range(100)]
    units = valued("water", candidate("a", "No water. "), *hits)
    order = units.ranking.order.tolist()
    lengths = [units.boundaries[index + 1] - units.boundaries[index] for index in order]
    for min_relevance in (0.3, 0.35, 0.4):
        found = units.above_minimum(min_relevance, 4, math.inf)
        taken = int((units.scores >= found.cutoff).sum())
        assert 0 < taken < len(order)
        last, after = (
            1 - (max(units.scores) - units.scores[order[at]]) / units.max_lexical_score for at in (taken - 1, taken)
        )
        tokens = sum(lengths[:taken]) / 4
        assert after < minimum_at(np.array([tokens]), min_relevance)
        tied = int((units.scores > found.cutoff).sum())  # the first with the lowest score: all others have it, too
        assert last >= minimum_at(np.array([sum(lengths[:tied]) / 4]), min_relevance)
        assert found.next_below_cutoff(lengths[taken] + lengths[taken + 1]) == (2, pytest.approx(after))


def test_a_minimum_that_leaves_out_less_than_the_budget_does_not_count():
    units = valued("water", candidate("a", "No water."), candidate("b", "Parking is free.", rank=1))
    assert units.above_minimum(1, 4, max_chars=math.inf).cutoff > EVERY_SENTENCE
    assert units.above_minimum(1, 4, max_chars=8) is units
    assert units.above_minimum(0, 4, max_chars=math.inf) is units


def test_chunks_are_ordered_by_what_their_sentences_are_worth():
    low, high = candidate("a", "Parking is free. It is."), candidate("b", "No water. None.", rank=1)
    assert valued("water", low, high).rank_candidates([low, high]) == [high, low]
    assert valued("nothing of that", low, high).rank_candidates([low, high]) == [low, high]
