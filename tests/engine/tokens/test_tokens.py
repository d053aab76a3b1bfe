from __future__ import annotations

from typing import Any

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
    assert counter_for(name)(text) == count(text, name)


@pytest.mark.parametrize("blank", [" ", "\t"])
def test_a_million_blanks_are_counted_as_too_large_instead_of_raising(blank: str):
    text = f"a{blank * 1_000_000}b"
    assert counter_for("cl100k_base")(text) >= len(text) // 128
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
