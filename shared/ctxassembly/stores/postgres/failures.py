"""The driver's errors as ours: of the driver's class, too, and with neither statement nor parameters in the message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from ctxassembly.errors import CtxAssemblyError, InputError, StoreError
from ctxassembly.safe_repr import describe_error

_UNTRANSLATABLE, _NO_SUCH_CHARACTER = "22P05", "22021"


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise the errors of the driver and of SQLAlchemy that come from inside as ours.

    Their cause is the driver's own: SQLAlchemy's prints the statement with its parameters, which may be private.
    """
    try:
        yield
    except Exception as error:
        driver = getattr(error, "orig", None) or error
        if isinstance(error, CtxAssemblyError) or not hasattr(driver, "sqlstate"):
            raise
        raise _translate_error(error, describe_error(driver, max_lines=1), driver.sqlstate) from driver


def _translate_error(error: Exception, message: str, state: str | None) -> CtxAssemblyError:
    if state == _UNTRANSLATABLE:
        allowed = "text must be of characters that the database's encoding has (ENCODING 'UTF8' has all)"
        return InputError.from_error(error, f"{allowed}, got {_decode_character(message)}: {message}")
    if state == _NO_SUCH_CHARACTER:
        return StoreError.from_error(error, f"the database holds text that is not UTF-8: {message}")
    return StoreError.from_error(error, f"the database failed: {message}")


def _decode_character(message: str) -> str:
    """Return the character that a message gives as bytes."""
    return repr(bytes.fromhex("".join(re.findall(r"\b0x([0-9a-f]{2})\b", message))).decode(errors="replace"))
