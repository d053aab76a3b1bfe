"""Prompt templates that ask for labels, for LlamaIndex's own query and chat engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llama_index.core.prompts import PromptTemplate
from llama_index.core.prompts.prompt_type import PromptType

from ctxassembly.wording.label_guards import RULE
from ctxassembly.wording.languages import language_of
from ctxassembly.wording.prompts import system_prompt, user_prompt


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


def citation_templates(
    style: str = "grounded",
    *,
    form: str = "numbered",
    language: str = "en",
    supplement: bool = False,
    extra_rules: Sequence[str] = (),
) -> CitationTemplates:
    """The templates that ask a LlamaIndex engine's LLM for the labels of an assembled context.

    >>> templates = citation_templates("strict", language="nl")
    >>> print(templates.text_qa.template.splitlines()[0])
    Beantwoord de vraag op basis van de meegegeven context.

    They say what `Context.to_messages` says, in the names that LlamaIndex fills in, so that any response mode takes
    them: `index.as_query_engine(node_postprocessors=[postprocessor], text_qa_template=templates.text_qa,
    refine_template=templates.refine)`, or, in an engine that exists,
    `engine.update_prompts({"response_synthesizer:text_qa_template": templates.text_qa})`. The English grounded ones are
    `CITATION_QA_TEMPLATE`, `CITATION_REFINE_TEMPLATE`, `CITATION_CONTEXT_PROMPT` and `CITATION_CONTEXT_REFINE_PROMPT`.

    A chat engine fills the context of each turn into the system message, and what was said before follows it: give the
    postprocessor `labels=Labels()`, so that labels of earlier answers aren't those of other sources.

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
        asked = (*further, *extra_rules) if not isinstance(extra_rules, str) else extra_rules
        return system_prompt(style, form=form, language=language, supplement=supplement, extra_rules=asked)

    def asked(context: str) -> str:
        return user_prompt(context, "{query_str}", language=language)

    words = language_of(language)
    # A line of dashes ends the context: documents can't forge one. A chat engine puts its system prompt after it.
    shown, part = (f"{words.context}\n{name}\n\n{RULE}\n\n" for name in ("{context_str}", "{context_msg}"))
    draft = f"{words.draft} {{existing_answer}}"
    return CitationTemplates(
        text_qa=PromptTemplate(f"{rules()}\n\n{asked('{context_str}')}", PromptType.QUESTION_ANSWER),
        refine=PromptTemplate(f"{rules(words.refine)}\n\n{asked('{context_msg}')}\n\n{draft}", PromptType.REFINE),
        context=PromptTemplate(f"{rules()}\n\n{shown}"),
        context_refine=PromptTemplate(f"{rules(words.refine)}\n\n{part}{draft}\n\n"),
    )


_ENGLISH = citation_templates()

CITATION_QA_TEMPLATE = _ENGLISH.text_qa
"""The prompt template that asks a query engine's LLM for labels, for `text_qa_template` and `summary_template`."""

CITATION_REFINE_TEMPLATE = _ENGLISH.refine
"""The same for further text, where the LLM has drafted an answer: for `refine_template`."""

CITATION_CONTEXT_PROMPT = _ENGLISH.context
"""The same for a chat engine's system message: for `context_prompt` and `context_template`."""

CITATION_CONTEXT_REFINE_PROMPT = _ENGLISH.context_refine
"""The same for a chat engine's further text: for `context_refine_prompt`."""
