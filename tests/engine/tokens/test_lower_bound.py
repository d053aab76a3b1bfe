from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import count, some_of_every_kind
from ctxassembly.tokens.counter import ADDITIVE_ENCODINGS, MAX_BOUND_CHARS, lower_bound


@pytest.mark.parametrize("name", ADDITIVE_ENCODINGS)
@settings(max_examples=200)
@given(
    text=st.one_of(
        st.text(),
        st.text("ab '/.,_\n\r\t\x0b\x1c\x85\xa0\u0301\u2028\u300081é日١²—", max_size=30),
        st.text("aB12/.' \t\n\r\x0b\u0301", max_size=12),
    ),
    enough=st.integers(0, 20),
)
def test_the_lower_bound_is_never_above_the_count(name: str, text: str, enough: int):
    read = text[: (enough + 1) * MAX_BOUND_CHARS]
    assert max(lower_bound(read), lower_bound(text)) <= count(text, name)
    if len(text) <= enough * 8 and lower_bound(text) > enough:
        assert lower_bound(read) > enough


@pytest.mark.parametrize("name", ADDITIVE_ENCODINGS)
@pytest.mark.parametrize("size", range(1, 6))
def test_the_lower_bound_holds_for_every_short_text(name: str, size: int):
    for kinds in itertools.product("a1./\n '", repeat=size):
        text = "".join(kinds)
        assert lower_bound(text) <= count(text, name), text
        # Wherever it stands: a token at each end may be its neighbor's as well.
        for around in (f"!{text}a", f"a{text}.", f" {text} ", f"\n{text}\n"):
            assert lower_bound(text) - 1 <= count(around, name) - 1, around


@pytest.mark.parametrize("name", ADDITIVE_ENCODINGS)
def test_the_lower_bound_holds_beside_every_kind_of_character(name: str):
    for c in some_of_every_kind():
        for text in (
            *(f"1{c}2", f"1 {c}2", f"a{c}1", f"1{c}a", f"1. {c}", f"a {c}\n"),
            *(f"a{c}b", f"a{c} b", f"a.{c}.b", f"a\n{c}b", f"a{c}\nb", f"'{c}'s"),
            *(f"{c}..b", f"{c} .b", f"{c}  b", f" {c} b", f" {c}.b", f".{c}.b", f"{c}  .", f".{c}b", f"  {c}"),
        ):
            assert lower_bound(text) <= count(text, name), text


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("one two\tthree\x0bfour", 3),
        ("no end(a, b2)", 6),
        ("in 3a4, 5:6\n", 10),
        ("a ..b _c (d", 6),
        ("a   b  .", 4),
        ("ein Übermaß, né", 2),
    ],
)
def test_each_rule_tells_of_tokens_that_no_other_does(text: str, tokens: int):
    assert lower_bound(text) == tokens


def test_the_lower_bound_of_prose_is_near():
    """Else it would save next to nothing."""
    prose = "A counter counts the tokens of a text, and it says how many there are; a bound says how many at least.\n"
    code = "    for text in (one, two):\n        found[text] = self.count(text)  # (see above)\n"
    for text in (prose * 9, code * 9):
        assert 0.9 * count(text) < lower_bound(text) <= count(text)
