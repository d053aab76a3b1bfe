"""A client of a server sent to another process, which opens connections of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from ctxassembly.errors import ConfigError

KEY_VARIABLE = "QDRANT_API_KEY"
"""The environment variable from which another process reads the API key, since whoever reads a pickle reads it, too."""


def client_options(client: Any) -> Mapping[str, Any]:
    """Return the arguments with which another process makes `client` again, without its API key.

    Raises:
        ConfigError: it isn't the client of a server, or it has a secret that a pickle would show.
    """
    options = dict(getattr(client, "init_options", None) or {})
    if not options or options["path"] or options["location"] == ":memory:":
        raise ConfigError("client", "the client of a server where the index is pickled", type(client).__name__)
    if options["headers"]:
        raise ConfigError("client", "one without headers where the index is pickled", "headers")
    if options["api_key"] is not None and options["api_key"] != os.environ.get(KEY_VARIABLE):
        allowed = f"in the environment variable {KEY_VARIABLE} of each process where the index is pickled"
        raise ConfigError("api_key", allowed, "another key")
    return {**options, "api_key": None if options["api_key"] is None else KEY_VARIABLE}


def make_client(make: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    """Return the client with the arguments of `client_options`."""
    key = options["api_key"]
    return make(**{**options, "api_key": key and os.environ.get(key)})
