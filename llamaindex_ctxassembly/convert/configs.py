"""The `config` of a postprocessor: as it is given, and in the dict that a component is saved as."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, SerializationInfo, TypeAdapter

from ctxassembly.assembly.arguments import is_config, valid_config
from ctxassembly.assembly.call import System
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.errors import ConfigError
from ctxassembly.published import Bookend, FiveStage, Pipeline, SourceBlocks

_SYSTEM_KEY = "class"
"""The key of a saved config for the name of its class, if it is a published system."""
_PUBLISHED: dict[Any, Any] = {kind.__name__: kind for kind in (Bookend, FiveStage, Pipeline, SourceBlocks)}


def _read(given: Any) -> Any:
    """Return a config as it is, or the one that `_write` turned into a dict.

    Raises:
        ConfigError: it is neither.
    """
    if is_config(given) or type(given) is not dict:
        return valid_config(given)
    name = given.get(_SYSTEM_KEY)
    if name is None:
        return TypeAdapter(AssemblyConfig).validate_python(given)
    if name not in _PUBLISHED:
        message = f"config was {name}, a class of your own, which isn't saved: pass config= to from_dict"
        raise ConfigError.worded("config", message)
    settings = {key: value for key, value in given.items() if key != _SYSTEM_KEY}
    return TypeAdapter(_PUBLISHED[name]).validate_python(settings)


def _write(config: Any, info: SerializationInfo) -> dict[str, Any]:
    """Return `config` as a dict: its settings and, for a system, the name of its class; of an own class only that."""
    name = {} if isinstance(config, AssemblyConfig) else {_SYSTEM_KEY: type(config).__name__}
    if name and type(config) is not _PUBLISHED.get(name[_SYSTEM_KEY]):
        return name
    mode: Any = info.mode
    return {**name, **TypeAdapter(type(config)).dump_python(config, mode=mode)}


ConfigField = Annotated[AssemblyConfig | System, PlainValidator(_read), PlainSerializer(_write)]
