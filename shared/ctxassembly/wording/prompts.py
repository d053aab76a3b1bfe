"""What the model is told about a context: the system prompt of each style and language, and the messages.

The sentences are those of the language, and the one about citing is chosen by the format.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ctxassembly.errors import ConfigError, InputError
from ctxassembly.shown import shown
from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.forms import RULE
from ctxassembly.wording.languages import LANGUAGES, language_of

_PLACES = ("{context}", "{question}")
_PLACE = re.compile(r"(\{context\}|\{question\})")
STYLES = ("grounded", "strict", "soft")
NOT_ENOUGH: Mapping[str, str] = {code: each.not_enough for code, each in LANGUAGES.items()}
"""What a strict answer says, word for word, where the context has none, by language."""


def system_prompt(
    style: str = "grounded",
    *,
    form: str = "numbered",
    language: str = "en",
    supplement: bool = False,
    extra_rules: Sequence[str] = (),
) -> str:
    """The rules that an answer keeps to, one a line.

    Grounded: the context alone, saying so where it does not suffice. Strict: nothing inferred either, else
    `NOT_ENOUGH` and no more. Soft: the context first, general knowledge may clarify. Labels are asked for if the format
    `form` shows them; a supplement is spoken of if there is one. `extra_rules` come last.

    Raises:
        ConfigError: an unknown style or language.
        InputError: a rule is no text.
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
        FORMATS[form].asked(words) if form in FORMATS else words.no_labels,
        *((words.supplement_rule,) if supplement else ()),
        words.concise,
        *extra_rules,
    )
    if isinstance(extra_rules, str) or not all(isinstance(rule, str) for rule in rules):
        raise InputError(f"extra_rules must be a sequence of strings, got {shown(extra_rules)}")
    return "\n".join((words.task, *(f"- {rule}" for rule in rules)))


def user_prompt(
    context: str,
    question: str,
    *,
    language: str = "en",
    extra_instructions: str | None = None,
    template: str | None = None,
) -> str:
    """The context, then the question under a line of dashes, then `extra_instructions`.

    Or what a `template` makes of {context} and {question}, each there once. Of its other words those that aren't ours
    are not guarded: a document may have the same.

    An assembled context holds no such line and no section word but these. The question and the instructions come last
    and are not looked at: they are the words of whoever asks, code and all, and what they say is said to the model in
    any case. Whoever doesn't trust a question beyond that should not let it cite for others.

    Raises:
        ConfigError: an unknown language, or a template without one of the two.
        InputError: the question or the instructions are no text.
    """
    words = language_of(language)
    for name, value in (("question", question), ("extra_instructions", extra_instructions or "")):
        if not isinstance(value, str):
            raise InputError(f"{name} must be a string, got {shown(value)}")
    extra = f"\n\n{extra_instructions}" if extra_instructions else ""
    if template is not None:
        if not isinstance(template, str) or not all(template.count(name) == 1 for name in _PLACES):
            raise ConfigError("template", "a text with {context} and {question}, each once", template)
        filled = {"{context}": context or words.nothing, "{question}": question}
        return "".join(filled.get(part, part) for part in _PLACE.split(template)) + extra
    return f"{words.context}\n{context or words.nothing}\n\n{RULE}\n\n{words.question} {question}{extra}"
