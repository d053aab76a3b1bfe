from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import count, hits_of, some_of_every_kind
from ctxassembly import AssemblyConfig, Chunk, assemble
from ctxassembly.errors import ConfigError
from ctxassembly.tokens.counter import (
    _SAFE,
    ADDITIVE_ENCODINGS,
    MAX_TOKEN_CHARS,
    MIN_SLICE_CHARS,
    TokenCounter,
    counter_for,
    lower_bound,
)
from strategies import FRAGMENTS, quarters

pieces = st.lists(
    st.sampled_from(FRAGMENTS) | st.text(max_size=6) | st.sampled_from(["", "\n\n", "[1] Source: a.pdf\n"])
)


def total(counter: TokenCounter, pieces: list[str]) -> int:
    """The tokens of the text that the pieces make together."""
    return counter.tokens(counter.chain(counter.measure(piece) for piece in pieces))


@pytest.mark.parametrize("name", [*ADDITIVE_ENCODINGS, quarters])
@given(pieces=pieces)
def test_the_total_of_pieces_is_the_count_of_the_whole(name: str | Callable[[str], int], pieces: list[str]):
    assert total(counter_for(name), pieces) == count("".join(pieces), name)


@pytest.mark.parametrize("name", ADDITIVE_ENCODINGS)
@pytest.mark.parametrize(
    ("rule", "before", "after", "safe"),
    [
        ("between a newline and a character that is neither white space nor '/'", "end.\n", "begin", True),
        ("a slash belongs to what stands before the newline", "end.\n", "/path", False),
        ("newlines belong together", "end.\n", "\nbegin", False),
        ("between a newline and the indentation of a line", "end.\n", "  begin", True),
        ("a line of nothing but blanks is no indentation", "end.\n", "  \nbegin", False),
        ("the text after blanks may be another's", "end.\n", "  ", False),
        ("a long run of white space stays whole", "end.\n", " " * 65 + "begin", False),
        ("blanks belong together", "end ", " begin", False),
        ("a full stop takes the newline after it", "end.", "\nbegin", False),
        ("nowhere inside a word", "be", "gin", False),
        ("between a Chinese letter and a mark", "检查前", "，请禁食。", True),
        ("a mark goes with the letter after it", "检查前，", "请禁食。", False),
        ("marks belong together", "「検査・", "。」", False),
    ],
)
def test_where_counts_add_up(name: str, rule: str, before: str, after: str, safe: bool):
    assert (len(before) in [match.start() for match in _SAFE.finditer(before + after)]) is safe
    assert total(counter_for(name), [before, after]) == count(before + after, name)
    if safe:
        assert count(before, name) + count(after, name) == count(before + after, name)


@pytest.mark.parametrize("name", ADDITIVE_ENCODINGS)
def test_counts_add_up_beside_every_kind_of_character(name: str):
    """A character that Python takes for white space and the tokenizer does not, or the other way round, would show."""
    for c in some_of_every_kind():
        for before, after in (("a.\n", f"{c}b"), (f"a{c}", " b"), ("a.\n", f" {c}b"), (f"a{c}\n", " b")):
            if len(before) in [match.start() for match in _SAFE.finditer(before + after)]:
                assert count(before + after, name) == count(before, name) + count(after, name)


hostile = st.text("aB.,/ \t\n\r'1é", max_size=40)


