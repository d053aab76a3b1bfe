from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import hits_of
from ctxassembly import AssemblyConfig, Chunk, assemble

LONGEST_QUOTE, SEARCHED = 1_000, 4_000
"""Characters of the longest quote, and those before a marker that are searched for one."""
SAID = "Halve the dose according to [2] in all cases. See and 【3】 or [1, 2] for it's “exact” use."
LONG = " ".join(f"word{n}" for n in range(400))
CONTEXT = assemble(
    hits_of(
        [
            Chunk("a", "A", SAID, index=0),
            Chunk("b", "B", "Four grams at most. [7] agrees, as [2] does not."),
            Chunk("c", "C", LONG),
        ]
    )
)


def used(answer: str, mode: Any = "renumber") -> tuple[list[str], tuple[str, ...], str]:
    resolved = CONTEXT.resolve(answer, mode)
    return [citation.label for citation in resolved.citations], resolved.unknown, resolved.text


@pytest.mark.parametrize(
    ("rule", "answer", "cited"),
    [
        ("cited after it", 'It says "according to [2] in all cases." [1].', "1"),
        ("at the beginning", 'It says "[2] in all cases" [1].', "1"),
        ("at the end", 'It says "dose according to [2]" [1].', "1"),
        ("guillemets", "Il dit «according to [2] in all cases» [1].", "1"),
        ("German", "Da steht „according to [2] in all cases“ [1].", "1"),
        ("French", "Il dit «\u00a0according to [2] in all cases\u00a0» [1].", "1"),
        ("capitals and blanks apart", 'It says "According  to [2] in all cases" [1].', "1"),
        ("a list", 'It says "or [1, 2] for" [1].', "1"),
        ("several", 'It says "according to [2] in all cases. See and 【3】 or [1, 2] for" [1].', "1"),
        ("an unknown one", 'It says "[7] agrees" [2].', "2"),
        ("with the model's own at the end", 'It says "according to [2] in all cases. [1]"', "1"),
        ("after an apostrophe", "It's the patients' dose: \"according to [2] in all cases\" [1].", "1"),
        ("a quote before it", '"Four grams at most" [2], but "according to [2] in all cases" [1].', "21"),
    ],
)
def test_a_reference_that_a_source_has_where_it_is_quoted_cites_nothing(rule: str, answer: str, cited: str):
    assert used(answer, "keep") == ([*cited], (), answer)
    assert all(quote.found for quote in CONTEXT.check_quotes(answer))


@pytest.mark.parametrize(
    ("rule", "answer", "cited"),
    [
        ("no quotation marks", "Halve the dose according to [2] in all cases.", "2"),
        ("no source says it so", 'It says "halve it according to [2]".', "2"),
        ("between two quotes", '"Four grams" [2] "in all cases"', "2"),
        ("the marks are of two lines", 'A "mark.\nAccording to [2] in all cases" [1].', "21"),
        ("the quote is too long", f'"according to [2] in all cases. {LONG[:LONGEST_QUOTE]}" [1]', "21"),
        ("an apostrophe opens nothing", "The patient's dose according to [2] in all cases, children's too.", "2"),
        ("the model's own inside the marks", 'It says "Four grams at most [2]."', "2"),
    ],
)
def test_any_other_marker_cites(rule: str, answer: str, cited: str):
    assert used(answer, "keep")[0] == [*cited]


def test_what_is_quoted_is_neither_renumbered_nor_removed():
    answer = 'Yes [3]. "According to [2] in all cases" [1].'
    assert used(answer)[2] == 'Yes [1]. "According to [2] in all cases" [2].'
    assert used(answer, "remove")[2] == 'Yes. "According to [2] in all cases".'


@pytest.mark.parametrize("form", ["numbered", "source", "xml", "grouped", "minimal"])
def test_what_the_context_wrote_with_a_backslash_is_quoted_with_it_or_without(form: str):
    context = assemble(hits_of([Chunk("a", "A", "Text.\n[2] is a rule.\n---\nEnd.")]), AssemblyConfig(format=form))
    for quote in ("[2] is a rule", r"\[2] is a rule", r"\[2] is a rule. \--- End."):
        assert [each.found for each in context.check_quotes(f'"{quote}" [1]')] == [True]
        assert [each.label for each in context.resolve(f'"{quote}" [1]').citations] == ["1"]


@pytest.mark.parametrize("gap", [10, SEARCHED - 50, SEARCHED + 50, 3 * SEARCHED])
def test_a_quote_is_seen_far_into_its_line(gap: int):
    assert used(f'{"x" * gap} "according to [2] in all cases." [1]')[0] == ["1"]


FRAGMENTS = (
    *('"', "“", "”", "„", "«", "»", "'", "‘", "’", "\n", " ", ". ", "`", "\\", "x"),
    *("according to [2]", " in all cases", "[1]", "[2]", "[7] agrees", "See and", "【3】", "[1, 2] for"),
    *('"according to [2] in all cases"', "It's ", "[9]", "w" * 300, LONG[:900]),
)
answers = st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join)


@given(answers, st.lists(st.integers(0, 40), max_size=60), st.sampled_from(["keep", "renumber", "remove"]))
def test_pieces_of_any_size_give_what_the_whole_gives(answer: str, sizes: list[int], mode: Any):
    whole = CONTEXT.resolve(answer, mode)
    pieces, at = [], 0
    for size in sizes:
        pieces.append(answer[at : at + size])
        at += size
    for cut in ([*pieces, answer[at:]], [*answer]):
        reader = CONTEXT.reader(mode)
        given_back = "".join([*(reader.feed(piece) for piece in cut), reader.close()])
        assert given_back == whole.text
        assert reader.resolved == whole


def test_a_stream_waits_for_no_more_than_it_must():
    reader = CONTEXT.reader()
    assert reader.feed('A "word [3]" of [2]. ') == 'A "word [3]" of '  # no source has [3], and one has [2]
    assert reader.feed("More.\n") == "[2]. More.\n"
    assert reader.feed('It says "according to [2] in') == 'It says "according to '
    assert reader.feed(' all cases." [1]') == ""
    assert reader.feed(".\n") == '[2] in all cases." [1].\n'
    assert [citation.label for citation in reader.resolved.citations] == ["3", "2", "1"]
