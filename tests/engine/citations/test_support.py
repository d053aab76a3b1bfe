"""How well each sentence of an answer is supported by the context."""

from __future__ import annotations

import pytest

from ctxassembly import Chunk, Hit, assemble, presets

TEXTS = (
    "Drink water until two hours before a gastroscopy. Eat nothing for 6 hours before it.",
    "Parking is free for the first hour. After that it costs two euros.",
    "Le parking est gratuit pendant la première heure.",
)
CONTEXT = assemble(
    [Hit(Chunk(f"{n}#0", str(n), text, 0)) for n, text in enumerate(TEXTS)], supplement="Appointment: Friday, 9:30."
)


@pytest.mark.parametrize(
    ("sentence", "score", "label"),
    [
        ("Drink water until two hours before a gastroscopy [1].", 1.0, "1"),
        ("Before gastroscopies, water is fine.", 2 / 3, "1"),
        ("Eat nothing for 6 hours [2].", 1.0, "1"),
        ("Eat nothing for 8 hours [1].", 0.5, "1"),
        ("Parking is free.", 1.0, "2"),
        ("Le parking est gratuit [3].", 1.0, "3"),
        ("Bring your insurance card.", 0.0, None),
        ("Your appointment is on Friday.", 1.0, None),
    ],
)
def test_a_sentence_is_scored_by_the_share_of_its_words(sentence: str, score: float, label: str | None):
    """The published rule: the groundedness of each sentence, by words."""
    [support] = CONTEXT.check_support(sentence)
    assert (support.score, support.label, support.text) == (pytest.approx(score), label, sentence)


def test_each_sentence_has_its_place_and_markers_belong_to_none():
    answer = "Parking is free. [2] See [1][3]. Eat nothing [99] for 6 hours.\n\nYes."
    supports = CONTEXT.check_support(answer)
    assert [answer[slice(*support.span)].strip() for support in supports] == [support.text for support in supports]
    assert [support.label for support in supports if support.score == 1] == ["2", "1"]
    assert CONTEXT.check_support("") == CONTEXT.check_support("[1] [2].") == ()


def test_a_context_without_labels_has_them_all_the_same():
    context = assemble([Hit(Chunk("p#0", "p", TEXTS[1], 0))], presets.VOICE)
    assert [support.label for support in context.check_support("Parking is free.")] == ["1"]
