from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import hits_of, words_of
from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from ctxassembly.errors import ConfigError, InputError
from stopwatch import takes_less

CONTEXT = assemble(hits_of([words_of(name, 0) for name in "ABCD"]))
Mode = Literal["keep", "renumber", "remove"]
MODES: tuple[Mode, ...] = ("keep", "renumber", "remove")
LONGEST_CODE = 1_000
"""Characters of the longest inline code."""


def used(resolved: Any) -> list[str]:
    return [citation.label for citation in resolved.citations]


@pytest.mark.parametrize(
    ("answer", "labels"),
    [
        ("A fact [1].", "1"),
        ("A fact [1, 2].", "12"),
        ("A fact [1-3].", "123"),
        ("A fact 【3】.", "3"),
        ("A fact [Bron 2].", "2"),
        ("A fact[2].", "2"),
        ("[3] says so, as [1] does, as [3] does.", "31"),
        ("A stray ` tick [1]\nand another ` [2]", "12"),
        ("An escaped \\` tick [1] `", "1"),
        (f"Code that is too long ` [1] {'x' * LONGEST_CODE} `", "1"),
        ("```\ncode\n```\nA fact [1].", "1"),
        ("```inline``` [1]", "1"),
        ("Unlike [[1]]", "1"),
        ("[01]", "1"),
        ("[2;1 ,3]", "213"),
        ("[1–3, 2]", "123"),
        ("[SOURCES 1, 2]", "12"),
        ("[SOURCE 1, SOURCE 4]", "14"),
        ("[SOURCE 1 - SOURCE 3]", "123"),
        ("Code ```[2]``` and [1]", "1"),
    ],
)
def test_every_form_cites(answer: str, labels: str):
    resolved = CONTEXT.resolve(answer)
    assert used(resolved) == list(labels)
    assert not resolved.is_unlabeled


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        ("inline code is skipped", "Take `a [1]` and ``b ` [2]``."),
        ("fenced code is skipped", "```python\nx = [1]\n```"),
        ("a fence ends with as many marks", "````\n[1]\n```\n[2]\n````"),
        ("a fence that is never closed reaches to the end", "```\n[1]\n\n[2]"),
        ("what the context escapes is no label", "\\[1] Source: forged.pdf"),
        ("an index is none", "x[1] and my_list[1][2] and _[1]"),
        ("superscripts are none", "10² m², Ca²⁺ and so they say.¹"),
        ("words in brackets are none", "[sic] [...] [see 1] [1 of 2] [] [a1]"),
        ("a range is bounded", "[1-1000] [1-51] [1914-1980]"),
        ("half a list is none", "[1,] [1-] [ ]"),
        ("a range that ends before it begins is none", "[3-1]"),
        ("a long number, a date or two numbers are none", "[1234567] [2024-01-02] [1 2]"),
    ],
)
def test_what_only_looks_like_a_citation(rule: str, answer: str):
    resolved = CONTEXT.resolve(answer)
    assert (used(resolved), resolved.unknown, resolved.text) == ([], (), answer)
    assert CONTEXT.resolve(answer, mode="remove").text == answer
    assert resolved.is_unlabeled


def test_unknown_labels_are_reported_and_unused_citations_listed():
    resolved = CONTEXT.resolve("One [7], two [2, 9], three [3-6].")
    assert resolved.unknown == ("7", "9", "5", "6")
    assert used(resolved) == ["2", "3", "4"]
    assert [citation.label for citation in resolved.unused] == ["1"]


def test_an_unknown_index_after_a_word_is_not_reported():
    assert CONTEXT.resolve("Take items[9] and fact[1] [8].").unknown == ("8",)


@pytest.mark.parametrize(
    ("answer", "unlabeled"),
    [("A fact.", True), ("A fact [1].", False), ("A fact [9].", False), ("", False), (" \n", False)],
)
def test_an_answer_without_any_label_is_reported(answer: str, unlabeled: bool):
    assert CONTEXT.resolve(answer).is_unlabeled is unlabeled


def test_no_label_is_missed_where_none_was_shown():
    for config in (AssemblyConfig(format="minimal"), AssemblyConfig(max_tokens=3)):
        assert not assemble(hits_of([words_of("A", 0)]), config).resolve("A fact.").is_unlabeled
    assert not assemble([]).resolve("Nothing was found.").is_unlabeled


@pytest.mark.parametrize(
    ("rule", "answer", "text"),
    [
        ("1..n by first use", "a [3] b [1] c [3]", "a [1] b [2] c [1]"),
        ("unknown labels left as they are", "a [3, 9] b [8]", "a [1, 9] b [8]"),
        ("a range stays one if it can", "[2-4]", "[1-3]"),
        ("with its blanks", "[2 – 4]", "[1 – 3]"),
        ("and its words", "[SOURCE 2, SOURCE 4]", "[SOURCE 1, SOURCE 2]"),
        ("and becomes a list if not", "[3] [2-4]", "[1] [2, 1, 3]"),
        ("the form stays", "【3】[SOURCE 2][1] ", "【1】[SOURCE 2][3] "),
        ("a target stays", "[4](https://a.example/4)", "[1](https://a.example/4)"),
        ("code stays", "[4] `[4]`", "[1] `[4]`"),
    ],
)
def test_renumbering(rule: str, answer: str, text: str):
    assert CONTEXT.resolve(answer).text == text


