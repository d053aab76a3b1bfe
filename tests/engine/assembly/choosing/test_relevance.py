from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from builders import candidate_of
from ctxassembly.assembly.choosing import relevance
from ctxassembly.assembly.choosing.cut import sentences
from ctxassembly.assembly.choosing.relevance import best_sentences, scorer
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk
from stopwatch import grows_less


def ranked(query: str | None, *texts: str) -> list[str]:
    """The texts, best first; those with nothing to do with the query are left out."""
    score = scorer(query, texts)
    return sorted((text for text in texts if score(text) > 0), key=score, reverse=True)


PLAIN = "The garden is open to all who like it."


@pytest.mark.parametrize(
    ("rule", "query", "better", "worse"),
    [
        ("a word of the query", "garden", PLAIN, "The kitchen is open to all who like it."),
        ("more of them", "garden kitchen", "A garden, a kitchen, a hall.", "A garden, a cellar, a hall."),
        ("a rare one", "garden hall", "The hall is wide.", "The garden is wide."),
        ("the same stem of six letters", "gardens", PLAIN, "The kitchen is open to all who like it."),
        ("without capitals", "GARDEN", PLAIN, "The kitchen is open to all who like it."),
        ("a word twice, in as many words", "kitchen", "A kitchen, a kitchen.", "A kitchen, a bathroom."),
        ("in fewer words", "kitchen", "The kitchen here.", "The kitchen here, as told on every page of it."),
        ("a number of the query before a word of it", "pay 250", "They want 250 then.", "They pay 900 then."),
        ("a name of the query before a word of it", "does Ann pay", "So Ann went then.", "So Bob will pay then."),
        ("a number beside the query", "who may pay", "They pay 900 then.", "They pay some then."),
        ("a date", "who may pay", "They pay on 1 May then.", "They pay in this month then."),
        ("a name", "who may pay", "They pay Carla then.", "They pay nobody then."),
        ("no name: the word that begins the sentence", "the pay", "They pay Carla.", "Carla will pay."),
        ("Chinese", "退款", "三天内退款。", "三天内发货。"),
        ("Dutch", "raadplegingen", "Na de raadpleging betaalt u.", "Na de operatie betaalt u."),
    ],
)
def test_what_scores_better(rule: str, query: str, better: str, worse: str):
    others = ["The garden shed.", "One more garden."] if "rare" in rule else []
    score = scorer(query, [worse, better, *others])
    assert score(better) > score(worse)


def test_the_score_is_bm25_with_facts_counted_double():
    """Two sentences of one length, each with one word of the query and one number: idf = log(1 + 1.5 / 1.5)."""
    word, number = "alpha 1999 beta gamma", "delta 2040 eta lambda"
    score = scorer("alpha 2040", [word, number])
    beside = 0.25 * 2 * math.log(2) / 5
    assert score(word) == pytest.approx(math.log(2) + beside)
    assert score(number) == pytest.approx(2 * math.log(2) + beside)


def test_facts_beside_the_query_are_worth_a_quarter_of_its_rarest_word_at_most():
    """Three sentences of one length, so that of its length each is worth the same."""
    none, five = "Pay " + "and " * 40, "Pay " + "101 102 103 104 105 " + "and " * 35
    full = "Pay " + "".join(f"{n} " for n in range(101, 141))
    score = scorer("pay", [full, five, none])
    assert score(five) == pytest.approx(1.25 * score(none))
    assert score(full) == pytest.approx(score(five))


@pytest.mark.parametrize("query", [None, "", "?", "zebra"])
def test_without_a_word_to_look_for_numbers_and_names_decide(query: str | None):
    facts, one, none = "Ask Ann at 10.", "Ask them at 10.", "Ask them then."
    assert ranked(query, none, one, facts) == [facts, one]


def test_what_has_no_word_of_the_query_is_worth_nothing():
    score = scorer("garden", [PLAIN, "Ask Ann at 10."])
    assert score("Ask Ann at 10.") == 0


def candidate(name: str, text: str) -> Candidate:
    return candidate_of(Chunk(name, name, text), 0)


FIRST = candidate("a", "A hall. The garden. A hall. A garden with a hall. A shed.")
SECOND = candidate("b", "A kitchen. A cellar. A garden.")


def test_best_sentences_are_best_first_and_useless_ones_left_out():
    best = best_sentences("garden", [FIRST, SECOND])
    assert [each.text.strip() for each in best([FIRST])] == ["The garden.", "A garden with a hall."]
    assert [each.text.strip() for each in best([SECOND, FIRST])] == [
        "A garden.",
        "The garden.",
        "A garden with a hall.",
    ]


def test_where_all_are_useless_all_are_there_in_their_order():
    best = best_sentences("garden", [FIRST, SECOND])
    useless = candidate("c", "A hall. A shed. A cellar.")
    assert list(best([useless])) == sentences(useless)


def test_equal_ones_keep_their_order():
    best = best_sentences("hall", [candidate("a", "A hall. A shed. A hall. My hall.")])
    same = candidate("a", "A hall. A shed. A hall. My hall.")
    assert [each.span for each in best([same])] == [(0, 8), (16, 24), (24, 32)]


def test_how_rare_a_word_is_follows_from_all_candidates():
    """In the candidate itself both words are equally rare."""
    mixed = candidate("m", "A garden. A cellar.")
    others = [candidate(f"o{n}", "The garden is wide.") for n in range(3)]
    assert [each.text for each in best_sentences("garden cellar", [mixed])([mixed])] == ["A garden. ", "A cellar."]
    assert [each.text for each in best_sentences("garden cellar", [mixed, *others])([mixed])] == [
        "A cellar.",
        "A garden. ",
    ]


def test_nothing_is_read_before_the_function_is_asked(monkeypatch: pytest.MonkeyPatch):
    asked: list[Candidate] = []
    monkeypatch.setattr(relevance, "sentences", lambda each: asked.append(each) or sentences(each))
    best = best_sentences("garden", [FIRST, SECOND])
    assert asked == []
    best([FIRST])
    assert asked == [FIRST, SECOND, FIRST]
    best([SECOND])
    assert asked == [FIRST, SECOND, FIRST, SECOND]


HOSTILE = {
    "one sentence": "word ",
    "one word": "a",
    "one-word sentences": "Ja. ",
    "different words": "w{} ",
    "numbers": "12 ",
    "names": "Ann ",
    "Chinese": "退款",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_time_is_linear_on_hostile_text(kind: str):
    """32 times the text takes some 32 times the time; a quadratic search would take 1,024 times."""

    def choosing(length: int) -> Callable[[], object]:
        long = candidate("a", "".join(HOSTILE[kind].format(n) for n in range(length // len(HOSTILE[kind]))))
        return lambda: best_sentences("ja word a 12 Ann 退款", [long])([long])

    assert grows_less(choosing, 10_000, 320_000, 130)
