"""A model's context window shared out in zones, and the tokens they leave for retrieved text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tokens.counter import counter_for
from ctxassembly.tokens.history import Message, history_tokens
from ctxassembly.tokens.models import Model, model_info, window_of

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
