"""A model's context window shared out in zones, the tokens they leave for retrieved text, and a conversation trimmed.

Models are looked up by name, or read from the model object: `metadata` of a LlamaIndex LLM, `profile` of a LangChain
chat model. Neither framework is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError, InputError, MissingExtraError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tokens.counter import counter_for
from ctxassembly.user_warnings import with_remedy

PUBLISHED_WINDOWS = {
    "mistral": 8_192,
    "gemma2:9b": 8_192,
    "qwen2.5:3b": 32_768,
    "llama3.2": 128_000,
    "llama3.2:3b": 128_000,
    "qwen2.5:14b": 128_000,
    "deepseek-r1:8b": 128_000,
}
"""Windows of local models, as published with the zones. Hosted models are looked up in genai-prices."""
LLAMAINDEX_DEFAULT_WINDOW = 3_900
"""The window that LlamaIndex reports for a model it doesn't know."""


@dataclass(frozen=True, slots=True)
class Model:
    """The known facts of a model; None means unknown."""

    name: str | None = None
    window: int | None = None
    """Tokens it takes, its answer included."""
    max_output: int | None = None
    """Most tokens of an answer, if a limit was set."""

    @property
    def encoding(self) -> str | None:
        """The name of its tiktoken encoding; None if it is no model of OpenAI's.

        >>> Model("gpt-4o").encoding
        'o200k_base'
        """
        from tiktoken.model import encoding_name_for_model

        try:
            return encoding_name_for_model(self.name) if self.name else None
        except KeyError:
            return None


def model_info(llm: object) -> Model | None:
    """Return the model that a LlamaIndex LLM or a LangChain chat model describes, or None."""
    try:
        metadata, profile = getattr(llm, "metadata", None), getattr(llm, "profile", None)
        name = getattr(metadata, "model_name", None) or getattr(llm, "model_name", None) or getattr(llm, "model", None)
        window, output = getattr(metadata, "context_window", None), getattr(metadata, "num_output", None)
        if isinstance(profile, Mapping):
            window, output = profile.get("max_input_tokens"), getattr(llm, "max_tokens", None)
    except Exception:  # noqa: BLE001 - a property may ask a server that isn't there
        return None
    window = window if _is_number(window) and window != LLAMAINDEX_DEFAULT_WINDOW else None
    name = name if isinstance(name, str) else None
    return Model(name, window, output if _is_number(output) else None) if name or window else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def window_of(model: str) -> int:
    """Return the window of `model`, in tokens.

    Raises:
        ConfigError: the name is unknown.
        MissingExtraError: it is no local model of the published table, and genai-prices is not installed.
    """
    if model in PUBLISHED_WINDOWS:
        return PUBLISHED_WINDOWS[model]
    known = _hosted_windows()
    if model in known:
        return known[model]
    similar = sorted(name for name in known if name[:4] == str(model)[:4])[:20]
    choices = ", ".join([*PUBLISHED_WINDOWS, *similar])
    raise ConfigError("model", f"one of {choices}, or any other that genai-prices knows; else give window=", model)


def _hosted_windows() -> dict[str, int]:
    """Return the windows in genai-prices by model id; where providers differ, the smallest."""
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError as error:
        raise MissingExtraError(
            "looking up the context window of a hosted model (or give window=)", "models"
        ) from error
    windows: dict[str, int] = {}
    for provider in get_snapshot().providers:
        for model in provider.models:
            if model.context_window:
                windows[model.id] = min(model.context_window, windows.get(model.id, model.context_window))
    return windows


def window_warning(llm: object, max_tokens: int) -> str | None:
    """Return a warning if a context of `max_tokens` fills the window of `llm`; None if it fits or nobody knows."""
    model = model_info(llm)
    if model is None or model.window is None or max_tokens < model.window:
        return None
    name = model.name or type(llm).__name__
    return with_remedy(
        f"A context of up to {max_tokens:,} tokens doesn't fit into the {model.window:,} that {name[:60]} takes",
        "AssemblyConfig(max_tokens=TokenBudget.for_model(llm))",
    )


ZONES = ("system", "query", "conversation", "generation", "buffer")

