"""A heading with the words of the query raises its whole section."""

from __future__ import annotations

import pytest

from builders import candidate_of
from ctxassembly import Chunk
from ctxassembly.assembly.rendering.excerpt import DocumentText
from ctxassembly.assembly.scoring import features
from ctxassembly.assembly.scoring.features import HEADING_SHARE, score_sentences
from ctxassembly.assembly.scoring.sentences import ScoredSentences

QUERY = "How are alerts silenced?"
REST = "Open the second page. Choose a period. The team sees it."


def gains(text: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """How much nearer to the best one each sentence of `text` comes by its heading, in parts of the distance."""

    def scored() -> ScoredSentences:
        return score_sentences([DocumentText(candidate_of(Chunk("a", "a", text), 0))], QUERY)

    raised = scored()
    with monkeypatch.context() as patch:
        patch.setattr(features, "HEADING_SHARE", 0.0)
        plain = scored().scores
    distances = (plain.max() - plain).clip(min=1e-9)
    gained = (raised.scores - plain) / distances
    return {raised.sentence_text(index): round(float(gain), 6) for index, gain in enumerate(gained)}


def test_all_sentences_up_to_the_next_heading_gain(monkeypatch: pytest.MonkeyPatch):
    found = gains(f"Intro.\n## How alerts are silenced\n{REST}\n## Other\nNothing else.\n", monkeypatch)
    section = {f"{part}." for part in REST.rstrip(".").split(". ")}
    assert {text for text, gain in found.items() if gain} == section
    assert {found[text] for text in section} == {HEADING_SHARE}


def test_so_do_those_of_a_chunk_that_begins_with_the_heading(monkeypatch: pytest.MonkeyPatch):
    assert gains(f"## How alerts are silenced\n{REST}\n", monkeypatch)["The team sees it."] == HEADING_SHARE


def test_a_heading_with_half_of_the_words_adds_nothing(monkeypatch: pytest.MonkeyPatch):
    text = f"## Alerts\n{REST}\n## All\nHow alerts are silenced: not.\n"
    assert not any(gains(f"Intro.\n{text}", monkeypatch).values())


def test_nor_does_a_sentence_inside_a_section(monkeypatch: pytest.MonkeyPatch):
    assert not any(gains(f"Intro.\n## Pages\nFirst. This is how alerts are silenced. {REST}\n", monkeypatch).values())


def test_text_far_below_the_heading_gains_nothing(monkeypatch: pytest.MonkeyPatch):
    lines = "".join(f"Line {number} has nothing new to say.\n" for number in range(200))
    found = gains(f"Intro.\n## How alerts are silenced\n{lines}", monkeypatch)
    assert found["Line 9 has nothing new to say."] == HEADING_SHARE
    assert found["Line 199 has nothing new to say."] == 0
