"""Whether anybody hears of custom events: what nobody hears needn't be made."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import get_callback_manager_for_config


def listened_to(config: RunnableConfig) -> bool:
    """Whether a handler takes the custom events of runs under `config`, be it given or set up by the environment."""
    return any(not handler.ignore_custom_event for handler in get_callback_manager_for_config(config).handlers)
