"""What a model says of itself: its name, its context window, and the longest answer.

Models are looked up by name, or read from the model object: `metadata` of a LlamaIndex LLM, `profile` of a LangChain
chat model. Neither framework is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ctxassembly.errors import ConfigError, missing_extra
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
        names = getattr(metadata, "model_name", None), getattr(llm, "model_name", None), getattr(llm, "model", None)
        window, output = getattr(metadata, "context_window", None), getattr(metadata, "num_output", None)
        if isinstance(profile, Mapping):
            window, output = profile.get("max_input_tokens"), getattr(llm, "max_tokens", None)
    except Exception:  # noqa: BLE001 - a property may ask a server that isn't there
        return None
    window = window if _is_number(window) and window != LLAMAINDEX_DEFAULT_WINDOW else None
    # LlamaIndex writes "unknown" for a model that doesn't say its name.
    name = next((name for name in names if isinstance(name, str) and name not in ("", "unknown")), None)
    return Model(name, window, output if _is_number(output) else None) if name or window else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def window_of(model: str) -> int:
    """Return the window of `model`, in tokens.

    Raises:
        ConfigError: the name is unknown.
        ImportError: it is no local model of the published table, and genai-prices is not installed.
    """
    if model in PUBLISHED_WINDOWS:
        return PUBLISHED_WINDOWS[model]
    known = _hosted_windows()
    if model in known:
        return known[model]
    choices = ", ".join(PUBLISHED_WINDOWS)
    raise ConfigError("model", f"one of {choices}, or any other that genai-prices knows; else give window=", model)


def _hosted_windows() -> dict[str, int]:
    """Return the windows in genai-prices by model id; where providers differ, the smallest."""
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError as error:
        purpose = "looking up the context window of a hosted model (or give window=)"
        raise missing_extra(purpose, "models") from error
    windows: dict[str, int] = {}
    for provider in get_snapshot().providers:
        for model in provider.models:
            if model.context_window:
                windows[model.id] = min(model.context_window, windows.get(model.id, model.context_window))
    return windows


def window_warning(llm: object, max_tokens: int) -> UserWarning | None:
    """Return a warning if a context of `max_tokens` fills the window of `llm`; None if it fits or nobody knows."""
    model = model_info(llm)
    if model is None or model.window is None or max_tokens < model.window:
        return None
    name = model.name or type(llm).__name__
    message = with_remedy(
        f"A context of up to {max_tokens:,} tokens doesn't fit into the {model.window:,} tokens of {name[:60]}",
        "The model may refuse or cut the prompt",
        "AssemblyConfig(max_tokens=TokenBudget.for_model(llm))",
    )
    return UserWarning(message)
