"""Messages and prompt templates that ask for labels, and the budget of a context beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import tiktoken
from llama_index.core import Settings
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import CacheControl, CachePoint, ChatMessage
from llama_index.core.indices.prompt_helper import PromptHelper
from llama_index.core.prompts import BasePromptTemplate, PromptTemplate
from llama_index.core.prompts.prompt_type import PromptType
from llama_index.core.response_synthesizers.refine import DEFAULT_RESPONSE_PADDING_SIZE

from ctxassembly.adapters.metadata import check_context
from ctxassembly.context import Context
from ctxassembly.errors import ConfigError
from ctxassembly.tokens.budget import TokenBudget
from ctxassembly.wording.label_forms import RULE
from ctxassembly.wording.languages import language_of
from ctxassembly.wording.prompts import system_prompt, user_prompt
from llamaindex_ctxassembly.models import check_kind


@dataclass(frozen=True, slots=True)
class CitationTemplates:
    """The four templates of one style, format and language, as `citation_templates` makes them.

    >>> templates = CitationTemplates(*(PromptTemplate("{context_str}") for _ in range(4)))
    >>> templates.text_qa.format(context_str="[1] Source: lab.pdf")
    '[1] Source: lab.pdf'
    """

    text_qa: PromptTemplate
    """For `text_qa_template` or `summary_template`: has {context_str} and {query_str}."""
    refine: PromptTemplate
    """For `refine_template`: has {context_msg}, {query_str} and {existing_answer}."""
    context: PromptTemplate
    """For a chat engine's `context_prompt` or `context_template`, a system message: has {context_str}."""
    context_refine: PromptTemplate
    """For a chat engine's `context_refine_prompt`: has {context_msg} and {existing_answer}."""


def to_messages(
    context: Context,
    question: str,
    style: str = "grounded",
    extra_instructions: str | None = None,
    *,
    extra_rules: Sequence[str] = (),
    template: str | None = None,
    cache_prefix: bool = False,
) -> list[ChatMessage]:
    """Return a system and a user message, worded as by `Context.to_messages`.

    With `cache_prefix` the system message ends with a `CachePoint`, for providers that cache what is marked, such as
    Anthropic: all before the mark stays the same from question to question.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> [message.role.value for message in to_messages(assemble([Hit(Chunk("a", "a", "Rest."))]), "May I rest?")]
    ['system', 'user']

    Raises:
        InputError: `context` is no Context.
    """
    context = check_context(context, "ContextAssemblyPostprocessor().context(nodes)")
    messages = context.to_messages(question, style, extra_instructions, extra_rules=extra_rules, template=template)
    system, user = [ChatMessage(content=message["content"], role=message["role"]) for message in messages]
    if cache_prefix:
        system.blocks.append(CachePoint(cache_control=CacheControl(type="ephemeral")))
    return [system, user]


def citation_templates(
    style: str = "grounded",
    *,
    form: str = "numbered",
    language: str = "en",
    supplement: bool = False,
    extra_rules: Sequence[str] = (),
) -> CitationTemplates:
    """Return the templates that ask a LlamaIndex engine's LLM for the labels of an assembled context.

    >>> templates = citation_templates("strict", language="nl")
    >>> print(templates.text_qa.template.splitlines()[0])
    Beantwoord de vraag op basis van de meegegeven context.

    They have the text of `Context.to_messages` with the names that LlamaIndex fills in, so that they work with any
    response mode: `index.as_query_engine(node_postprocessors=[postprocessor], text_qa_template=templates.text_qa,
    refine_template=templates.refine)`, or, in an engine that exists,
    `engine.update_prompts({"response_synthesizer:text_qa_template": templates.text_qa})`. The English grounded ones are
    `CITATION_QA_TEMPLATE`, `CITATION_REFINE_TEMPLATE`, `CITATION_CONTEXT_PROMPT` and `CITATION_CONTEXT_REFINE_PROMPT`.

    A chat engine puts the context of each turn into the system message, and the chat history follows it: pass
    `conversation=Conversation(labels=Labels())` to the postprocessor, so that labels in earlier answers don't refer to
    other sources.

    Args:
        style: "grounded", "strict" or "soft", as `system_prompt` describes them.
        form: the postprocessor's `config.format`.
        language: the postprocessor's `config.language`.
        supplement: True if the postprocessor has a supplement.
        extra_rules: rules that come last.

    Raises:
        ConfigError: an unknown style or language.
        InputError: a rule is not a string.
    """

    def rules(*further: str) -> str:
        user_text = (*further, *extra_rules) if not isinstance(extra_rules, str) else extra_rules
        return system_prompt(style, form=form, language=language, supplement=supplement, extra_rules=user_text)

    def user_text(context: str) -> str:
        return user_prompt(context, "{query_str}", language=language)

    words = language_of(language)
    # A line of dashes ends the context: documents can't forge one. A chat engine puts its system prompt after it.
    names = ("{context_str}", "{context_msg}")
    context_part, refine_part = (f"{words.context}\n{name}\n\n{RULE}\n\n" for name in names)
    draft = f"{words.draft} {{existing_answer}}"
    return CitationTemplates(
        text_qa=PromptTemplate(f"{rules()}\n\n{user_text('{context_str}')}", PromptType.QUESTION_ANSWER),
        refine=PromptTemplate(f"{rules(words.refine)}\n\n{user_text('{context_msg}')}\n\n{draft}", PromptType.REFINE),
        context=PromptTemplate(f"{rules()}\n\n{context_part}"),
        context_refine=PromptTemplate(f"{rules(words.refine)}\n\n{refine_part}{draft}\n\n"),
    )


