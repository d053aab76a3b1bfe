"""How much each word of a query says: a function word half, whatever begins like it."""

from __future__ import annotations

import pytest

from ctxassembly.assembly.scoring.weights import STOP_WORD_WEIGHT, stop_word_weights
from ctxassembly.text.query_terms import QueryTerms


@pytest.mark.parametrize(
    ("rule", "query", "half"),
    [
        ("function words by their stems", "Explain the ferritin values", "explai the"),
        ("a long one as a whole, too", "Beschreiben Sie bitte: Rente", "beschr beschreib sie bitte"),
        ("not what begins alike: 'underwriting' isn't 'under'", "what is underwriting", "what is"),
        ("a stem that another word has, too, keeps its weight", "summarize the summary of sea", "of the"),
        ("so does a long word", "Beschreiben, beschreibend: Rente", "beschreib"),
        ("only function words: all weigh alike", "What is it about?", ""),
        ("nor a function word in a query with operators, where it may be a keyword", "difference of is and ==", ""),
        ("no words", "", ""),
    ],
)
def test_what_weighs_half(rule: str, query: str, half: str):
    assert stop_word_weights(QueryTerms(query)) == dict.fromkeys(half.split(), STOP_WORD_WEIGHT)
