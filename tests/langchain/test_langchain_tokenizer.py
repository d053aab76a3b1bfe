"""A LangChain model counts: `encoding=llm.get_num_tokens`."""

from __future__ import annotations

import re

import pytest
from langchain_core.language_models import BaseChatModel, FakeListChatModel

from ctxassembly import AssemblyConfig
from langchain_ctxassembly import ContextAssembler
from langchain_samples import documents, memory_store

# Documents are handed over bare: what a caller's filter means for neighbors is tested in test_langchain_scope.py.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.errors.FilterNotSeenWarning")


def ids(text: str) -> list[int]:
    """Words and marks, and one token that begins every text."""
    return [1, *(len(part) for part in re.findall(r"\w+|[^\w\s]", text))]


class OwnCount(FakeListChatModel):
    """Like those of hosted models, which ask for a number and never see tokens."""

    def get_num_tokens(self, text: str) -> int:
        return 3 + len(text) // 3


MODELS = [
    pytest.param(FakeListChatModel(responses=[""], custom_get_token_ids=ids), id="its token ids"),
    pytest.param(OwnCount(responses=[""]), id="its own count"),
]


@pytest.mark.parametrize("llm", MODELS)
def test_the_documents_that_are_read_fit_the_model_that_counts(llm: BaseChatModel) -> None:
    found = documents("A", "B", count=4)
    store = memory_store(found)

    def read(max_tokens: int) -> str:
        config = AssemblyConfig(encoding=llm.get_num_tokens, max_tokens=max_tokens)
        context = ContextAssembler(config=config, store=store).as_context().invoke(found[1::4])
        documents_read = ContextAssembler(config=config, store=store).invoke(found[1::4])
        assert "\n\n".join(each.page_content for each in documents_read) == context.text
        assert context.token_count == llm.get_num_tokens(context.text)
        assert context.token_count <= max_tokens or not context.text  # an empty text may cost something, too
        return context.text

    whole = read(10_000)
    needed = llm.get_num_tokens(whole)
    assert read(needed) == whole
    assert 0 < len(read(needed - 1)) < len(whole)
    for max_tokens in range(1, needed, 3):
        read(max_tokens)