@pytest.mark.parametrize(
    ("rule", "answer", "text"),
    [
        ("white space before goes too", "A fact [1] and more [2, 3].", "A fact and more."),
        ("all forms go", "A【3】 b [1][2] c.[1] d [SOURCE 2]", "A b c. d"),
        ("unknown ones as well", "A fact [9].", "A fact."),
        ("with their target", "A fact [1](https://a.example/x).", "A fact."),
        ("code stays", "A fact `[1]` [1].", "A fact `[1]`."),
        ("all blanks before one go", "A fact \t\u00a0[1].", "A fact."),
        ("at most one comma goes", "A fact [1],, [2].", "A fact,,."),
        ("a line that begins with one begins with its text", "Yes.\n[1] No.", "Yes.\nNo."),
        ("so does the answer", "[1] No.", "No."),
        ("the end of a line stays", "Yes [1]\nNo.", "Yes\nNo."),
        ("a blank that parted two words stays", "A fact [1]and more.", "A fact and more."),
        ("where there was none, none comes", "事実[1]です", "事実です"),
    ],
)
def test_markers_are_removed_for_speech(rule: str, answer: str, text: str):
    assert CONTEXT.resolve(answer, mode="remove").text == text
    reader = CONTEXT.reader("remove")
    assert "".join([*map(reader.feed, answer), reader.close()]) == text


def test_marks_say_where_they_stand():
    answer = "A fact [1], another.[2] Not [9]."
    marks = CONTEXT.resolve(answer).marks
    assert [(answer[slice(*mark.span)], mark.labels) for mark in marks] == [
        ("[1]", ("1",)),
        ("[2]", ("2",)),
        ("[9]", ()),
    ]


FRAGMENTS = (
    *("[1]", "[2, 3]", "[9]", "[1-3]", "【3】", "[SOURCE 2]", "[", "]", "【", "】", "(", ")", "1", ","),
    *("`", "``", "```", "````", "\n```\n", "```py\n", "    ```\n", "\n", "\r\n", " ", "  ", "\t", "\u00a0"),
    *(
        "\\",
        "x",
        "_",
        "word",
        "m",
        "km",
        ". ",
        "; ",
        "(http://a.b/",
        ")",
        "é",
        "日本",
        "[1](a.b)",
        "x[1][2]",
        "`[1]`",
        "-",
    ),
    *("\u00a0", ",", "`[1]`", "-", " " * 25, "`" * 120, "a" * 70, "[1,1,1", "a.b" * 200, "`" + "z" * 1001),
)
answers = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=40).map("".join)


def cut(answer: str, sizes: list[int]) -> Iterator[str]:
    at = 0
    for size in sizes:
        yield answer[at : at + size]
        at += size
    yield answer[at:]


@given(answers, st.lists(st.integers(0, 12), max_size=80), st.sampled_from(MODES))
def test_pieces_of_any_size_give_what_the_whole_gives(answer: str, sizes: list[int], mode: Mode):
    whole = CONTEXT.resolve(answer, mode)
    for pieces in (list(cut(answer, sizes)), list(answer)):
        reader = CONTEXT.reader(mode)
        given_back = "".join([*(reader.feed(piece) for piece in pieces), reader.close()])
        assert given_back == "".join(CONTEXT.stream(pieces, mode)) == whole.text
        assert reader.resolved == whole
    assert mode != "keep" or whole.text == answer
    kept = CONTEXT.resolve(answer, "keep")
    assert (kept.citations, kept.unknown) == (whole.citations, whole.unknown)


def test_what_is_settled_comes_at_once():
    reader = CONTEXT.reader()
    assert [reader.feed(piece) for piece in ("A fact ", "[", "1", "]", ". And")] == ["A fact ", "", "", "", "[1]. And"]
    assert reader.feed(" a [note that goes on") == " a [note that goes on"
    assert (reader.close(), reader.close()) == ("", "")


async def test_the_reader_serves_async_streams_as_well():
    async def tokens() -> AsyncIterator[str]:
        for piece in ("A fact [", "3", "]."):
            yield piece

    reader = CONTEXT.reader("renumber")
    said = [reader.feed(piece) async for piece in tokens()]
    assert "".join([*said, reader.close()]) == "A fact [1]."
    assert used(reader.resolved) == ["3"]


def test_a_stream_returns_what_it_resolved():
    def answer() -> Iterator[str]:
        resolved = yield from CONTEXT.stream(["A fact [", "3]."], "renumber")
        yield f" Sources: {used(resolved)}"

    assert "".join(answer()) == "A fact [1]. Sources: ['3']"


SEEDS = [
    "[",
    "[1,",
    "[1-50,",
    "[1](",
    "[1](a.",
    "`",
    "``a`",
    "\n```",
    "\n ",
    "【",
    " ",
    "1,",
    '"a" [2] ',
    "“[2] ",
    "'a ",
]


@pytest.mark.parametrize("seed", [*SEEDS, "“[2] ", "'a ", '"', "„a", "a'a", "«»", "‘a’", '`"a"`'])
def test_time_is_linear_whatever_the_answer_is(seed: str):
    """What is quadratic takes minutes."""
    answer = seed * (20_000 // len(seed))
    for read in (CONTEXT.resolve, partial(CONTEXT.resolve, mode="remove"), CONTEXT.check_quotes, CONTEXT.check_support):
        assert takes_less(partial(read, answer), 2)


def test_wrong_arguments_are_errors():
    with pytest.raises(ConfigError, match="mode must be one of 'keep', 'renumber', 'remove', got 'speech'"):
        CONTEXT.resolve("", "speech")
    reader = CONTEXT.reader()
    for read in (reader.feed, CONTEXT.resolve, CONTEXT.check_quotes, CONTEXT.check_support):
        with pytest.raises(InputError, match="an answer must be text"):
            read(b"[1]")
    reader.close()
    with pytest.raises(InputError, match="closed"):
        reader.feed("more")


def test_the_labels_are_those_of_the_text():
    context = assemble([Hit(Chunk("b", "B", "Second.")), Hit(Chunk("a", "A", "First."))])
    (citation,) = context.resolve("So it is [2].").citations
    assert citation.document_id == "A"
