"""The languages that contexts and prompts are written in, one file each.

To add one, copy a file, translate each string, put in its own function words, and add its name to `Code`: headers,
prompts, guards, the reading of answers and of queries follow. The words of every language are guarded in contexts of
all languages, since an answer doesn't show which context it has read.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Literal, get_args

from ctxassembly.errors import ConfigError
from ctxassembly.wording.languages.language import Language

Code = Literal[
    "en",
    "nl",
    "de",
    "fr",
    "es",
]

LANGUAGES: Mapping[str, Language] = {code: import_module(f"{__name__}.{code}").LANGUAGE for code in get_args(Code)}


def language_of(code: str) -> Language:
    """The language of `code`.

    Raises:
        ConfigError: there is none.
    """
    if not isinstance(code, str) or code not in LANGUAGES:
        raise ConfigError("language", "one of " + ", ".join(map(repr, LANGUAGES)), code)
    return LANGUAGES[code]
