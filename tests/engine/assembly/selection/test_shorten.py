from __future__ import annotations

import pytest

from builders import candidate_of
from ctxassembly.assembly.selection.shorten import (
    CandidateSentence,
    bisect_fitting,
    build_excerpts,
    candidate_sentences,
    fit_excerpt,
    longest_prefix,
    truncate,
)
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk, Span
from strategies import words


def candidate(text: str, kept: tuple[Span, ...] | None = None) -> Candidate:
    return candidate_of(Chunk("a", "A", text), 0, kept_spans=kept)


def test_of_a_shortened_candidate_only_what_is_kept_has_sentences():
    found = candidate_sentences(candidate("One. Two. Three. Four.", ((0, 10), (17, 22))))
    assert [each.span for each in found] == [(0, 5), (5, 10), (17, 22)]
    assert [each.text for each in found] == ["One. ", "Two. ", "Four."]


@pytest.mark.parametrize(("most", "end"), [(0, 0), (3, 3), (4, 3), (9, 8), (99, 8)])
def test_the_last_end_that_fits(most: int, end: int):
    assert bisect_fitting([1, 3, 8], lambda end: end <= most) == end


def test_no_end_is_none_that_fits():
    assert bisect_fitting([], lambda end: True) == 0


@pytest.mark.parametrize(
    ("rule", "room", "cut"),
    [
        ("at a sentence", 17, "One two. Three!"),
        ("at a sentence, though more words would fit", 21, "One two. Three!"),
        ("else at a word", 7, "One"),
        ("else at a character", 2, "On"),
        ("else nowhere", 0, ""),
    ],
)
def test_where_to_cut(rule: str, room: int, cut: str):
    text = "One two. Three! Four five"
    assert text[: longest_prefix(text, 0, lambda end: end <= room)] == cut


@pytest.mark.parametrize(
    ("end", "kept"),
    [(1, ((0, 1),)), (4, ((0, 4),)), (6, ((0, 4), (6, 8))), (7, ((0, 4), (6, 9)))],
)
def test_the_beginning_of_what_is_kept(end: int, kept: tuple[Span, ...]):
    whole = candidate("0123456789", ((0, 4), (6, 10)))
    cut = truncate(whole, end, "budget")
    assert (cut.kept_spans, cut.shortened_by, cut.text) == (kept, "budget", whole.text[:end])


def test_the_beginning_that_is_all_is_the_candidate_itself():
    for whole in (candidate("0123456789"), candidate("0123456789", ((0, 4), (6, 10)))):
        assert truncate(whole, len(whole.text), "budget") is whole


FIVE = candidate("One. Two. Three. Four. Five.")


def chosen(*numbers: int, of: Candidate = FIVE) -> list[CandidateSentence]:
    found = candidate_sentences(of)
    return [found[number] for number in numbers]


@pytest.mark.parametrize(
    ("rule", "numbers", "kept"),
    [
        ("in the order of the text, whatever their rank", (3, 0), ((0, 5), (17, 23))),
        ("what touches is one slice", (1, 3, 2), ((5, 23),)),
        ("to the end", (4,), ((23, 28),)),
    ],
)
def test_an_excerpt(rule: str, numbers: tuple[int, ...], kept: tuple[Span, ...]):
    (reduced,) = build_excerpts(chosen(*numbers))
    assert reduced.kept_spans == kept
    assert reduced.shortened_by == "extractive"
    assert reduced.text == "".join(FIVE.chunk.text[start:end] for start, end in kept)


def test_an_excerpt_of_all_sentences_is_the_candidate_itself():
    part = candidate(FIVE.chunk.text, ((0, 10), (23, 28)))
    for whole, numbers in ((FIVE, (4, 3, 2, 1, 0)), (part, (2, 0, 1))):
        (same,) = build_excerpts(chosen(*numbers, of=whole))
        assert same is whole


def test_an_excerpt_of_several_has_those_that_any_sentence_is_of():
    other = candidate("Six. Seven.")
    assert [
        (each.chunk, each.kept_spans) for each in build_excerpts([*chosen(2), *chosen(1, of=other), *chosen(0)])
    ] == [
        (FIVE.chunk, ((0, 5), (10, 17))),
        (other.chunk, ((5, 11),)),
    ]
    assert build_excerpts([]) == []


def test_what_a_model_chose_stays_the_models():
    by_model = candidate_of(FIVE.chunk, 0, kept_spans=((0, 17),), shortened_by="llm")
    (reduced,) = build_excerpts(chosen(1, of=by_model))
    assert (reduced.kept_spans, reduced.shortened_by) == (((5, 10),), "llm")


LONG = candidate("A b c d e f g h i j too. L m now. O p q r s yes. U do.")  # of 11, 3, 6 and 2 words


@pytest.mark.parametrize(
    ("rule", "ranked", "room", "text"),
    [
        ("as many as fit, best first", (1, 3, 2, 0), 5, "L m now. U do."),
        ("all of them", (1, 3, 2, 0), 22, LONG.text),
        ("one that doesn't fit is passed over", (0, 1, 2, 3), 5, "L m now. U do."),
        ("wherever it stands", (1, 0, 3), 5, "L m now. U do."),
        ("and so is what is more than half as long", (0, 2, 1), 9, "L m now. "),
        ("nothing fits", (0, 1, 2, 3), 1, ""),
    ],
)
def test_what_fits_of_sentences(rule: str, ranked: tuple[int, ...], room: int, text: str):
    found = fit_excerpt(chosen(*ranked, of=LONG), lambda some: sum(words(each.text) for each in some) <= room)
    assert "".join(each.text for each in found) == text


@pytest.mark.parametrize("room", [0, 1, 50_000, 99_999])
def test_the_tries_are_few(room: int):
    ranked = candidate_sentences(candidate("Ja. " * 99_999 + "Nee."))
    tries: list[int] = []

    def fits(some: list[Candidate]) -> bool:
        tries.append(sum(words(each.text) for each in some))
        return tries[-1] <= room

    fit_excerpt(ranked, fits)
    assert len(tries) <= 25
    assert room in tries or room == 0
    assert len(tries) == 1 or room > 0
