"""The settings of an answer chain. A wrong value raises an error at construction with parameter, range and value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeAlias, cast

from ctxassembly.data.validation import NonBlank, Range, check_fields, one_of
from ctxassembly.errors import ConfigError
from ctxassembly.wording.prompts import Style

Rewrite = Literal["auto", "always", "off"]
Decompose = Literal["auto", "off"]
OnForbidden = Literal["refuse", "flag"]
Forbidden: TypeAlias = "tuple[str, ...] | Callable[[str], Any]"
"""Patterns, or a function from an answer to True if it is forbidden."""


@dataclass(frozen=True, slots=True)
class Intent:
    """A class of questions, with a label and a description.

    >>> Intent("off_topic", "Anything but the hospital.", answer="I can only speak of the hospital.").label
    'off_topic'
    """

    label: Annotated[str, NonBlank()]
    description: Annotated[str, NonBlank()]
    """A description of what belongs to the intent, for the model that classifies."""
    answer: Annotated[str, NonBlank()] | None = None
    """A fixed answer that ends the chain immediately, without retrieval: a refusal, or a question to the user. None
    continues with retrieval."""

    def __post_init__(self) -> None:
        check_fields(self, "intent.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """How much is retrieved, and how long the answer may be.

    A mode widens a search and never narrows it: where the retriever has a larger limit, more candidates or a lower
    minimum similarity, or none, its own setting holds.

    >>> PUBLISHED_MODES["escalated"].candidates, PUBLISHED_MODES["escalated"].limit
    (100, 20)
    """

    candidates: Annotated[int, Range(1)] | None = None
    """The number of chunks that each channel passes to fusion, and that a reranker receives, unless the retriever's
    setting is more. None uses the retriever's setting."""
    limit: Annotated[int, Range(1)] | None = None
    """The number of hits, unless the retriever's setting is more. None uses the retriever's setting."""
    min_similarity: Annotated[float, Range(-1, 1)] | None = None
    """The minimum cosine similarity of a vector hit, unless the retriever has a lower one, or none. None uses the
    retriever's setting."""
    rerank: bool = True
    """Whether to call the retriever's rerankers, if it has any."""
    answer_tokens: Annotated[int, Range(1)] = 1_000
    """The maximum number of tokens in the answer."""

    def __post_init__(self) -> None:
        check_fields(self, "mode.")
        if None not in (self.candidates, self.limit) and self.candidates < self.limit:  # type: ignore[operator]
            raise ConfigError("mode.candidates", f"at least limit, {self.limit:,}", self.candidates)


PUBLISHED_MODES: Mapping[str, Mode] = {
    "normal": Mode(answer_tokens=1_000, rerank=False),
    "full": Mode(candidates=50, limit=15, answer_tokens=1_500),
    "escalated": Mode(candidates=100, limit=20, min_similarity=0.35, answer_tokens=3_000),
}
"""The modes of `AnswerConfig`. The published "full" reranks 20 candidates to 15; here it reranks 50, for a wider
choice."""


