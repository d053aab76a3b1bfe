"""LlamaIndex's tokenizer counts: a function from a text to its tokens, which has to be wrapped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import llama_index.core
import pytest
from llama_index.core import Settings
from llama_index.core.utils import get_tokenizer

from ctxassembly import AssemblyConfig
from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly import ContextAssemblyPostprocessor
from llamaindex_samples import document, scored


def pieces(text: str) -> list[str]:
    return [text[at : at + 4] for at in range(0, len(text), 4)]


@pytest.fixture(params=[None, pieces], ids=["the default", "one of the user's"])
def tokenizer(request: Any) -> Iterator[Callable[[str], list[Any]]]:
    before, everywhere = Settings._tokenizer, llama_index.core.global_tokenizer
    if request.param is not None:
        Settings.tokenizer = request.param
    yield get_tokenizer()
    Settings._tokenizer = before
    llama_index.core.global_tokenizer = everywhere  # by which splitters of other tests count


def test_the_nodes_that_are_read_fit_what_the_tokenizer_counts(tokenizer: Callable[[str], list[Any]]) -> None:
    hits = scored(*document("A", metadata={"file_name": "history.txt"})[::2])

    def read(max_tokens: int) -> str:
        config = AssemblyConfig(encoding=lambda text: len(tokenizer(text)), max_tokens=max_tokens)
        nodes = ContextAssemblyPostprocessor(config=config).postprocess_nodes(hits)
        text = "\n\n".join(node.text for node in nodes)
        assert len(tokenizer(text)) <= max_tokens
        assert nodes[0].metadata["trace"]["token_count"] == len(tokenizer(text))
        return text

    whole = read(10_000)
    needed = len(tokenizer(whole))
    assert read(needed) == whole
    assert 0 < len(read(needed - 1)) < len(whole)
    for max_tokens in range(1, needed, 3):
        read(max_tokens)


def test_a_tokenizer_that_is_not_wrapped_is_an_error_that_says_how(tokenizer: Callable[[str], list[Any]]) -> None:
    postprocessor = ContextAssemblyPostprocessor(config=AssemblyConfig(encoding=tokenizer))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"not the tokens \(lambda text: len\(encode\(text\)\)\), got <class 'list'>"):
        postprocessor.postprocess_nodes(scored(document()[0]))
