"""The driver's errors as ours: of the driver's class, too, and with neither statement nor parameters in the message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from ctxassembly.errors import CtxAssemblyError, InputError, StoreError
from ctxassembly.shown import failure

_UNTRANSLATABLE, _NO_SUCH_CHARACTER = "22P05", "22021"


@contextmanager
def as_ours() -> Iterator[None]:
    """Raise the errors of SQLAlchemy that come from inside as ours."""
    try:
        yield
    except DBAPIError as error:
        raise ours(error) from error.orig


def ours(error: Exception) -> CtxAssemblyError:
    """Return our error for one of the driver's or SQLAlchemy's.

    Its cause is the driver's own: SQLAlchemy's prints the statement with its parameters, which may be private.
    """
    driver = getattr(error, "orig", None) or error
    said, state = failure(driver, lines=1), getattr(driver, "sqlstate", None)
    if state == _UNTRANSLATABLE:
        allowed = "text must be of characters that the database's encoding has (ENCODING 'UTF8' has all)"
        found: CtxAssemblyError = InputError.of(error, f"{allowed}, got {_character(said)}: {said}")
    elif state == _NO_SUCH_CHARACTER:
        found = StoreError.of(error, f"the database holds text that is not UTF-8: {said}")
    else:
        found = StoreError.of(error, f"the database failed: {said}")
    found.__cause__ = driver
    return found


def _character(said: str) -> str:
    """The character that a message gives as bytes."""
    return repr(bytes.fromhex("".join(re.findall(r"\b0x([0-9a-f]{2})\b", said))).decode(errors="replace"))
