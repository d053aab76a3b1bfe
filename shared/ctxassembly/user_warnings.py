"""The one place where warnings are issued: once an object, at the caller's line, with a fact, its effect and a call.

A warning at a line of a framework, or of ours, doesn't show where to look. `stacklevel` can't count the frames
between: a chain, a retry, an agent and an instrumented method add different numbers of them. So the caller is the first
frame outside this package and the frameworks. A step of an async chain and a thread of an executor have no caller on
their stack: there the line that made the object is named.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from inspect import currentframe
from types import FrameType
from typing import Any, NamedTuple

from ctxassembly.errors import FilterNotSeenWarning, NothingToJoinWarning

MAX_FACT_CHARS = 160
"""Most characters of the first sentence of a warning."""
REMEDY = " Fix: "
"""The mark before the line to write."""
_OWN_PACKAGES = frozenset({"ctxassembly", "langchain_ctxassembly", "llamaindex_ctxassembly"})
_FRAMEWORKS = (
    "langchain", "langgraph", "langsmith", "llama_index", "workflows", "pydantic", "tenacity", "wrapt", "anyio",
    "opentelemetry", "openinference",
)  # fmt: skip
"""Prefixes of the package names that may be on the stack between a caller and us."""
_EVENT_LOOPS = ("asyncio.events", "asyncio.runners", "uvloop")
_STDLIB = os.__file__.removesuffix("os.py")


class _Line(NamedTuple):
    """A line of code, as the warnings module names it."""

    filename: str
    number: int
    module: str


def with_remedy(fact: str, effect: str, call: str) -> str:
    """Return the message of a warning: a fact, shortened to 160 characters, its effect, and the call to write.

    >>> with_remedy("There is no pg_trgm", "Misspelled words find nothing", "CREATE EXTENSION pg_trgm")
    'There is no pg_trgm. Misspelled words find nothing. Fix: CREATE EXTENSION pg_trgm'
    """
    line = " ".join(fact.split())
    short = line if len(line) < MAX_FACT_CHARS else f"{line[: MAX_FACT_CHARS - 4]}..."
    return f"{short}. {effect}.{REMEDY}{call}"


def checklist(messages: Iterable[object]) -> str:
    """Return one message of several, which may have several lines themselves: a numbered list if there are two or more.

    >>> print(checklist(["No index. Fix: a()", "No filter. Fix: b()"]))
    2 things to fix:
    1. No index. Fix: a()
    2. No filter. Fix: b()
    """
    lines = [line for message in messages for line in str(message).split("\n")]
    numbered = [f"{number}. {line}" for number, line in enumerate(lines, 1)]
    return lines[0] if len(lines) == 1 else "\n".join([f"{len(lines)} things to fix:", *numbered])


@contextmanager
def ignored_warnings(message: str) -> Iterator[None]:
    """Ignore warnings of a dependency that begin with `message`, for as long as the block lasts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message)
        yield


class _BothWarning(FilterNotSeenWarning, NothingToJoinWarning):
    """One warning for both reasons: a filter on either category matches it."""


_BothWarning.__name__ = _BothWarning.__qualname__ = FilterNotSeenWarning.__name__  # as Python prints it


class WarnOnce:
    """Issues the warnings of one object, each kind once. Copies of the object share it.

    A pickled copy is another object: it warns again. Nothing is kept of the objects that the warnings are about.

    >>> import warnings
    >>> once = WarnOnce()
    >>> with warnings.catch_warnings(record=True) as given:
    ...     warnings.simplefilter("always")
    ...     for key in ("length", "length", "width"):
    ...         once.warn(UserWarning(f"The {key} is unknown."), key=key)
    >>> [str(each.message) for each in given]
    ['The length is unknown.', 'The width is unknown.']
    """

    def __init__(self) -> None:
        self._issued: dict[Any, object] = {}
        self._created_at = _caller_line()

    def warn(self, *pending: Warning | None, key: object = None) -> None:
        """Issue one warning for each of `pending` whose category is new for this key, all of them in one message."""
        first = [each for each in pending if each is not None and self.is_first(type(each), key)]
        if first:
            category = type(first[0]) if len(first) == 1 else _BothWarning
            warn(category(checklist(first)), self._created_at)

    def is_first(self, *key: object) -> bool:
        """Return True the first time that it is called with `key`."""
        mark = object()
        # A single atomic operation, so that only one of several threads warns.
        return self._issued.setdefault(key, mark) is mark

    def __eq__(self, other: object) -> bool:
        """Return True for any other `WarnOnce`: earlier warnings are no part of an object's value."""
        return isinstance(other, WarnOnce)

    def __hash__(self) -> int:
        return hash(WarnOnce)

    def __copy__(self) -> WarnOnce:
        return self

    def __deepcopy__(self, memo: Any) -> WarnOnce:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"_issued": {}, "_created_at": self._created_at}


def warn(warning: Warning, fallback: _Line | None = None) -> None:
    """Issue `warning` at the caller's line; `fallback` is the line to name if no caller can be found."""
    line = _caller_line() or fallback
    if line is None:
        warnings.warn(warning, stacklevel=2)
        return
    # The registry of the module makes Python's own "once a line" work.
    module = sys.modules.get(line.module)
    registry = {} if module is None else module.__dict__.setdefault("__warningregistry__", {})
    warnings.warn_explicit(warning, type(warning), line.filename, line.number, line.module, registry)


def _caller_line() -> _Line | None:
    """Return the innermost line on the stack that is neither ours nor a framework's, down to an event loop."""
    frame: FrameType | None = currentframe()
    while frame is not None and _is_internal(frame):
        if str(frame.f_globals.get("__name__")).startswith(_EVENT_LOOPS):
            return None  # what is below has started the loop, and not this step
        frame = frame.f_back
    if frame is None:
        return None
    return _Line(frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__") or "<unknown>")


def _is_internal(frame: FrameType) -> bool:
    top = (frame.f_globals.get("__name__") or "").partition(".")[0]
    # An application may well have a langchain_app.py, or a chunk.py as the standard library has: the file decides.
    if _is_installed(frame):
        return top.startswith((*_FRAMEWORKS, *_OWN_PACKAGES))
    return top in _OWN_PACKAGES or frame.f_code.co_filename.startswith((_STDLIB, "<frozen"))


def _is_installed(frame: FrameType) -> bool:
    return "-packages" in frame.f_code.co_filename