@pytest.mark.parametrize("name", ADDITIVE_ENCODINGS)
@settings(max_examples=100)
@given(around=st.lists(st.text(max_size=8) | hostile, min_size=3, max_size=3), data=st.data())
def test_what_exceeds_does_so_wherever_it_is_put_in(name: str, around: list[str], data: st.DataObject):
    counter = counter_for(name)
    texts = data.draw(st.lists(st.text(max_size=60) | hostile, min_size=1, max_size=2))
    whole = "".join(between + text for between, text in zip(around, [*texts, "", ""], strict=False))
    tokens = count(whole, name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ctxassembly.tokens.counter.MIN_SLICE_CHARS", data.draw(st.sampled_from([MIN_SLICE_CHARS, 3, 8])))
        assert not counter.exceeds(texts, tokens)
        counter.clear_caches()
        assert not counter.exceeds(texts, tokens)
        for text in texts:  # whatever was counted of it before, in whatever parts
            assert total(counter, [text]) == count(text, name)


def test_a_text_is_counted_only_as_far_as_it_takes():
    counted: list[str] = []
    counter = TokenCounter(lambda text: counted.append(text) or count(text), additive=True)
    text = "Incomprehensibilities are words. " * 100
    tokens = count(text)
    assert lower_bound(text) < 0.5 * tokens
    assert counter.exceeds([text], round(0.6 * tokens))
    assert 0 < sum(map(len, counted)) < 0.6 * len(text)
    counted.clear()
    assert counter.exceeds([text], round(0.6 * tokens))
    assert not counted, "what was found before is remembered"
    assert not counter.exceeds([text], tokens)
    assert sum(map(len, counted)) <= len(text)
    counted.clear()
    assert total(counter, [text]) == tokens
    assert sum(map(len, counted)) < len("Incomprehensibilities are") * 2, "only its ends are counted again"


def test_other_tokenizers_are_counted_whole_and_promise_no_bound():
    asked = []

    def ask(text: str) -> int:
        asked.append(text)
        return 7

    counter = counter_for(ask)
    assert total(counter, ["one", "\n", "two"]) == 7
    assert asked == ["one\ntwo"]
    assert not counter.exceeds(["x " * 10_000], 7)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("`<|endoftext|>` is plain text, not a control token", "a <|endoftext|> b <|fim_prefix|>"),
        ("lone surrogates", "a \ud83d b \udc00"),
        ("empty", ""),
        ("NUL", "\x00\x00"),
    ],
)
@pytest.mark.parametrize("name", ADDITIVE_ENCODINGS)
def test_odd_texts_are_counted(name: str, rule: str, text: str):
    assert counter_for(name).count(text) == count(text, name)


@pytest.mark.parametrize("blank", [" ", "\t"])
def test_a_million_blanks_are_counted_as_too_large_instead_of_raising(blank: str):
    text = f"a{blank * 1_000_000}b"
    assert counter_for("cl100k_base").count(text) >= len(text) // MAX_TOKEN_CHARS
    context = assemble(
        hits_of([Chunk("one", "A", text), Chunk("two", "B", "The second fits.")]), AssemblyConfig(window=0)
    )
    assert "The second fits." in context.text
    assert context.token_count == count(context.text) <= 8_000


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        *(
            (lambda text, wrong=wrong: wrong, "a function that returns a non-negative")
            for wrong in (-1, 1.0, "7", True)
        ),
        *((lambda text, wrong=wrong: wrong, "number of tokens, not the tokens") for wrong in ([1], (1, 2), b"ab")),
        ("cl99k", r"unknown encoding 'cl99k'; tiktoken knows .*cl100k_base"),
    ],
)
def test_what_counts_no_tokens_is_an_error(encoding: Any, message: str):
    with pytest.raises(ConfigError, match=message):
        assemble(hits_of([Chunk("a", "A", "text")]), AssemblyConfig(encoding=encoding))


@pytest.mark.parametrize(("name", "tokens"), [("cl100k_base", 13), ("o200k_base", 9), ("o200k_harmony", 9)])
def test_the_encoding_can_be_set(name: str, tokens: int):
    text = "U brengt best uw identiteitskaart mee."
    assert count(text, name) == tokens
    config = AssemblyConfig(encoding=name, format="minimal")
    assert assemble(hits_of([Chunk("a", "A", text)]), config).token_count == tokens


@pytest.mark.parametrize("name", ADDITIVE_ENCODINGS)
@given(text=st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=6)).map("".join), data=st.data())
def test_a_text_that_is_cut_has_the_same_measure(name: str, text: str, data: st.DataObject):
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text) + 1))))
    counter = counter_for(name)
    counter.clear_caches()
    cut = counter.measure(text, cuts)
    counter.clear_caches()
    assert cut == counter.measure(text)
