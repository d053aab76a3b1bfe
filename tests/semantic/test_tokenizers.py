"""Hugging Face's tokenizers count: `encoding=lambda text: len(tokenizer.encode(text))`."""

from __future__ import annotations

from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore, assemble
from ctxassembly.errors import ConfigError

pytestmark = pytest.mark.semantic

SENTENCES = [
    "Do not eat for six hours before the examination.",
    "You may drink water until two hours before it.",
    "Na de raadpleging betaalt u aan het loket.",
    "Café, naïve; 3.14159\tand 診察 are text, <s> and [CLS] too.",
    "Afterwards your throat is numb for an hour.",
    "def area(r):\n    return 3.14159 * r ** 2",
]
CHUNKS = [
    Chunk(f"{name}{n}", name, " ".join(SENTENCES[n : n + 2]), index=n, metadata={"source": f"{name}.txt"})
    for name in "AB"
    for n in range(5)
]


@pytest.fixture
def tokenizer(model: Any) -> Any:
    return model.tokenizer


def test_the_text_that_is_read_fits_what_the_tokenizer_counts(tokenizer: Any) -> None:
    def count(text: str) -> int:
        return len(tokenizer.encode(text))

    def read(max_tokens: int) -> str:
        config = AssemblyConfig(encoding=count, max_tokens=max_tokens)
        context = assemble([Hit(CHUNKS[1]), Hit(CHUNKS[6])], config, store=MemoryStore(CHUNKS))
        assert context.token_count == count(context.text)
        assert context.token_count <= max_tokens or not context.text  # an empty text may cost something, too
        return context.text

    whole = read(10_000)
    needed = count(whole)
    assert all(sentence in whole for sentence in SENTENCES[:4])
    assert read(needed) == whole
    assert 0 < len(read(needed - 1)) < len(whole)
    for max_tokens in range(1, needed):
        read(max_tokens)


def test_a_tokenizer_that_is_not_wrapped_is_an_error_that_says_how(tokenizer: Any) -> None:
    for encode in (tokenizer.encode, tokenizer):
        if callable(encode):
            with pytest.raises(ConfigError, match=r"not the tokens \(lambda text: len\(encode\(text\)\)\), got <class"):
                assemble([Hit(CHUNKS[0])], AssemblyConfig(encoding=encode))
