"""One call of an answer chain, the requests that it yields to its driver, and the replies that it expects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ctxassembly.assembly.call import System
from ctxassembly.assembly.supplement import Supplement
from ctxassembly.config.answering import Mode
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.data.chunks import Hit
from ctxassembly.retrieval.search import Question
from ctxassembly.tokens.budget import TokenBudget
from ctxassembly.wording.languages import guess_language

Purpose = Literal["understand", "summarize", "answer", "enrich"]
Message = Mapping[str, str]
"""A message with `role` ("system", "user" or "assistant") and `content`."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question of the conversation so far, and its answer. `Answer.exchange` gives it.

    >>> Exchange("May I drink before a gastroscopy?", "Until two hours before [1].").cited
    ()
    """

    question: str
    answer: str
    cited: tuple[str, ...] = ()
    """The ids of the documents that the answer cited: a question that depends on the conversation prefers them."""


@dataclass(frozen=True, slots=True)
class AskModel:
    """Answered with a `ModelReply`; if `is_streamed`, with None, and the answer follows by `NextPiece`.

    >>> from ctxassembly import understand
    >>> from ctxassembly.answering import AnswerConfig, Exchange
    >>> def model(request):
    ...     print(request.purpose, list(request.schema["properties"]), request.mode)
    ...     return "{}"
    >>> understand("And eat?", model=model, history=[Exchange("May I drink?", "Yes [1].")]).rewritten
    understand ['question'] normal
    """

    purpose: Purpose
    messages: tuple[Message, ...]
    timeout_seconds: float
    schema: Mapping[str, Any] | None = None
    """The JSON schema of the reply, for models with structured output. The prompt asks for the same fields."""
    max_tokens: int | None = None
    mode: str = "normal"
    """The mode of the call, by which a caller may choose the model."""
    is_streamed: bool = False


@dataclass(frozen=True, slots=True)
class NextPiece:
    """Answered with the next `ModelReply` of the stream that was asked for last; with None at its end."""

    timeout_seconds: float


FINISH_KEYS = ("finish_reason", "stop_reason", "done_reason", "reason")
"""The names under which providers report why an answer ended; the last one is in `incomplete_details`."""
TRUNCATION_REASONS = ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded")
"""What providers call the end of an answer that had no room, in small letters."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """Text of a model: all of it, or the next piece.

    >>> ModelReply("Until two hours before [1].", finish_reason="stop", tokens_in=812, tokens_out=9).tokens_out
    9
    """

    text: str
    finish_reason: str | None = None
    """The reason that it ended by, in the provider's words ("stop", "length"); None if it doesn't say."""
    tokens_in: int | None = None
    tokens_out: int | None = None

    @property
    def is_truncated(self) -> bool:
        """True if the model ended because it had no more room.

        >>> ModelReply("Until two", "length").is_truncated, ModelReply("Until two hours.", "stop").is_truncated
        (True, False)
        """
        reason = (self.finish_reason or "").lower().rpartition(".")[2]  # or an enum's text
        return reason in TRUNCATION_REASONS


@dataclass(frozen=True, slots=True)
class Search:
    """One search for a question of the chain."""

    name: str
    """"question", "original", or the sub-question."""
    question: Question
    mode: Mode
    weight: float


@dataclass(frozen=True, slots=True)
class SearchAll:
    """Answered with a `Retrieved` for each of `searches`, in their order, or the exception that it raised."""

    searches: tuple[Search, ...]


@dataclass(frozen=True, slots=True)
class Compute:
    """Work that may take long, such as counting tokens: it is done beside the event loop. The reply is its result."""

    function: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class CacheGet:
    """Answered with the entry that a cache has under `key`; with None if it has none, or there is no cache."""

    key: str


@dataclass(frozen=True, slots=True)
class CacheSet:
    """A request to a cache to keep `entry` under `key`."""

    key: str
    entry: str


@dataclass(frozen=True, slots=True)
class Assemble:
    """Answered with a `Context`."""

    hits: Sequence[Hit]
    query: str
    supplement: Supplement | None
    filter: Any
    """The caller's filter, which neighbors have to pass, too."""
    budget: TokenBudget | None = None
    """The budget where the prompts leave less of the window than the assembly's own."""
    conversation: Conversation = field(default_factory=Conversation)
    """The labels that documents keep, and those that are free."""

    def limit_config(self, config: AssemblyConfig | System) -> AssemblyConfig | System:
        """Return the settings of the assembly under `budget`. A system of its own keeps the budget that it has."""
        if self.budget is None or not isinstance(config, AssemblyConfig):
            return config
        return replace(config, max_tokens=self.budget)


@dataclass(frozen=True, slots=True)
class AnswerCall:
    """A question in a conversation."""

    question: str
    history: tuple[Exchange, ...] = ()
    mode: str = "normal"
    filter: Any = None
    """The caller's filter, in the form of the retriever."""
    today: str = ""
    """The date, for words like "this year"."""
    is_streamed: bool = False
    cache_facts: Mapping[str, Any] | None = None
    """The scope, the settings and the name of the model, for the key of the answer; None if no cache is used."""
    conversation: Conversation = field(default_factory=Conversation)
    """The labels of earlier contexts. The prompt has only the context of this question, so nothing is left out."""
    background: str = ""
    """Text of the history's system messages, such as what a memory has extracted from earlier sessions."""
    assembly: AssemblyConfig = field(default_factory=AssemblyConfig)
    """The settings of the assembly: its language, and the window that it shares."""
    window_for: Callable[[str], int | None] | None = None
    """From a mode to the window of its model, in tokens; None if it is unknown."""

    @property
    def language(self) -> str:
        """The language of the answer: of the question or the one before it, if clear, else of the assembly."""
        asked = (self.question, *(exchange.question for exchange in self.history[-1:]))
        return next(filter(None, map(guess_language, asked)), self.assembly.language)
