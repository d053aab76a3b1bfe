from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations

import pytest

from builders import candidate_of
from ctxassembly.assembly.rendering.excerpt import build_document_texts
from ctxassembly.assembly.rendering.join import find_join
from ctxassembly.assembly.selection.shorten import build_excerpts, candidate_sentences
from ctxassembly.data.candidates import Candidate, Join, TextPiece
from ctxassembly.data.chunks import Chunk
from stopwatch import grows_less

SIX = [f"{name} is a sentence of some length." for name in ("First", "Second", "Third", "Fourth", "Fifth", "Sixth")]
TEXT = " ".join(SIX)
STARTS = [TEXT.index(sentence) for sentence in SIX]
JOINT = partial(find_join, min_chars=20, max_chars=None)


def chunk(name: str, index: int, first: int, last: int, *, offsets: bool = True) -> Chunk:
    """The sentences from the first to the last one."""
    start = STARTS[first]
    return Chunk(name, "A", TEXT[start : STARTS[last] + len(SIX[last])], index, start if offsets else None)


def reduced(whole: Chunk, *numbers: int) -> Candidate:
    """The chunk with these of its sentences."""
    candidate = candidate_of(whole, 0, position=whole.index or 0)
    found = candidate_sentences(candidate)
    return build_excerpts([found[number] for number in numbers])[0]


def written(*candidates: Candidate) -> str:
    return "\n[gap]\n".join("".join(each.separator + each.text for each in passage) for passage in pieces(*candidates))


def pieces(*candidates: Candidate) -> list[tuple[TextPiece, ...]]:
    return [stretch.pieces for stretch in build_document_texts(candidates, JOINT) if stretch.pieces]


def expected(numbers: set[int]) -> str:
    """The sentences in order, each once, with a marker where any is missing between two."""
    text = ""
    for number in sorted(numbers):
        text += "" if not text else " " if number - 1 in numbers else " [...] "
        text += SIX[number]
    return text


SUBSETS = [numbers for size in range(1, 5) for numbers in combinations(range(4), size)]


@pytest.mark.parametrize("offsets", [True, False])
def test_of_two_that_overlap_each_character_stands_once_in_order_and_gaps_are_marked(offsets: bool):
    """Sentences 0 to 3 and 2 to 5, any of them left out on either side."""
    first, second = chunk("a", 0, 0, 3, offsets=offsets), chunk("b", 1, 2, 5, offsets=offsets)
    for kept in SUBSETS:
        for others in SUBSETS:
            numbers = {*kept, *(number + 2 for number in others)}
            assert written(reduced(first, *kept), reduced(second, *others)) == expected(numbers), (kept, others)


@pytest.mark.parametrize("offsets", [True, False])
def test_a_chunk_inside_another_adds_what_that_one_left_out(offsets: bool):
    outer, inner = chunk("a", 0, 0, 5, offsets=offsets), chunk("b", 1, 2, 3, offsets=offsets)
    for kept in SUBSETS:
        for others in [(0,), (1,), (0, 1)]:
            numbers = {*kept, *(number + 2 for number in others)}
            assert written(reduced(outer, *kept), reduced(inner, *others)) == expected(numbers), (kept, others)


@pytest.mark.parametrize(("start", "text"), [(9, "No. Yes."), (0, "Yes. No."), (None, "Yes. No."), (4, "Yes. No.")])
def test_where_a_chunk_inside_another_stands_is_told_by_offsets_that_are_right(start: int | None, text: str):
    outer, inner = (
        Chunk("a", "A", "Yes. No. Yes. Wait.", 0, 0),
        candidate_of(Chunk("b", "A", "Yes.", 1, start), 1, position=1),
    )
    (stretch,) = build_document_texts([reduced(outer, 1), inner], lambda *_: Join(4, ""))
    assert "".join(each.separator + each.text for each in stretch.pieces) == text


def test_what_two_share_belongs_to_the_first_that_keeps_it():
    first, second = reduced(chunk("a", 0, 0, 3), 2), reduced(chunk("b", 1, 2, 5), 0, 1)
    (passage,) = pieces(first, second)
    assert [(piece.candidate.chunk.id, piece.text.strip()) for piece in passage] == [("a", SIX[2]), ("b", SIX[3])]
    assert [piece.overlap for piece in passage] == [0, len(SIX[2]) + 1]


def test_a_chunk_that_adds_nothing_has_no_piece():
    whole, inside = candidate_of(chunk("a", 0, 0, 3), 0), reduced(chunk("b", 1, 2, 5), 0)
    (passage,) = pieces(whole, inside)
    assert [piece.candidate.chunk.id for piece in passage] == ["a"]


def test_chunks_with_a_gap_between_them_make_two_passages():
    first, second = reduced(chunk("a", 0, 0, 1), 0), reduced(chunk("b", 4, 4, 5), 1)
    assert written(first, second) == f"{SIX[0]}\n[gap]\n{SIX[5]}"


