"""The token budget that LlamaIndex itself leaves for retrieved text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import tiktoken
from llama_index.core import Settings
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.indices.prompt_helper import PromptHelper
from llama_index.core.prompts import BasePromptTemplate
from llama_index.core.response_synthesizers.refine import DEFAULT_RESPONSE_PADDING_SIZE

from ctxassembly.errors import ConfigError
from ctxassembly.tokens.budget import TokenBudget
from llamaindex_ctxassembly.convert.templates import CITATION_QA_TEMPLATE, CITATION_REFINE_TEMPLATE


def token_budget(
    llm: BaseLLM | None = None,
    *,
    templates: Sequence[BasePromptTemplate] = (CITATION_QA_TEMPLATE, CITATION_REFINE_TEMPLATE),
    query: int | str = 256,
    conversation: int = 0,
    generation: int | None = None,
    buffer: int = DEFAULT_RESPONSE_PADDING_SIZE,
    context_cap: int | None = None,
) -> TokenBudget:
    """The budget of a context that a query engine with `llm` gives on whole, in one call.

    LlamaIndex's response modes cut a context that is longer than what they have left, and ask the LLM once for each
    piece. They subtract from `llm.metadata.context_window` the answer, the longer of the templates with the question in
    it, and 500 tokens; so does this, by LlamaIndex's own arithmetic and tokenizer.

    >>> from llama_index.core.llms import MockLLM
    >>> budget = token_budget(MockLLM(max_tokens=512))
    >>> budget.window, budget.system, budget.query, budget.generation, budget.buffer, budget.context
    (3900, 112, 256, 512, 500, 2520)

    It is for `AssemblyConfig(max_tokens=token_budget(llm))`. Where an LLM doesn't say its window, its metadata have
    3,900, as above, and LlamaIndex goes by that: set the `context_window` of the LLM.

    Args:
        llm: the LLM of the engine; None means `Settings.llm`.
        templates: the templates that the engine has: `text_qa_template` and `refine_template`, or a chat engine's.
        query: the question, or the tokens to keep for the longest one.
        conversation: the tokens of a chat engine's memory.
        generation: the tokens of the answer, if more than the `num_output` of the metadata. Where that is -1, for no
            limit, it is 256, as LlamaIndex has it.
        buffer: the tokens that response modes leave free, and any others that nobody counts, such as those of tools.
        context_cap: the most tokens of the context; None means no cap.

    Raises:
        ConfigError: `llm` is no LLM, there are no templates, or the zones leave no token for the context.
    """
    llm = Settings.llm if llm is None else llm
    if not isinstance(llm, BaseLLM):
        raise ConfigError("llm", "a LlamaIndex LLM", llm)
    if not templates:
        raise ConfigError("templates", "those of the engine, at least one", templates)
    helper = PromptHelper.from_llm_metadata(llm.metadata)
    window, output = helper.context_window, helper.num_output
    # The templates are counted as an engine counts them. In a larger window, so that none is refused as too long.
    counting = PromptHelper(context_window=window + _ANY, num_output=0)
    room = min(counting.get_text_splitter_given_prompt(one, padding=0, llm=_llm(llm)).chunk_size for one in templates)
    tokenizer = Settings.tokenizer
    return TokenBudget(
        window=window,
        system=window + _ANY - room,
        query=len(tokenizer(query)) if isinstance(query, str) else query,
        conversation=conversation,
        generation=max(output, generation or 0),
        buffer=buffer,
        context_cap=context_cap,
        encoding=_encoding(tokenizer),
    )


_ANY = 1_000_000
"""More tokens than a template has."""


def _llm(llm: Any) -> Any:
    """`llm`, if it can have a system prompt, which is counted with the template."""
    return llm if hasattr(llm, "system_prompt") else None


def _encoding(tokenizer: Callable[[str], Sequence[Any]]) -> str | Callable[[str], int]:
    """The name of the tokenizer's encoding if it is one of tiktoken's, else a function that counts by it."""
    encoding = getattr(getattr(tokenizer, "func", None), "__self__", None)
    return encoding.name if isinstance(encoding, tiktoken.Encoding) else partial(_count, tokenizer)


def _count(tokenizer: Callable[[str], Sequence[Any]], text: str) -> int:
    return len(tokenizer(text))
