from __future__ import annotations

from pieces import found, ids

from ctxassembly.retrieval.ranking import insert_at

HITS = [found(name, score) for name, score in (("A", 1.0), ("B", 0.7), ("C", 0.4))]


def scores(some) -> list[float]:
    return [one.score for one in some]


def test_the_first_places():
    after = insert_at(HITS, [found("X", 0.0), found("Y", 0.0)], position="first", limit=5)
    assert ids(after) == ["X", "Y", "A", "B", "C"]
    assert scores(after) == [1.0, 1.0, 1.0, 0.7, 0.4]


def test_the_last_places():
    after = insert_at(HITS, [found("X", 0.0)], position="last", limit=5)
    assert ids(after) == ["A", "B", "C", "X"]
    assert scores(after) == [1.0, 0.7, 0.4, 0.4]


def test_the_least_make_room():
    assert ids(insert_at(HITS, [found("X")], position="last", limit=3)) == ["A", "B", "X"]
    assert ids(insert_at(HITS, [found("X")], position="first", limit=3)) == ["X", "A", "B"]
    assert ids(insert_at(HITS, [found("X"), found("Y")], position="first", limit=1)) == ["X"]


def test_a_chunk_of_both_stands_once_in_the_better_place():
    assert ids(insert_at(HITS, [found("C")], position="first", limit=3)) == ["C", "A", "B"]
    assert ids(insert_at(HITS, [found("A"), found("X")], position="last", limit=3)) == ["A", "B", "X"]


def test_scores_never_rise():
    for at in ("first", "last"):
        after = scores(insert_at(HITS, [found("X", 0.95), found("B", 0.9)], position=at, limit=4))
        assert after == sorted(after, reverse=True)


def test_with_nothing_beside():
    assert scores(insert_at([], [found("X", 0.0)], position="last", limit=3)) == [1.0]
    assert insert_at(HITS, [], position="last", limit=3) == HITS
