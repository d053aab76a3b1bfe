"""The arguments and services of one call of the pipeline, and their validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from ctxassembly.assembly.expansion.fetch import StoreTraits
from ctxassembly.assembly.supplement import Supplement
from ctxassembly.config.assembly import AssemblyConfig, Neighbors
from ctxassembly.config.hints import hint_for, not_a_hit_error
from ctxassembly.conversations.conversation import Conversation, given_conversation
from ctxassembly.data.chunks import Hit
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr

if TYPE_CHECKING:
    from ctxassembly.assembly.call import System


def is_config(given: object) -> bool:
    """Return True if `given` is what `config` may be: settings, or an object (not a class) with `flow(call)`."""
    return isinstance(given, AssemblyConfig) or (not isinstance(given, type) and callable(getattr(given, "flow", None)))


def settings_of(config: AssemblyConfig | System) -> AssemblyConfig:
    """Return the settings in `config` that concern more than an assembly: keys, filters, language, format and limit.

    A system of its own has the default of each that it doesn't have.
    """
    if isinstance(config, AssemblyConfig):
        return config
    names = ("keys", "neighbors", "language", "format")
    own: dict[str, Any] = {name: getattr(config, name) for name in names if hasattr(config, name)}
    if limit := getattr(config, "token_limit", 0):
        own["max_tokens"] = limit
    return AssemblyConfig(**own)


def with_neighbors(config: AssemblyConfig | System, neighbors: Neighbors | None) -> AssemblyConfig | System:
    """Return `config` with its `neighbors` replaced; None changes nothing.

    Raises:
        ConfigError: it is a system without such a setting.
    """
    if neighbors is None:
        return config
    if not (is_dataclass(config) and hasattr(config, "neighbors")):
        reason = f"{type(config).__name__} has no setting 'neighbors'"
        raise ConfigError.worded("neighbors", f"neighbors={neighbors!r} has no effect: {reason}")
    return replace(config, neighbors=neighbors)


def valid_config(given: Any) -> Any:
    """Return `given` if it is what the `config` of an adapter may be.

    Raises:
        ConfigError: it is something else.
    """
    if not is_config(given):
        allowed = "an AssemblyConfig or an object with flow(call)"
        raise ConfigError("config", allowed, given, hint_for("config", given))
    return given


def unused_settings(config: AssemblyConfig, *, has_store: bool) -> list[str]:
    """Return the settings that ask for what a disabled assembly doesn't do."""
    if config.enabled:
        return []
    asked = {
        "window": config.window and has_store,
        "order": config.order not in ("auto", "relevance", "stable"),
        "dedup": config.dedup in ("near", "semantic"),
        "compress": config.compress != "none",
    }
    return [f"{name}={getattr(config, name)!r}" for name, is_asked in asked.items() if is_asked]


@dataclass(frozen=True, slots=True)
class AssemblyCall:
    """The arguments of `assemble`, as they were given."""

    hits: Sequence[Hit]
    config: AssemblyConfig | System | None = None
    query: str | None = None
    supplement: str | Supplement | None = None
    conversation: Conversation | None = None


@dataclass(frozen=True, slots=True)
class Services:
    """The services that answer the requests of a pipeline."""

    store: StoreTraits | None = None
    """None if neighbors can't be fetched."""
    can_embed: bool = False
    can_compress: bool = False
    can_score: bool = False
    is_observed: bool = False
    """True if a callback observes the stages."""


def check_filtered(config: AssemblyConfig, holds_filter: bool | None) -> None:
    """Check that a store applies the filter of the call, as its `holds_filter` says, if the config asks for that.

    Raises:
        ConfigError: it doesn't.
    """
    if config.neighbors == "filtered" and not holds_filter:
        needs = "neighbors='filtered' needs the filter of the search"
        remedy = "pass filter=, or a store with that filter, or write neighbors='auto'"
        raise ConfigError.worded("neighbors", f"{needs}: {remedy}")


def check_call(call: AssemblyCall, services: Services) -> str | None:
    """Return the query of `call` as a plain string, or None.

    Raises:
        InputError: `config`, `query` or `conversation` is of another type.
        ConfigError: neighbors="filtered" without a filter.
    """
    if isinstance(call.hits, str):  # a query first, which explains what is wrong with the others
        raise not_a_hit_error(call.hits)
    if not (call.config is None or is_config(call.config)):
        allowed = "an AssemblyConfig, an object with flow(call), or None"
        raise InputError(f"config must be {allowed}, got {safe_repr(call.config)}{hint_for('config', call.config)}")
    if call.query is not None and not isinstance(call.query, str):
        raise InputError(f"query must be a string or None, got {safe_repr(call.query)}")
    if services.store is not None and call.config is not None:
        check_filtered(settings_of(call.config), services.store.holds_filter)
    given_conversation(call.conversation)
    # A subclass of str may change how its text is read; the text itself is asked for.
    return None if call.query is None else str.__str__(call.query)
