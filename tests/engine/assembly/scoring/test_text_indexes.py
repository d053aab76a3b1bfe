from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ctxassembly.assembly.scoring import features
from ctxassembly.assembly.scoring.features import get_text_indexes
from ctxassembly.text.text_index import TextIndex, index_texts
from ctxassembly.tokens.cache import TextCache


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are really read."""
    features._CACHE.clear()
    texts: list[str] = []

    def spy(new: list[str]) -> list[TextIndex]:
        texts.extend(new)
        return index_texts(new)

    monkeypatch.setattr(features, "index_texts", spy)
    return texts


def test_a_text_is_read_once(asked: list[str]):
    first = get_text_indexes(["One. Two.", "Three.", "One. Two."])
    again = get_text_indexes(["Four.", "Three.", "One. Two."])
    assert asked == ["One. Two.", "Three.", "Four."]
    assert again[1] is first[1]
    assert again[2] is first[0]


def test_what_is_remembered_stays_bounded(asked: list[str], monkeypatch: pytest.MonkeyPatch):
    few = TextCache[TextIndex](100_000, features._CACHE._bytes_of)
    monkeypatch.setattr(features, "_CACHE", few)
    texts = [f"Text {number}. " + "Drink water. " * 20 for number in range(1_000)]
    for text in texts:
        get_text_indexes([text])
    kept = [*few.recent.values(), *few._old.values()]
    assert 10 < len(kept) < 100
    assert sum(one.nbytes for one in kept) <= 100_000
    get_text_indexes(texts[-1:])
    assert asked == texts


def test_threads_that_read_at_once_read_the_same(asked: list[str]):
    texts = [[f"Text {number % 7}. One. Two."] * 3 for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        found = [[one.sentence_starts for one in own] for own in pool.map(get_text_indexes, texts)]
    assert found == [[np.array([2 * 8, 2 * 13], dtype=np.uint32).tobytes()] * 3] * 200