_DEFAULT_TEMPLATES = citation_templates()

CITATION_QA_TEMPLATE = _DEFAULT_TEMPLATES.text_qa
"""The prompt template that asks a query engine's LLM for labels, for `text_qa_template` and `summary_template`."""

CITATION_REFINE_TEMPLATE = _DEFAULT_TEMPLATES.refine
"""The same for further text, where the LLM has drafted an answer: for `refine_template`."""

CITATION_CONTEXT_PROMPT = _DEFAULT_TEMPLATES.context
"""The same for a chat engine's system message: for `context_prompt` and `context_template`."""

CITATION_CONTEXT_REFINE_PROMPT = _DEFAULT_TEMPLATES.context_refine
"""The same for a chat engine's further text: for `context_refine_prompt`."""


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
    """Return the budget of a context that a query engine with `llm` can send whole, in one call.

    LlamaIndex's response modes cut a context that doesn't fit, and call the LLM once for each piece. They subtract from
    `llm.metadata.context_window` the answer, the longest of the templates with the question in it, and 500 tokens. This
    function does the same, with LlamaIndex's own arithmetic and tokenizer.

    >>> from llama_index.core.llms import MockLLM
    >>> budget = token_budget(MockLLM(max_tokens=512))
    >>> budget.window, budget.system, budget.query, budget.generation, budget.buffer, budget.context
    (3900, 112, 256, 512, 500, 2520)

    Use it as `AssemblyConfig(max_tokens=token_budget(llm))`. If an LLM doesn't state its window, its metadata has
    3,900, as above, which LlamaIndex uses: set the `context_window` of the LLM.

    Args:
        llm: the LLM of the engine; None means `Settings.llm`.
        templates: the templates that the engine has: `text_qa_template` and `refine_template`, or a chat engine's.
        query: the question, or the tokens to keep for the longest one.
        conversation: the tokens of a chat engine's memory.
        generation: the tokens of the answer, if more than the `num_output` of the metadata. If that is -1, for no
            limit, 256 is used, as in LlamaIndex.
        buffer: the tokens that response modes leave free, and any others that aren't counted, such as tool definitions.
        context_cap: the most tokens of the context; None means no cap.

    Raises:
        ConfigError: `llm` is no LLM, there are no templates, or the zones leave no token for the context.
    """
    llm = Settings.llm if llm is None else llm
    check_kind("llm", llm, BaseLLM, "a LlamaIndex LLM")
    if not templates:
        raise ConfigError("templates", "the engine's templates, at least one", templates)
    helper = PromptHelper.from_llm_metadata(llm.metadata)
    window, output = helper.context_window, helper.num_output
    # The templates are counted as an engine counts them. In a larger window, so that none is refused as too long.
    with_system_prompt: Any = llm if hasattr(llm, "system_prompt") else None
    large_helper = PromptHelper(context_window=window + _HEADROOM, num_output=0)
    remaining = min(
        large_helper.get_text_splitter_given_prompt(one, padding=0, llm=with_system_prompt).chunk_size
        for one in templates
    )
    tokenizer = Settings.tokenizer
    return TokenBudget(
        window=window,
        system=window + _HEADROOM - remaining,
        query=len(tokenizer(query)) if isinstance(query, str) else query,
        conversation=conversation,
        generation=max(output, generation or 0),
        buffer=buffer,
        context_cap=context_cap,
        encoding=_encoding(tokenizer),
    )


_HEADROOM = 1_000_000
"""More tokens than a template has."""


def _encoding(tokenizer: Callable[[str], Sequence[Any]]) -> str | Callable[[str], int]:
    """Return the name of the tokenizer's encoding if it is one of tiktoken's, else a function that counts by it."""
    encoding = getattr(getattr(tokenizer, "func", None), "__self__", None)
    return encoding.name if isinstance(encoding, tiktoken.Encoding) else partial(_count_tokens, tokenizer)


def _count_tokens(tokenizer: Callable[[str], Sequence[Any]], text: str) -> int:
    return len(tokenizer(text))
