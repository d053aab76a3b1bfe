"""Prompts around a context: the system prompt by style and language, and the user message.

All sentences come from the record of the language. The record of the format chooses the one on citing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.label_forms import RULE
from ctxassembly.wording.languages import LANGUAGES, language_of

_PLACEHOLDERS = ("{context}", "{question}")
_PLACEHOLDER = re.compile(r"(\{context\}|\{question\})")
Style = Literal["grounded", "strict", "soft"]
STYLES: tuple[Style, ...] = get_args(Style)
NOT_ENOUGH: Mapping[str, str] = {code: language.not_enough for code, language in LANGUAGES.items()}
"""The sentence of a strict answer if the context has none, word for word, by language."""


def system_prompt(
    style: str = "grounded",
    *,
    form: str = "numbered",
    language: str = "en",
    supplement: bool = False,
    extra_rules: Sequence[str] = (),
) -> str:
    """Return the rules for an answer, one a line.

    "grounded" answers from the context alone, and says so if the context doesn't suffice. "strict" infers nothing
    either: it answers from the text, or with `NOT_ENOUGH` and no more. "soft" puts the context first, and general
    knowledge may clarify. The rules ask for labels if the format `form` shows them, and speak of a supplement if there
    is one. `extra_rules` come last.

    >>> print(system_prompt("grounded", form="minimal"))
    Answer the question on the basis of the context that comes with it.
    - Use only what the context says.
    - If the context does not suffice, say so and say what is missing.
    - Write no reference marks.
    - Be concise.

    Raises:
        ConfigError: an unknown style or language.
        InputError: a rule is not a string.
    """
    words = language_of(language)
    sections = {
        "grounded": (words.only, words.insufficient),
        "strict": (words.only, words.no_inference, words.refuse.format(words.not_enough)),
        "soft": (words.first, words.own_knowledge, words.insufficient),
    }
    if style not in sections:
        raise ConfigError("style", "one of " + ", ".join(map(repr, STYLES)), style)
    rules = (
        *sections[style],
        FORMATS[form].citation_rule(words) if form in FORMATS else words.no_labels,
        *((words.supplement_rule,) if supplement else ()),
        words.concise,
        *extra_rules,
    )
    if isinstance(extra_rules, str) or not all(isinstance(rule, str) for rule in rules):
        raise InputError(f"extra_rules must be a sequence of strings, got {safe_repr(extra_rules)}")
    return "\n".join((words.task, *(f"- {rule}" for rule in rules)))


def user_prompt(
    context: str,
    question: str,
    *,
    language: str = "en",
    extra_instructions: str | None = None,
    template: str | None = None,
) -> str:
    r"""Return the context, then the question under a line of dashes, then `extra_instructions`.

    With a `template`, its text with {context} and {question} filled in, each of which it has once. Documents may repeat
    the template's own words: only our words are guarded.

    An assembled context has no other line of dashes, and none of our section words. The question and the instructions
    are included as they are, unguarded: they are the caller's own words to the model. Don't send questions of people
    whose instructions the model must not follow.

    >>> print(user_prompt("[1] Source: gastro.pdf\nDrink water.", "May I drink?"))
    Context:
    [1] Source: gastro.pdf
    Drink water.
    <BLANKLINE>
    ---
    <BLANKLINE>
    Question: May I drink?

    Raises:
        ConfigError: an unknown language, or a template without one of the two.
        InputError: the question or the instructions are not strings.
    """
    words = language_of(language)
    for name, value in (("question", question), ("extra_instructions", extra_instructions or "")):
        if not isinstance(value, str):
            raise InputError(f"{name} must be a string, got {safe_repr(value)}")
    extra = f"\n\n{extra_instructions}" if extra_instructions else ""
    if template is not None:
        if not isinstance(template, str) or not all(template.count(name) == 1 for name in _PLACEHOLDERS):
            raise ConfigError("template", "a text with {context} and {question}, each once", template)
        filled = {"{context}": context or words.nothing, "{question}": question}
        return "".join(filled.get(part, part) for part in _PLACEHOLDER.split(template)) + extra
    return f"{words.context}\n{context or words.nothing}\n\n{RULE}\n\n{words.question} {question}{extra}"
