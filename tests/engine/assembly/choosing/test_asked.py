"""How much each word of a query says: a function word half, whatever begins like it."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from ctxassembly.assembly.scoring.weights import STOP_WORD_WEIGHT, stop_word_weights


@pytest.mark.parametrize(
    ("rule", "query", "lesser", "half"),
    [
        ("function words by their stems", "Explain the ferritin values", None, "explai the"),
        (
            "a long one as a whole, too",
            "Zusammenfassungen bitte: Rente",
            ["zusammenfassungen"],
            "zusamm zusammenfassung",
        ),
        ("not what begins alike: 'underwriting' isn't 'under'", "what is underwriting", None, "what is"),
        ("a stem that another word has, too, keeps its weight", "summarize the summary of sea", None, "of the"),
        ("so does a long word", "Zusammenfassung, zusammenfassend: Rente", ["zusammenfassung"], "zusammenfassu"),
        ("only function words: all weigh alike", "What is it about?", None, ""),
        ("words of the caller's in place of them", "what ferritin level", ["level"], "level"),
        ("none of the caller's", "what ferritin level", [], ""),
        ("no words", "", None, ""),
    ],
)
def test_what_weighs_half(rule: str, query: str, lesser: Collection[str] | None, half: str):
    assert stop_word_weights(query, lesser) == dict.fromkeys(half.split(), STOP_WORD_WEIGHT)
