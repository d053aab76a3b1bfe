from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from builders import candidate_of
from ctxassembly import AssemblyConfig
from ctxassembly.assembly.rendering.groups import document_texts
from ctxassembly.assembly.rendering.join import Joins
from ctxassembly.assembly.scoring.features import score_sentences
from ctxassembly.assembly.scoring.relevance import Relevance
from ctxassembly.assembly.selection.shorten import CandidateSentence, candidate_sentences, sentence_ranker
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk
from ctxassembly.tokens.counter import counter_for
from stopwatch import grows_less


def candidate(name: str, text: str, rank: int = 0) -> Candidate:
    return candidate_of(Chunk(name, name, text), rank)


def relevance(candidates: Sequence[Candidate], query: str | None) -> Relevance:
    config = AssemblyConfig()
    return Relevance(candidates, query, config, counter_for("cl100k_base"), Joins(config))


def ranking(query: str | None, *candidates: Candidate) -> Callable[[Sequence[Candidate]], Sequence[CandidateSentence]]:
    return sentence_ranker(relevance(candidates, query))


def ranked(query: str | None, *lines: str) -> list[str]:
    """The lines of one chunk, best first; those with nothing to do with the query are left out."""
    one = candidate("a", "\n".join(lines))
    return [sentence.text.strip() for sentence in ranking(query, one)([one])]


PLAIN = "The garden is open to all who like it."


@pytest.mark.parametrize(
    ("rule", "query", "better", "worse"),
    [
        ("a word of the query", "garden", PLAIN, "The kitchen is open to all who like it."),
        ("more of them", "garden kitchen", "A garden, a kitchen, a hall.", "A garden, a cellar, a hall."),
        ("the same stem of six letters", "gardens", PLAIN, "The kitchen is open to all who like it."),
        ("without capitals", "GARDEN", PLAIN, "The kitchen is open to all who like it."),
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
def test_what_ranks_better(rule: str, query: str, better: str, worse: str):
    for lines in ((worse, better), (better, worse)):
        assert ranked(query, *lines)[0] == better


def test_of_the_numbers_and_names_beside_the_query_five_count():
    five, ten = "Pay 101 102 103 104 105 then.", "Pay 101 102 103 104 105 106 107 108 109 110 then."
    assert ranked("pay", five, ten) == [five, ten]
    assert ranked("pay", ten, five) == [ten, five]
    assert ranked("pay", "Pay 101 102 103 104 then.", five)[0] == five


@pytest.mark.parametrize("query", [None, "", "?", "zebra"])
def test_without_a_word_to_look_for_numbers_and_names_decide(query: str | None):
    facts, one, none = "Ask Ann at 10.", "Ask them at 10.", "Ask them then."
    assert ranked(query, none, one, facts) == [facts, one, none]


FIRST = candidate("a", "A hall. The garden. A hall. A garden with a hall. A shed.")
SECOND = candidate("b", "A kitchen. A cellar. A garden.", rank=1)


def test_useless_sentences_are_left_out():
    best = ranking("garden", FIRST, SECOND)
    assert sorted(each.text.strip() for each in best([FIRST])) == ["A garden with a hall.", "The garden."]
    assert {each.candidate.key for each in best([SECOND, FIRST])} == {FIRST.key, SECOND.key}


def test_where_all_are_useless_all_are_there_in_their_order():
    useless = candidate("c", "A hall. A shed. A cellar.")
    assert list(ranking("garden", FIRST, SECOND, useless)([useless])) == candidate_sentences(useless)


def test_equal_ones_keep_their_order():
    same = candidate("a", "My hall.\nMy hall.\n")
    assert [each.span for each in ranking("hall", same)([same])] == [(0, 9), (9, 18)]


def test_sentences_are_valued_as_selection_values_them():
    """The sentence between two that answer beside one that stands alone, neither with a word of the query."""
    one = candidate("a", "Cold milk. Nothing here. Nothing there. No water. It is so. No water.")
    units = score_sentences(document_texts([one], Joins(AssemblyConfig())), "water")
    order = [each.text.strip() for each in ranking("water", one)([one])]
    values = {units.sentence_text(index): value for index, value in enumerate(units.scores)}
    assert order == sorted(order, key=lambda text: -values[text])


def test_the_words_of_a_sentence_itself_weigh_more_than_those_beside_it(monkeypatch: pytest.MonkeyPatch):
    """One with a slightly rarer word stands apart from three that have the other one."""
    one = candidate("a", "Warm water. Cold water. More water. So it is. And so it goes. The garden. So it is, too.")
    texts = ["All the water."] * 3 + ["A garden."] * 2
    others = [candidate(f"o{n}", text, rank=n + 1) for n, text in enumerate(texts)]

    def first() -> str:
        return ranking("water garden", one, *others)([one])[0].text.strip()

    assert first() == "The garden."
    monkeypatch.setattr("ctxassembly.assembly.selection.shorten.OWN_TERMS_BONUS", 0.0)
    assert first() == "Cold water."


def test_how_rare_a_word_is_follows_from_all_candidates():
    """In the candidate itself both words are equally rare."""
    mixed = candidate("m", "A garden. A cellar.")
    others = [candidate(f"o{n}", "The garden is wide.", rank=n + 1) for n in range(3)]
    assert [each.text for each in ranking("garden cellar", mixed)([mixed])] == ["A garden. ", "A cellar."]
    assert [each.text for each in ranking("garden cellar", mixed, *others)([mixed])] == ["A cellar.", "A garden. "]


def test_of_a_chunk_that_is_cut_only_what_is_kept_is_ranked():
    cut = FIRST._replace(kept_spans=((8, 28),))
    assert [each.text for each in ranking("garden", FIRST)([cut])] == ["The garden. "]


def test_a_sentence_that_two_chunks_share_is_found_in_each():
    """On the line that both make it is one unit, and of a sentence cut by a border each has a part."""
    first = candidate_of(Chunk("a", "D", "Hall. The garden is open all", 0, 0), 0, position=0)
    second = candidate_of(Chunk("b", "D", "garden is open all year. Shed.", 1, 10), 1, position=1)
    best = ranking("garden", first, second)
    assert [each.text for each in best([first])] == ["The garden is open all"]
    assert [each.text for each in best([second])] == ["garden is open all year. "]


def test_nothing_is_read_before_the_function_is_asked(monkeypatch: pytest.MonkeyPatch):
    read: list[str] = []

    def spy(*given: object) -> object:
        read.append("read")
        return score_sentences(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("ctxassembly.assembly.scoring.features.score_sentences", spy)
    best = sentence_ranker(relevance([FIRST, SECOND], "garden"))
    assert read == []
    best([FIRST])
    best([SECOND])
    assert read == ["read"]


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
        return lambda: ranking("ja word a 12 Ann 退款", long)([long])

    assert grows_less(choosing, 10_000, 320_000, 130)