def test_chunks_that_touch_without_overlap_are_joined_by_a_line_break():
    first, second = Chunk("a", "A", "One. Two.", 0), Chunk("b", "A", "Three. Four.", 1)
    assert written(reduced(first, 1), reduced(second, 0)) == "Two.\nThree."
    assert written(reduced(first, 0), reduced(second, 0)) == "One.\n[...]\nThree."
    assert written(reduced(first, 1), reduced(second, 1)) == "Two.\n[...]\nFour."


@pytest.mark.parametrize(
    ("rule", "text", "kept", "stands"),
    [
        ("a gap inside a line", "One. Two. Three.", (0, 2), "One. [...] Three."),
        ("a line of its own where lines are missing", "One.\nTwo.\nThree.", (0, 2), "One.\n[...]\nThree."),
        ("a line break before what is missing", "One.\nTwo. Three.", (0, 2), "One.\n[...]\nThree."),
        ("a line break after it", "One. Two.\nThree.", (0, 2), "One.\n[...]\nThree."),
        ("a line break inside it", "One. Two.\nThree. Four.", (0, 3), "One.\n[...]\nFour."),
        ("another item", "- One. Two.\n- Three. Four.", (0, 3), "- One.\n[...]\nFour."),
        ("text below a heading", "# One. Two\nThree. Four.", (0, 3), "# One.\n[...]\nFour."),
        ("a wrapped line is no break", f"One. {'Two ' * 10}\nis three. Four.", (0, 2), "One. [...] Four."),
        ("with its indentation", "f:\n  a\n  b\n    c\n", (0, 3), "f:\n[...]\n    c"),
        ("blank lines around go", "One.\n\n\nTwo.\n\n\n  Three.", (0, 2), "One.\n[...]\n  Three."),
        ("a row of a table stays one", "| a | 1. |\n| b | 2. |\n| c | 3. |", (0, 2), "| a | 1. |\n[...]\n| c | 3. |"),
        ("Chinese", "一二。三四。五六。", (0, 2), "一二。 [...] 五六。"),
        ("what is missing before or after has none", "One. Two. Three. Four.", (1, 2), "Two. Three."),
        ("what touches has none", "One.  Two.\n\n Three.", (0, 1), "One.  Two."),
        ("the first line keeps its indentation", "f:\n  a\n  b\n", (1,), "  a"),
    ],
)
def test_how_a_gap_is_marked(rule: str, text: str, kept: tuple[int, ...], stands: str):
    assert written(reduced(Chunk("a", "A", text, 0), *kept)) == stands


def test_a_slice_that_begins_anywhere_loses_its_white_space_after_a_gap():
    text = "One. \n \n  Two. Three. "
    at = text.index(" \n")
    candidate = candidate_of(Chunk("a", "A", text), 0, kept_spans=((0, 3), (at, at + 10), (19, 22)))
    assert written(candidate) == "One\n[...]\n  Two. [...] e."
    blank = candidate_of(Chunk("a", "A", text), 0, kept_spans=((0, 3), (at, at + 2), (19, 22)))
    assert written(blank) == "One\n[...]\ne."


def test_a_candidate_of_blanks_alone_has_no_piece():
    assert pieces(candidate_of(Chunk("a", "A", " / "), 0, kept_spans=((0, 1),))) == []


@pytest.mark.parametrize("kind", ["one chunk", "one inside another", "many that overlap", "two that take turns"])
def test_time_is_about_linear(kind: str):
    """16 times the text takes some 16 times the time; a quadratic search would take 256 times."""

    def candidates(length: int) -> list[Candidate]:
        text = "".join(f"w{n:05}. " for n in range(length))
        if kind == "many that overlap":
            made = [Chunk(f"c{n}", "A", text[n * 40 : n * 40 + 80], n, n * 40) for n in range(length // 5)]
            return [candidate_of(each, 0, position=n, kept_spans=((8, 16), (40, 48))) for n, each in enumerate(made)]
        spans = tuple((at, at + 7) for at in range(0, len(text), 16))
        others = tuple((at + 8, at + 15) for at in range(0, len(text), 16))
        outer = candidate_of(Chunk("a", "A", text, 0, 0), 0, kept_spans=spans)
        if kind == "one chunk":
            return [outer]
        inner = Chunk("b", "A", text if kind == "two that take turns" else text[: len(text) // 2], 1, 0)
        kept = others if kind == "two that take turns" else others[: len(others) // 2]
        return [outer, candidate_of(inner, 1, position=1, kept_spans=kept)]

    def cutting(length: int) -> Callable[[], object]:
        made = candidates(length)
        return lambda: pieces(*made)

    assert grows_less(cutting, 4_000, 64_000, 80)
