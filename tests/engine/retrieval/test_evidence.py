from __future__ import annotations

import pytest
from pieces import found

from ctxassembly.retrieval import QueryVocabulary, TermStats
from ctxassembly.retrieval.ranking import MAX_SCORED_CHUNKS, score_evidence

WORDS = QueryVocabulary(100, (TermStats("the", 90), TermStats("ferritin", 2)))
TOTAL = sum(WORDS.weights.values())


def test_it_is_the_best_sum_of_similarity_and_share_of_the_words_of_one_chunk():
    both = found("A", similarity=0.5, keyword_score=1.0, terms=("ferritin",))
    share = WORDS.weights["ferritin"] / TOTAL
    assert share > 0.9
    assert score_evidence([both], WORDS) == pytest.approx(0.5 + share)
    apart = [found("B", similarity=0.5), found("C", similarity=0.1, keyword_score=1.0, terms=("ferritin",))]
    assert score_evidence(apart, WORDS) == pytest.approx(0.1 + share)  # of one chunk, not of two


def test_a_common_word_says_little():
    assert (score_evidence([found("A", similarity=0.0, terms=("the",))], WORDS) or 0) < 0.05


def test_a_similarity_below_0_counts_as_none():
    assert score_evidence([found("A", similarity=-0.4, terms=("the", "ferritin"))], WORDS) == pytest.approx(1.0)


def test_words_alone_and_vectors_alone():
    assert score_evidence([found("A", keyword_score=1.0, terms=("the", "ferritin"))], WORDS) == pytest.approx(1.0)
    assert score_evidence([found("A", similarity=0.6)], None) == 0.6
    assert score_evidence([found("A", similarity=0.6)], QueryVocabulary(9, ())) == 0.6


def test_nothing_known_is_none():
    assert score_evidence([], WORDS) is None
    assert score_evidence([found("A", keyword_score=12.0)], None) is None  # a channel of another make


def test_only_the_best_are_looked_at():
    weak = [found(f"A{at}", similarity=0.1) for at in range(MAX_SCORED_CHUNKS)]
    assert score_evidence([*weak, found("Z", similarity=0.9)], None) == 0.1
