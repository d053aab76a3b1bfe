"""The settings of an answer chain. A wrong value is an error at construction that names parameter, range and value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from ctxassembly.config.field_docs import config_class
from ctxassembly.data.validation import NonBlank, Range, check_fields, one_of
from ctxassembly.errors import ConfigError
from ctxassembly.wording.prompts import Style

Rewrite = Literal["auto", "always", "off"]
Decompose = Literal["auto", "off"]

NO_CONTENT_ANSWER = "No relevant content found."
"""The published answer where nothing usable was retrieved."""


@config_class
@dataclass(frozen=True, slots=True)
class Intent:
    """A label for what a user may want.

    >>> Intent("off_topic", "Anything but the hospital.", answer="I can only speak of the hospital.").is_blocked
    True
    """

    label: Annotated[str, NonBlank()]
    description: Annotated[str, NonBlank()]
    """What belongs to it, for the model that chooses."""
    answer: Annotated[str, NonBlank()] | None = None
    """The answer that ends the chain at once, without retrieval: a refusal, or a question back. None goes on."""

    def __post_init__(self) -> None:
        check_fields(self, "intent.")

    @property
    def is_blocked(self) -> bool:
        """True if nothing is retrieved for it."""
        return self.answer is not None


@config_class
@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """How much is retrieved and said.

    >>> PUBLISHED_MODES["escalated"].candidates, PUBLISHED_MODES["escalated"].limit
    (100, 20)
    """

    candidates: Annotated[int, Range(1)] | None = None
    """Chunks that each channel gives to fusion, and that a reranker sees. None leaves it to the retriever."""
    limit: Annotated[int, Range(1)] | None = None
    """The number of hits. None leaves it to the retriever."""
    min_similarity: Annotated[float, Range(-1, 1)] | None = None
    """Vector hits with a lower cosine are left out. None leaves it to the retriever."""
    rerank: bool = True
    """Whether the retriever's rerankers are asked, if it has any."""
    answer_tokens: Annotated[int, Range(1)] = 1_000
    """The most tokens of the answer."""

    def __post_init__(self) -> None:
        check_fields(self, "mode.")
        if None not in (self.candidates, self.limit) and self.candidates < self.limit:  # type: ignore[operator]
            raise ConfigError("mode.candidates", f"at least limit, {self.limit:,}", self.candidates)


PUBLISHED_MODES: Mapping[str, Mode] = {
    "normal": Mode(answer_tokens=1_000, rerank=False),
    "full": Mode(candidates=50, limit=15, answer_tokens=1_500),
    "escalated": Mode(candidates=100, limit=20, min_similarity=0.35, answer_tokens=3_000),
}
"""The modes of `AnswerConfig`. The published "full" reranks 20 candidates to 15; 50 leave it more to choose from."""


@config_class
@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerConfig:
    """The settings of an answer chain. By default it asks the model once, for the answer.

    >>> config = AnswerConfig(intents=(Intent("practical", "Parking, visiting hours."),), default_intent="practical")
    >>> config.modes["escalated"].answer_tokens
    3000
    """

    # Before retrieval, all in one call of the model
    intents: tuple[Intent, ...] = ()
    """The labels of what users may want. Empty classifies nothing. An intent with an answer of its own, such as a
    refusal, ends the chain without a search."""
    default_intent: str | None = None
    """The label where the model's answer is malformed, late, unknown or unsure; None means no intent."""
    min_confidence: Annotated[float, Range(0, 1)] = 0.5
    """The confidence from which the model's intent is taken, 0 to 1."""
    rewrite: Rewrite = "auto"
    """The rewriting of questions: "auto" makes one that leans on the conversation stand alone, and leaves others as
    they are; "always" states every question in one sentence, which is the published rule; "off" asks for neither."""
    corpus_language: Annotated[str, NonBlank()] | None = None
    """The language of the documents, in English ("Dutch"), into which questions are put. None leaves them in their
    own."""
    exchanges: Annotated[int, Range(0)] = 5
    """The exchanges of the conversation that rewriting reads, from 0. Published: 5."""
    keywords: bool = False
    """True asks for short keyword queries, too, which are searched by words alone."""
    filter_fields: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The metadata fields that the model may filter by, each with a description. What it infers only narrows what the
    caller's filter allows."""
    decompose: Decompose = "off"
    """The parting of questions: "auto" asks whether one needs independent pieces of evidence, and retrieves for each of
    them; "off" doesn't. Measured with the parts given: .710 of the evidence among the best 5 chunks in place of .513
    (`python -m answering` in tests/bench)."""
    max_sub_questions: Annotated[int, Range(1, 4)] = 4
    """The most parts of a question, 1 to 4 (the published limit)."""

    # The answer
    modes: Mapping[str, Mode] = field(default_factory=lambda: PUBLISHED_MODES, hash=False)
    """The modes that a call may ask for, by name: "normal" by default, "full", "escalated", or your own. A `Mode` says
    how much is retrieved and said."""
    style: Style = "grounded"
    """The style of the prompt: "grounded", "strict" or "soft", as in `Context.to_messages`."""
    extra_rules: tuple[str, ...] = ()
    """The rules that come last in the system message, such as "Give no medical advice."."""
    template: Annotated[str, NonBlank()] | None = None
    """The user message, with {context} and {question}. None takes that of the context's own language."""
    history_tokens: Annotated[int, Range(0)] = 8_000
    """The most tokens of the conversation in the prompt, from its end; at least 0. Published: 8,000."""
    no_content: Annotated[str, NonBlank()] = NO_CONTENT_ANSWER
    """The answer where nothing usable was retrieved. The model isn't asked then."""
    voice: bool = False
    """True for an answer that is spoken: its labels are removed."""

    # Deadlines, in seconds, above 0
    search_seconds: Annotated[float, Range(above=0)] = 30.0
    """The time for all searches of a question together."""
    understand_seconds: Annotated[float, Range(above=0)] = 10.0
    """The time for the call before retrieval. If it is late, the question goes on as it is."""
    answer_seconds: Annotated[float, Range(above=0)] = 60.0
    """The time for the answer, and in a stream for each of its pieces."""

    def __post_init__(self) -> None:
        check_fields(self)
        self._check_intents()
        rules = self.extra_rules
        if not isinstance(rules, (tuple, list)) or not all(isinstance(rule, str) for rule in rules):
            raise ConfigError("extra_rules", "a tuple of strings", rules)
        object.__setattr__(self, "extra_rules", tuple(rules))
        _check_mapping("filter_fields", self.filter_fields, str)
        _check_mapping("modes", self.modes, Mode)

    def _check_intents(self) -> None:
        if not isinstance(self.intents, (tuple, list)) or not all(isinstance(one, Intent) for one in self.intents):
            raise ConfigError("intents", "a tuple of Intent", self.intents)
        labels = [intent.label for intent in self.intents]
        if len(set(labels)) < len(labels):
            raise ConfigError("intents", "a tuple of Intent, each with a label of its own", labels)
        if self.default_intent is not None and self.default_intent not in labels:
            raise ConfigError("default_intent", "None or the label of one of intents", self.default_intent)
        object.__setattr__(self, "intents", tuple(self.intents))

    def mode(self, name: str) -> Mode:
        """The mode of that name.

        Raises:
            ConfigError: there is none.
        """
        if name not in self.modes:
            raise ConfigError("mode", one_of(self.modes), name)
        return self.modes[name]


def _check_mapping(name: str, given: Any, kind: type) -> None:
    if not isinstance(given, Mapping) or not all(isinstance(one, kind) for one in given.values()):
        raise ConfigError(name, f"a mapping of names to {kind.__name__}", given)