PUBLISHED_INTENTS = (
    Intent("practical", "Parking, the way, visiting hours, costs, things to bring or borrow."),
    Intent("appointments", "Making, moving or preparing an appointment."),
    Intent("general", "The hospital in general, and all that no other label fits."),
    Intent("legal_admin", "Rights, complaints, records, insurance, invoices."),
    Intent("clinical_info", "Conditions, examinations, treatments, and who does them."),
    Intent("regulatory", "Rules, accreditation, privacy law, quality figures."),
    Intent(
        "out_of_scope_medical_advice",
        "Asks for a diagnosis, a dose, or advice on the user's own symptoms.",
        "Ik kan geen medisch advies geven. Vraag het aan uw arts.",
    ),
    Intent("off_topic", "Has nothing to do with the hospital.", "Ik beantwoord alleen vragen over het ziekenhuis."),
    Intent("other_hospital", "Is about another hospital.", "Ik heb alleen informatie over dit ziekenhuis."),
    Intent("vague_input", "Can't be understood, or could mean anything.", "Kunt u uw vraag wat preciezer stellen?"),
)
"""The published categories of content, and the four published intents that end the chain with an answer of their own.
Their descriptions and answers are ours."""
PUBLISHED_TEMPLATE = "Contextdocumenten:\n{context}\n\nVraag: {question}"
PUBLISHED_REWRITING = (
    "De vraag als één volledige zin in het Nederlands, waarin elk voornaamwoord en elke verwijzing is ingevuld."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerConfig:
    """The settings of an answer chain. By default it calls the model once, for the answer.

    `published` returns the published settings.

    >>> config = AnswerConfig(intents=(Intent("practical", "Parking, visiting hours."),), default_intent="practical")
    >>> config.modes["escalated"].answer_tokens
    3000
    """

    # Before retrieval, all in one call of the model
    intents: tuple[Intent, ...] = ()
    """The intents that a question may have. Empty turns classification off. An intent with its own answer, such as a
    refusal, ends the chain without a search."""
    default_intent: str | None = None
    """The label to use if the model's answer is malformed, late, unknown or unsure. None means no intent."""
    rewrite: Rewrite = "auto"
    """The rewriting of questions: "auto" makes a question that depends on the conversation standalone, and keeps other
    questions unchanged; "always" states every question in one sentence, which is the published rule; "off" does
    neither."""
    rewrite_prompt: Annotated[str, NonBlank()] | None = None
    """The instruction for the rewritten question, as the model reads it. None uses the instruction of `rewrite`. The
    form of the reply is added to it: the model may return null for a question that needs no rewriting."""
    decompose: Decompose = "off"
    """The decomposition of questions: "auto" asks the model whether a question needs independent pieces of evidence,
    and retrieves for each of them; "off" doesn't. Measured with the sub-questions given: .710 of the evidence among the
    best 5 chunks instead of .513 (`python -m answering` in tests/bench)."""

    # The answer
    modes: Mapping[str, Mode] = field(default_factory=lambda: PUBLISHED_MODES, hash=False)
    """The modes that a call can select by name: "normal" by default, "full", "escalated", or your own. A `Mode` sets
    how much is retrieved and how long the answer may be."""
    think_harder: Annotated[str, NonBlank()] | None = None
    """The mode, such as "escalated", in which a question is answered by itself where that may help: at once if the user
    says that the last answer was wrong or incomplete; once more if nothing was found, or if the answer says that the
    context doesn't suffice, has fewer than half of its sentences labeled, or a label or quote that the context hasn't.
    The better answer is kept. A stream is held back until the answer is whole. None never does it."""
    style: Style = "grounded"
    """The style of the prompt: "grounded", "strict" or "soft", as in `Context.to_messages`."""
    extra_rules: tuple[str, ...] = ()
    """Rules such as "Give no medical advice." to append to the system message."""
    template: Annotated[str, NonBlank()] | None = None
    """The user message, with {context} and {question}. None uses the template of the context's language."""
    history_exchanges: Annotated[int, Range(1)] = 5
    """The number of exchanges of the conversation that the model always reads, the last ones, if `history_tokens` has
    room for them; at least 1. Up to three fifths more are read where there is room: older ones are left out in steps
    of several, so that the beginning of the prompt stays in a provider's cache. Published: 5, without steps."""
    history_tokens: Annotated[int, Range(0)] = 8_000
    """The maximum number of tokens of the conversation in the prompt, counted from its end; at least 0. Published:
    8,000."""
    summarize_history: bool = False
    """Whether the model summarizes the exchanges that are left out, in at most 300 tokens of `history_tokens`. It reads
    the last of them, as many as have room there; a note in the trace says how many. That is one more call for each
    question of a conversation that is longer than the other two settings allow."""
    forbidden: Forbidden = ()
    """What an answer must not say: regular expressions, which ignore case, such as `r"\\b\\d+ ?(mg|tablets)\\b"`; or a
    function from an answer to True if it is forbidden. Labels between words don't hide them."""
    on_forbidden: OnForbidden = "refuse"
    """The action on a forbidden answer: "refuse" replaces it by `refusal`; "flag" keeps it. Both add a note with the
    words. With "refuse" a stream is held back until the answer is whole."""
    refusal: Annotated[str, NonBlank()] | None = None
    """The answer in place of a forbidden one. None says that no advice can be given, in the language of the answer."""
    no_content: Annotated[str, NonBlank()] | None = None
    """The answer if nothing usable was retrieved. The model isn't called then. None says "No relevant content found."
    in the language of the question, as far as its function words show it, else of the assembly."""
    voice: bool = False
    """Whether the answer is spoken. True removes its labels; its citations stay in `Answer.citations`, which has all
    that the model read if the answer has no label."""

    answer_seconds: Annotated[float, Range(above=0)] = 60.0
    """The timeout for the answer, and in a stream for each of its pieces."""

    def __post_init__(self) -> None:
        check_fields(self)
        self._check_intents()
        rules = self.extra_rules
        if not isinstance(rules, (tuple, list)) or not all(isinstance(rule, str) for rule in rules):
            raise ConfigError("extra_rules", "a tuple of strings", rules)
        object.__setattr__(self, "extra_rules", tuple(rules))
        object.__setattr__(self, "forbidden", _check_forbidden(self.forbidden))
        if not isinstance(self.modes, Mapping) or not all(isinstance(one, Mode) for one in self.modes.values()):
            raise ConfigError("modes", "a mapping of names to Mode", self.modes)
        if not (self.think_harder is None or self.think_harder in self.modes):
            raise ConfigError("think_harder", f"None or {one_of(self.modes)}", self.think_harder)

    def _check_intents(self) -> None:
        if not isinstance(self.intents, (tuple, list)) or not all(isinstance(one, Intent) for one in self.intents):
            raise ConfigError("intents", "a tuple of Intent", self.intents)
        labels = [intent.label for intent in self.intents]
        if len(set(labels)) < len(labels):
            raise ConfigError("intents", "a tuple of Intent, each with a label of its own", labels)
        if self.default_intent is not None and self.default_intent not in labels:
            raise ConfigError("default_intent", "None or the label of one of intents", self.default_intent)
        object.__setattr__(self, "intents", tuple(self.intents))

    @classmethod
    def published(cls) -> AnswerConfig:
        """Return the published settings, for a Dutch hospital.

        Every question is classified and rewritten, four intents end the chain, weak answers are given again by
        themselves, and no medical advice is given.

        >>> published = AnswerConfig.published()
        >>> published.rewrite, published.think_harder, published.modes["full"].candidates
        ('always', 'escalated', 20)
        >>> [intent.label for intent in published.intents if intent.answer]
        ['out_of_scope_medical_advice', 'off_topic', 'other_hospital', 'vague_input']
        """
        full = replace(PUBLISHED_MODES["full"], candidates=20)
        return cls(
            intents=PUBLISHED_INTENTS,
            default_intent="general",
            rewrite="always",
            rewrite_prompt=PUBLISHED_REWRITING,
            modes={**PUBLISHED_MODES, "full": full},
            think_harder="escalated",
            extra_rules=("Geef geen medisch advies.",),
            template=PUBLISHED_TEMPLATE,
        )

    @property
    def is_held(self) -> bool:
        """True if an answer is checked as a whole before any of it is given on, also in a stream."""
        return self.think_harder is not None or (bool(self.forbidden) and self.on_forbidden == "refuse")

    def mode(self, name: str) -> Mode:
        """Return the mode called `name`.

        Raises:
            ConfigError: no mode has this name.
        """
        if name not in self.modes:
            raise ConfigError("mode", one_of(self.modes), name)
        return self.modes[name]


def _check_forbidden(given: Any) -> Forbidden:
    if callable(given):
        return cast(Forbidden, given)
    allowed = "a function, or a tuple of regular expressions"
    if not isinstance(given, (tuple, list)) or not all(isinstance(pattern, str) and pattern for pattern in given):
        raise ConfigError("forbidden", allowed, given)
    for pattern in given:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ConfigError("forbidden", allowed, pattern, f": {error}") from error
    return tuple(given)