DEFAULT_OUTPUT_TOKENS = 1_024
"""Tokens that the published rule for models keeps for the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """Zones of a model's context window, all in tokens; `context` has those left for retrieved text.

    The default zones are the published ones for a window of 128,000: system 4,000, context 32,000, conversation 8,000,
    query 1,000, generation 4,000, buffer 1,000.

    >>> TokenBudget().context, TokenBudget(context_cap=None).context
    (32000, 110000)

    Other uses share a window otherwise:

    | use | zones | `context`, its share |
    |---|---|---|
    | document analysis | `TokenBudget(conversation=0, generation=8_000, context_cap=None)` | 114,000 (89 %) |
    | support chat | `TokenBudget(window=32_768, system=2_000, conversation=16_000, generation=1_000)` | 11,768 (36 %) |
    | single turns | `TokenBudget(window=8_192, system=500, conversation=0, generation=1_000)` | 4,692 (57 %) |

    Document analysis gives nearly all of a large window to the files, but for a long answer. A chat keeps room for its
    history, which `trim_history` holds within `conversation`. A single turn has none: in a small window that matters.
    """

    window: int = 128_000
    """The most tokens that the model takes, its answer included."""
    system: int = 4_000
    query: int = 1_000
    conversation: int = 8_000
    generation: int = 4_000
    buffer: int = 1_000
    """Room for tokens that nobody counted, such as role markers and tool definitions."""
    context_cap: int | None = 32_000
    """The most tokens of the context, even if the zones leave more; None means no cap."""
    encoding: str | Callable[[str], int] | None = None
    """The tiktoken encoding of the model, if it has one, or a function from a text to its number of tokens."""

    def __post_init__(self) -> None:
        check_int("TokenBudget.window", self.window, 1)
        for zone in ZONES:
            check_int(f"TokenBudget.{zone}", getattr(self, zone), 0)
        if self.context_cap is not None:
            check_int("TokenBudget.context_cap", self.context_cap, 1)
        if self.context < 1:
            spent = " + ".join(f"{zone} {getattr(self, zone):,}" for zone in ZONES)
            raise ConfigError("TokenBudget.window", f"more than the zones take together ({spent})", self.window)

    @property
    def context(self) -> int:
        """Tokens left for the context by the other zones, at most `context_cap`."""
        remaining = self.window - self.system - self.query - self.conversation - self.generation - self.buffer
        return remaining if self.context_cap is None else min(self.context_cap, remaining)

    @property
    def cut_note(self) -> str | None:
        """A note for the trace if the window leaves less than `context_cap`; None if it doesn't."""
        if self.context_cap is None or self.context_cap <= self.context:
            return None
        return (
            f"budget: {self.context_cap:,} tokens cut to the {self.context:,} that a window of {self.window:,} leaves"
        )

    @property
    def total(self) -> int:
        """Tokens of all zones and the context: the most of the window that is ever used."""
        others = self.system + self.query + self.conversation + self.generation + self.buffer
        return self.context + others

    @classmethod
    def for_model(
        cls,
        model: str | object,
        *,
        window: int | None = None,
        system_prompt: str = "",
        question: str = "",
        history: Sequence[Message] = (),
        generation: int | None = None,
        buffer: int = 64,
        context_cap: int | None = None,
    ) -> TokenBudget:
        """Return the budget of one request to `model`: its prompt, question and history are counted, not estimated.

        This is the other published rule: window - system - query - output - 64. Tokens are counted in the model's own
        encoding if it is one of OpenAI's, else in cl100k_base; raise `buffer` for what that misses.

        >>> budget = TokenBudget.for_model("llama3.2:3b", system_prompt="Answer from the sources.", question="Who?")
        >>> budget.window, budget.system, budget.query, budget.context
        (128000, 5, 2, 126905)

        Args:
            model: its name, or the model itself: a LlamaIndex LLM (read from its `metadata`) or a LangChain chat model
                (read from its `profile`). If these don't say the window, it is looked up by the model's name: local
                models in a published table, hosted ones in the package genai-prices.
            window: the window in tokens, in place of the one looked up; then any name will do.
            system_prompt: the instructions, without the retrieved text.
            question: the user's question.
            history: the messages before it, as strings or as objects or mappings with `content`.
            generation: tokens kept for the answer; by default 1,024, but at most half of the window, or the model's own
                limit if that is higher.
            buffer: tokens kept for text that nobody counted.
            context_cap: the most tokens of the context; None means no cap.

        Raises:
            ConfigError: the model is unknown and no window is given, or the zones leave no token for the context.
            InputError: `model` is neither a name nor an object that names a model or a window.
            MissingExtraError: the window of a hosted model has to be looked up, and genai-prices is not installed.
        """
        info = Model(model) if isinstance(model, str) else model_info(model)
        if info is None and window is None:
            raise InputError(
                f"model must be a name, or an LLM that says what it is, got {safe_repr(model)}; give window="
            )
        info = info or Model()
        encoding = info.encoding
        count = counter_for(encoding or "cl100k_base").count
        window = window if window is not None else info.window or window_of(info.name or "")
        if generation is None:
            generation = max(min(DEFAULT_OUTPUT_TOKENS, window // 2), info.max_output or 0)
        return cls(
            window=window,
            system=count(system_prompt),
            query=count(question),
            conversation=history_tokens(history, count),
            generation=generation,
            buffer=buffer,
            context_cap=context_cap,
            encoding=encoding,
        )


Message = Any
"""A string, a mapping with `content` (and `role`), or an object with `content` (and `type` or `role`)."""

USER_ROLES = frozenset({"user", "human"})
"""Roles that begin an exchange, as the frameworks name them."""


@dataclass(frozen=True, slots=True)
class History:
    """The messages of a conversation that are sent, and those that are not.

    >>> asked = ("May I drink water beforehand?", "May I eat?", "May I drive?")
    >>> said = [{"role": "user", "content": text} for text in asked]
    >>> words = lambda text: len(text.split())
    >>> history = trim_history(said, 9, words)
    >>> [message["content"] for message in history.left_out], history.token_count
    (['May I drink water beforehand?'], 6)
    """

    messages: tuple[Message, ...]
    """The messages to send, unchanged and in order."""
    left_out: tuple[Message, ...]
    token_count: int


def trim_history(
    messages: Sequence[Message],
    max_tokens: int,
    count: Callable[[str], int],
    *,
    keep_exchanges: int = 5,
) -> History:
    """Trim a conversation to `max_tokens`, in whole exchanges and from the oldest on.

    A conversation that fits stays whole, even if it has more than `keep_exchanges` exchanges. One that doesn't fit
    keeps as many of its last exchanges as do, at most `keep_exchanges`. An exchange begins with a user's message;
    messages before the first one make an exchange of their own.

    >>> said = [{"role": "user", "content": "May I drink?"}, {"role": "assistant", "content": "Water."}] * 3
    >>> history = trim_history(said, 6, lambda text: len(text.split()))
    >>> [message["content"] for message in history.messages], len(history.left_out), history.token_count
    (['May I drink?', 'Water.'], 4, 4)

    Raises:
        ConfigError: `max_tokens` or `keep_exchanges` is negative.
        InputError: a message has no text.
    """
    check_int("max_tokens", max_tokens, 0)
    check_int("keep_exchanges", keep_exchanges, 0)
    total = history_tokens(messages, count)
    exchanges = _exchanges(messages)
    if total <= max_tokens:
        return History(tuple(messages), (), total)
    kept: list[Message] = []
    tokens = 0
    for exchange in reversed(exchanges[len(exchanges) - min(keep_exchanges, len(exchanges)) :]):
        exchange_tokens = history_tokens(exchange, count)
        if tokens + exchange_tokens > max_tokens:
            break
        kept = [*exchange, *kept]
        tokens += exchange_tokens
    return History(tuple(kept), tuple(messages[: len(messages) - len(kept)]), tokens)


def history_tokens(messages: Sequence[Message], count: Callable[[str], int]) -> int:
    """Return the tokens of the messages' texts. The budget's buffer pays for role markers."""
    return sum(count(_text(message)) for message in messages)


def _exchanges(messages: Sequence[Message]) -> list[list[Message]]:
    exchanges: list[list[Message]] = []
    for message in messages:
        if not exchanges or _role(message) in USER_ROLES:
            exchanges.append([])
        exchanges[-1].append(message)
    return exchanges


def _role(message: Message) -> str:
    if isinstance(message, Mapping):
        return str(message.get("role", ""))
    role = getattr(message, "role", None) or getattr(message, "type", "")
    return str(getattr(role, "value", role))


def _text(message: Message) -> str:
    content = message
    if not isinstance(message, str):
        content = message.get("content") if isinstance(message, Mapping) else getattr(message, "content", None)
    if not isinstance(content, str):
        raise InputError(f"a message must be a string or have a text as its content, got {safe_repr(message)}")
    return content
