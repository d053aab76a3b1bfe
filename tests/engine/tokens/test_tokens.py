from __future__ import annotations

import pytest
from hypothesis import strategies as st

from builders import count, hits_of
from ctxassembly import AssemblyConfig, Chunk, assemble
from ctxassembly.errors import ConfigError
from ctxassembly.tokens.counter import FAST_ENCODINGS, counter_for
from strategies import FRAGMENTS

pieces = st.lists(
    st.sampled_from(FRAGMENTS) | st.text(max_size=6) | st.sampled_from(["", "\n\n", "[1] Source: a.pdf\n"])
)


hostile = st.text("aB.,/ \t\n\r'1é", max_size=40)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("`<|endoftext|>` is plain text, not a control token", "a <|endoftext|> b <|fim_prefix|>"),
        ("lone surrogates", "a \ud83d b \udc00"),
        ("empty", ""),
        ("NUL", "\x00\x00"),
    ],
)
@pytest.mark.parametrize("name", FAST_ENCODINGS)
def test_odd_texts_are_counted(name: str, rule: str, text: str):
    assert counter_for(name).count(text) == count(text, name)


@pytest.mark.parametrize("blank", [" ", "\t"])
def test_a_million_blanks_are_counted_as_too_large_instead_of_raising(blank: str):
    text = f"a{blank * 1_000_000}b"
    assert counter_for("cl100k_base").count(text) >= len(text) // 128
    context = assemble(
        hits_of([Chunk("one", "A", text), Chunk("two", "B", "The second fits.")]), AssemblyConfig(window=0)
    )
    assert "The second fits." in context.text
    assert context.token_count == count(context.text) <= 8_000


@pytest.mark.parametrize("result", [-1, 1.0, "7", None, True])
def test_a_function_that_counts_nonsense_is_an_error(result: object):
    with pytest.raises(ConfigError, match=r"encoding must be a function that returns a non-negative integer"):
        assemble(hits_of([Chunk("a", "A", "text")]), AssemblyConfig(encoding=lambda text: result))


@pytest.mark.parametrize("result", [[1, 2], (1, 2), {"input_ids": [1, 2]}, b"ab", []])
def test_a_function_that_returns_the_tokens_is_an_error_that_says_how_to_count_them(result: object):
    """Their type alone is shown: they are as many as the text has."""
    with pytest.raises(ConfigError) as caught:
        assemble(hits_of([Chunk("a", "A", "text")]), AssemblyConfig(encoding=lambda text: result))
    assert str(caught.value) == (
        "encoding must be a function that returns the number of tokens, not the tokens "
        f"(lambda text: len(encode(text))), got {type(result)!r}"
    )


def test_an_unknown_encoding_is_a_clear_error():
    with pytest.raises(ConfigError, match=r"unknown encoding 'cl99k'; tiktoken knows .*cl100k_base"):
        assemble([], AssemblyConfig(encoding="cl99k"))


@pytest.mark.parametrize(("name", "tokens"), [("cl100k_base", 13), ("o200k_base", 9), ("o200k_harmony", 9)])
def test_the_encoding_can_be_set(name: str, tokens: int):
    text = "U brengt best uw identiteitskaart mee."
    assert count(text, name) == tokens
    config = AssemblyConfig(encoding=name, format="minimal")
    assert assemble(hits_of([Chunk("a", "A", text)]), config).token_count == tokens
