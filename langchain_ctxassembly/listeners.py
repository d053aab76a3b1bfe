"""Listeners of custom events: an event that nobody hears is not made."""

from __future__ import annotations

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import get_callback_manager_for_config


def listened_to(config: RunnableConfig) -> bool:
    """True if a handler, given in `config` or set up by the environment, takes the custom events of its runs."""
    return any(not handler.ignore_custom_event for handler in get_callback_manager_for_config(config).handlers)
