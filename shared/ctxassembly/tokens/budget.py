"""A model's context window in zones, and what they leave for retrieved text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ctxassembly.data.checks import check_int
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.shown import shown
from ctxassembly.tokens.counter import counter_for
from ctxassembly.tokens.history import Message, history_tokens
from ctxassembly.tokens.models import Model, described, window_of

ZONES = ("system", "query", "conversation", "generation", "buffer")

OUTPUT = 1_024
"""Tokens that the published rule for a model keeps for its answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBudget:
    """Zones of a model's context window, all in tokens; `context` is what they leave for retrieved text.

    The default zones are the published ones for a window of 128,000: system 4,000, context 32,000, conversation 8,000,
    query 1,000, generation 4,000, buffer 1,000. Other uses share a window otherwise:

    | use | zones | `context`, its share |
    |---|---|---|
    | document analysis | `TokenBudget(conversation=0, generation=8_000, context_cap=None)` | 114,000 (89 %) |
    | support chat | `TokenBudget(window=32_768, system=2_000, conversation=16_000, generation=1_000)` | 11,768 (36 %) |
    | single turns | `TokenBudget(window=8_192, system=500, conversation=0, generation=1_000)` | 4,692 (57 %) |

    Long files want nearly all of a large window and room for the answer. A chat keeps what was said, as `trim_history`
    does within `conversation`. A question without a history needs no zone for one, which counts in a small window.
    """

    window: int = 128_000
    """The most tokens that the model takes, answer included."""
    system: int = 4_000
    query: int = 1_000
    conversation: int = 8_000
    generation: int = 4_000
    buffer: int = 1_000
    """Room for what nobody counted: role markers, tool definitions."""
    context_cap: int | None = 32_000
    """The most that the context may take even if more is left; None means no cap."""
    encoding: str | None = None
    """The tiktoken encoding of the model, if it has one."""

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
        """Tokens for the context: what the other zones leave of the window, at most `context_cap`."""
        left = self.window - self.system - self.query - self.conversation - self.generation - self.buffer
        return left if self.context_cap is None else min(self.context_cap, left)

    @property
    def total(self) -> int:
        """What all zones take together, the context's included: of the window, the most that is sent and answered."""
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
        """The budget that `model` leaves beside what is really sent: prompt, question and history are counted.

        This is the other published rule, window - system - query - output - 64. OpenAI's models are counted in their
        own encoding, others in cl100k_base; the buffer may be raised for what that misses.

        Args:
            model: its name, or the model itself: LlamaIndex's LLM with its `metadata`, LangChain's chat model with its
                `profile`. A window that these don't know is looked up by the name: those of local models in a published
                table, those of hosted ones in the package genai-prices, which its maintainers keep up to date.
            window: the window in tokens, where it is known better; then any name will do.
            system_prompt: the instructions, without the retrieved text.
            question: the user's question.
            history: the messages before it, as strings or as objects or mappings with `content`.
            generation: tokens kept for the answer; 1,024, or as many as the model at hand was told to give if more.
            buffer: tokens kept for what nobody counted.
            context_cap: the most that the context may take; None means no cap.

        Raises:
            ConfigError: the model is unknown and no window is given, or the zones leave nothing of the window.
            InputError: `model` is neither a name nor a model that says anything of itself.
            MissingExtraError: a hosted model's window is asked for and genai-prices is not installed.
        """
        known = Model(model) if isinstance(model, str) else described(model)
        if known is None and window is None:
            raise InputError(f"model must be a name, or an LLM that says what it is, got {shown(model)}; give window=")
        known = known or Model()
        encoding = known.encoding
        count = counter_for(encoding or "cl100k_base").count
        return cls(
            window=window if window is not None else known.window or window_of(known.name or ""),
            system=count(system_prompt),
            query=count(question),
            conversation=history_tokens(history, count),
            generation=max(OUTPUT, known.output or 0) if generation is None else generation,
            buffer=buffer,
            context_cap=context_cap,
            encoding=encoding,
        )
