"""The settings of an answer chain. A wrong value is an error at construction that names parameter, range and value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ctxassembly.data.checks import MOST, check_int, check_number
from ctxassembly.errors import ConfigError

Rewrite = Literal["auto", "always", "off"]
Decompose = Literal["auto", "off"]

NO_CONTENT = "No relevant content found."
"""The published answer where nothing usable was retrieved."""
MOST_SUB_QUESTIONS = 4
"""The published limit."""


@dataclass(frozen=True, slots=True)
class Intent:
    """A label for what a user may want.

    >>> Intent("off_topic", "Anything but the hospital.", answer="I can only speak of the hospital.").blocked
    True
    """

    label: str
    description: str
    """What belongs to it, for the model that chooses."""
    answer: str | None = None
    """The answer that ends the chain at once, without retrieval: a refusal, or a question back. None goes on."""

    def __post_init__(self) -> None:
        for name in ("label", "description"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name).strip():
                raise ConfigError(f"intent.{name}", "a non-empty string", getattr(self, name))
        if not (self.answer is None or (isinstance(self.answer, str) and self.answer.strip())):
            raise ConfigError("intent.answer", "a non-empty string or None", self.answer)

    @property
    def blocked(self) -> bool:
        """True if nothing is retrieved for it."""
        return self.answer is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """How much is retrieved and said.

    >>> PUBLISHED_MODES["escalated"].candidates, PUBLISHED_MODES["escalated"].kept
    (100, 20)
    """

    candidates: int | None = None
    """Chunks that each channel gives to fusion, and that a reranker sees. None leaves it to the retriever."""
    kept: int | None = None
    """The number of hits. None leaves it to the retriever."""
    min_similarity: float | None = None
    """Vector hits with a lower cosine are left out. None leaves it to the retriever."""
    rerank: bool = True
    """Whether the retriever's rerankers are asked, if it has any."""
    answer_tokens: int = 1_000
    """The most tokens of the answer."""

    def __post_init__(self) -> None:
        for name in ("candidates", "kept"):
            if getattr(self, name) is not None:
                check_int(f"mode.{name}", getattr(self, name), 1, MOST)
        if None not in (self.candidates, self.kept) and self.candidates < self.kept:  # type: ignore[operator]
            raise ConfigError("mode.candidates", f"at least kept, {self.kept:,}", self.candidates)
        if self.min_similarity is not None:
            check_number("mode.min_similarity", self.min_similarity, -1.0, 1.0)
        if not isinstance(self.rerank, bool):
            raise ConfigError("mode.rerank", "True or False", self.rerank)
        check_int("mode.answer_tokens", self.answer_tokens, 1, MOST)


PUBLISHED_MODES: Mapping[str, Mode] = {
    "normal": Mode(answer_tokens=1_000, rerank=False),
    "full": Mode(candidates=50, kept=15, answer_tokens=1_500),
    "escalated": Mode(candidates=100, kept=20, min_similarity=0.35, answer_tokens=3_000),
}
"""The modes of `AnswerConfig`. The published "full" reranks 20 candidates to 15; 50 leave it more to choose from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerConfig:
    """The settings of an answer chain. By default it asks the model once, for the answer.

    >>> config = AnswerConfig(intents=(Intent("practical", "Parking, visiting hours."),), default_intent="practical")
    >>> config.modes["escalated"].answer_tokens
    3000

    Before retrieval, all in one call of the model:

    intents: labels of what users may want. Empty classifies nothing.
    default_intent: the label where the model's answer is malformed, late, unknown or unsure; None means no intent.
    min_confidence: an intent of less confidence isn't taken, 0 to 1.
    rewrite: "auto" makes a question that leans on the conversation stand alone, and leaves others as they are;
        "always" states every question in one sentence, which is the published rule; "off" asks for neither.
    corpus_language: the language of the documents, in English ("Dutch"), into which questions are put.
    exchanges: the exchanges of the conversation that rewriting reads, published: 5.
    keywords: ask for short keyword queries, too, which are searched by words alone.
    filter_fields: metadata fields that the model may filter by, each with a description. What it infers only narrows
        what the caller's filter allows.
    decompose: "auto" asks whether a question needs independent pieces of evidence, and retrieves for each of them.
    max_sub_questions: the most of them, 1 to 4.

    The answer:

    modes: what a call may ask for: "normal" by default, "full", "escalated", or your own.
    style: "grounded", "strict" or "soft", as in `Context.to_messages`.
    extra_rules: rules that come last in the system message, such as "Give no medical advice.".
    template: the user message, with {context} and {question}.
    history_tokens: the most tokens of the conversation in the prompt, from its end; published: 8,000.
    no_content: the answer where nothing usable was retrieved. The model isn't asked then.
    voice: the answer is to be spoken: its labels are removed.

    Deadlines, in seconds, above 0:

    search_seconds: for all searches of a question together.
    understand_seconds: for the call before retrieval. Late, the question goes on as it is.
    answer_seconds: for the answer, and in a stream for each of its pieces.
    """

    intents: tuple[Intent, ...] = ()
    default_intent: str | None = None
    min_confidence: float = 0.5
    rewrite: Rewrite = "auto"
    corpus_language: str | None = None
    exchanges: int = 5
    keywords: bool = False
    filter_fields: Mapping[str, str] = field(default_factory=dict, hash=False)
    decompose: Decompose = "off"
    max_sub_questions: int = MOST_SUB_QUESTIONS
    modes: Mapping[str, Mode] = field(default_factory=lambda: PUBLISHED_MODES, hash=False)
    style: str = "grounded"
    extra_rules: tuple[str, ...] = ()
    template: str | None = None
    history_tokens: int = 8_000
    no_content: str = NO_CONTENT
    voice: bool = False
    search_seconds: float = 30.0
    understand_seconds: float = 10.0
    answer_seconds: float = 60.0

    def __post_init__(self) -> None:
        self._check_intents()
        for name, allowed in (("rewrite", get_args(Rewrite)), ("decompose", get_args(Decompose))):
            if getattr(self, name) not in allowed:
                raise ConfigError(name, "one of " + ", ".join(map(repr, allowed)), getattr(self, name))
        for name in ("keywords", "voice"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(name, "True or False", getattr(self, name))
        for name in ("corpus_language", "template", "no_content"):
            value = getattr(self, name)
            if not (isinstance(value, str) and value) and (value is not None or name == "no_content"):
                raise ConfigError(name, "a non-empty string", value)
        check_number("min_confidence", self.min_confidence, 0.0, 1.0)
        check_int("exchanges", self.exchanges, 0)
        check_int("max_sub_questions", self.max_sub_questions, 1, MOST_SUB_QUESTIONS)
        check_int("history_tokens", self.history_tokens, 0)
        for name in ("search_seconds", "understand_seconds", "answer_seconds"):
            check_number(name, getattr(self, name), above=0)
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
            raise ConfigError("mode", "one of " + ", ".join(map(repr, self.modes)), name)
        return self.modes[name]


def _check_mapping(name: str, given: Any, kind: type) -> None:
    if not isinstance(given, Mapping) or not all(isinstance(one, kind) for one in given.values()):
        raise ConfigError(name, f"a mapping of names to {kind.__name__}", given)
