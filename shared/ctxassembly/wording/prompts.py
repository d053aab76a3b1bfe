"""What the model is told about a context: the system prompt of each style and language, and the messages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ctxassembly.errors import ConfigError, InputError
from ctxassembly.shown import shown
from ctxassembly.wording.forms import RULE, WORDINGS

_PLACES = ("{context}", "{question}")
_PLACE = re.compile(r"(\{context\}|\{question\})")
STYLES = ("grounded", "strict", "soft")
NOT_ENOUGH = {
    "en": "I don't have enough information in the provided context to answer this question.",
    "nl": "Ik heb in de gegeven context niet genoeg informatie om deze vraag te beantwoorden.",
}
"""What a strict answer says, word for word, where the context has none. The English sentence is the published one."""


@dataclass(frozen=True, slots=True)
class _Words:
    """The rules of one language."""

    task: str
    only: str
    insufficient: str
    no_inference: str
    refuse: str
    """With {}, the sentence."""
    first: str
    own_knowledge: str
    cite: Mapping[str, str]
    """By format: how the reader cites what it shows."""
    no_labels: str
    supplement: str
    concise: str


_LANGUAGES = {
    "en": _Words(
        task="Answer the question on the basis of the context that comes with it.",
        only="Use only what the context says.",
        insufficient="If the context does not suffice, say so and say what is missing.",
        no_inference="Do not infer, guess or combine beyond what is written there.",
        refuse="If the answer is not there, reply with exactly this sentence and nothing else: {}",
        first="Rely on the context first.",
        own_knowledge=(
            "You may add general knowledge to clarify what it says, if you say that it is general knowledge. "
            "Where the two differ, the context is right."
        ),
        cite={
            "numbered": "Cite the label of the source right after each specific claim, as in [1] or [1][3].",
            "source": "Cite the label of the source right after each specific claim, as in [SOURCE 1].",
            "xml": "Cite the index of the chunk in square brackets right after each specific claim, as in [1].",
        },
        no_labels="Write no reference marks.",
        supplement=(
            "The supplementary information completes the documents and has no label: use it without citing it. "
            "Where the two differ, the documents are right."
        ),
        concise="Be concise.",
    ),
    "nl": _Words(
        task="Beantwoord de vraag op basis van de meegegeven context.",
        only="Gebruik alleen wat in de context staat.",
        insufficient="Volstaat de context niet, zeg dat dan en zeg wat er ontbreekt.",
        no_inference="Leid niets af, gok niet en combineer niets tot meer dan er staat.",
        refuse="Staat het antwoord er niet in, antwoord dan met precies deze zin en niets anders: {}",
        first="Ga in de eerste plaats uit van de context.",
        own_knowledge=(
            "Algemene kennis mag verduidelijken wat daar staat, als je zegt dat het algemene kennis is. "
            "Spreken ze elkaar tegen, dan geldt de context."
        ),
        cite={
            "numbered": "Zet het label van de bron direct achter elke specifieke bewering, zoals [1] of [1][3].",
            "source": "Zet het label van de bron direct achter elke specifieke bewering, zoals [SOURCE 1].",
            "xml": "Zet de index van de chunk tussen vierkante haken achter elke specifieke bewering, zoals [1].",
        },
        no_labels="Schrijf geen verwijzingstekens.",
        supplement=(
            "De aanvullende informatie vult de documenten aan en heeft geen label: gebruik ze zonder verwijzing. "
            "Spreken ze elkaar tegen, dan gelden de documenten."
        ),
        concise="Wees beknopt.",
    ),
}


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
    words = _words(language)
    sections = {
        "grounded": (words.only, words.insufficient),
        "strict": (words.only, words.no_inference, words.refuse.format(NOT_ENOUGH[language])),
        "soft": (words.first, words.own_knowledge, words.insufficient),
    }
    if style not in sections:
        raise ConfigError("style", "one of " + ", ".join(map(repr, STYLES)), style)
    rules = (
        *sections[style],
        words.cite.get(form, words.no_labels),
        *((words.supplement,) if supplement else ()),
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
    _words(language)
    words = WORDINGS[language]
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


def _words(language: str) -> _Words:
    if language not in _LANGUAGES:
        raise ConfigError("language", "one of " + ", ".join(map(repr, _LANGUAGES)), language)
    return _LANGUAGES[language]
