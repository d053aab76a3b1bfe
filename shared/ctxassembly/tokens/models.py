"""What is known of a language model: its window, the encoding that counts it, and how long its answers are let be.

By its name, or by what LlamaIndex and LangChain say of the model at hand. Neither is imported: what they say is read
from `llm.metadata` and from `model.profile`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ctxassembly.errors import ConfigError, MissingExtraError

PUBLISHED_WINDOWS = {
    "mistral": 8_192,
    "gemma2:9b": 8_192,
    "qwen2.5:3b": 32_768,
    "llama3.2": 128_000,
    "llama3.2:3b": 128_000,
    "qwen2.5:14b": 128_000,
    "deepseek-r1:8b": 128_000,
}
"""Windows of models that are run locally, as published with the zones; hosted models are looked up in genai-prices."""
NOT_KNOWN = 3_900
"""What LlamaIndex says of the window of a model of which it knows nothing."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model, as far as it is known."""

    name: str | None = None
    window: int | None = None
    """Tokens, the answer's included."""
    output: int | None = None
    """Tokens that an answer may have, where a limit was set."""

    @property
    def encoding(self) -> str | None:
        """Its tiktoken encoding, if it has one."""
        from tiktoken.model import encoding_name_for_model

        try:
            return encoding_name_for_model(self.name) if self.name else None
        except KeyError:  # not one of OpenAI's
            return None


def described(llm: object) -> Model | None:
    """What a LlamaIndex LLM says of itself in `metadata`, or a LangChain chat model in `profile`; None of others."""
    try:
        metadata, profile = getattr(llm, "metadata", None), getattr(llm, "profile", None)
        name = getattr(metadata, "model_name", None) or getattr(llm, "model_name", None) or getattr(llm, "model", None)
        window, output = getattr(metadata, "context_window", None), getattr(metadata, "num_output", None)
        if isinstance(profile, Mapping):
            window, output = profile.get("max_input_tokens"), getattr(llm, "max_tokens", None)
    except Exception:  # noqa: BLE001 - it may ask a server that isn't there
        return None
    window = window if _is_number(window) and window != NOT_KNOWN else None
    name = name if isinstance(name, str) else None
    return Model(name, window, output if _is_number(output) else None) if name or window else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def window_of(model: str) -> int:
    """The window of the model of that name, in tokens.

    Raises:
        ConfigError: it is unknown.
        MissingExtraError: it isn't a local model, and genai-prices is not installed.
    """
    if model in PUBLISHED_WINDOWS:
        return PUBLISHED_WINDOWS[model]
    known = _hosted_windows()
    if model in known:
        return known[model]
    alike = sorted(name for name in known if name[:4] == str(model)[:4])[:20]
    choices = ", ".join([*PUBLISHED_WINDOWS, *alike])
    raise ConfigError("model", f"one of {choices}, or any other that genai-prices knows; else give window=", model)


def _hosted_windows() -> dict[str, int]:
    """The context windows that genai-prices knows, by model id; of several providers the smallest."""
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError as error:
        raise MissingExtraError(
            "looking up the context window of a hosted model (or give window=)", "models"
        ) from error
    windows: dict[str, int] = {}
    for provider in get_snapshot().providers:
        for each in provider.models:
            if each.context_window:
                windows[each.id] = min(each.context_window, windows.get(each.id, each.context_window))
    return windows


def too_small(llm: object, max_tokens: int) -> str | None:
    """What to warn of where a context of `max_tokens` leaves an LLM that says how much it takes no room to answer."""
    model = described(llm)
    if model is None or model.window is None or max_tokens < model.window:
        return None
    name = model.name or type(llm).__name__
    return (
        f"a context of up to {max_tokens:,} tokens has no room in the {model.window:,} that {name} takes: "
        "say AssemblyConfig(max_tokens=TokenBudget.for_model(llm))"
    )
