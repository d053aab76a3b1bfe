"""The one place where warnings are issued: once an object, at the caller's line, with a short fact and its remedy.

A warning at a line of a framework, or of ours, doesn't show where to look. `stacklevel` can't count the frames
between: a chain, a retry, an agent and an instrumented method add different numbers of them. So the caller is the first
frame outside this package and the frameworks. A step of an async chain is a task of its own, whose stack ends at the
event loop; there the search goes on in the task that waits for it. A thread of an executor has no caller at all. Then
the line is used that made the object.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import currentframe
from types import FrameType
from typing import Any, NamedTuple

from ctxassembly.concurrency import is_event_loop_frame, waiting_frames
from ctxassembly.errors import FilterNotSeenWarning, NothingToJoinWarning

MAX_FACT_CHARS = 160
"""Most characters of a warning before its remedy."""
REMEDY = " Fix: "
"""The mark between the fact and its remedy."""
_OWN_PACKAGES = frozenset({"ctxassembly", "langchain_ctxassembly", "llamaindex_ctxassembly"})
_FRAMEWORKS = (
    "langchain", "langgraph", "langsmith", "llama_index", "workflows", "pydantic", "tenacity", "wrapt", "anyio",
    "opentelemetry", "openinference",
)  # fmt: skip
"""Prefixes of the package names that may be on the stack between a caller and us."""


class _Line(NamedTuple):
    """A line of code, as the warnings module names it."""

    filename: str
    number: int
    module: str


def with_remedy(fact: str, remedy: str) -> str:
    """Return the message of a warning: `fact`, shortened to 160 characters, and what to do about it.

    >>> with_remedy("2 of 2 hits have no chunk_index", "store number_chunks(documents).")
    '2 of 2 hits have no chunk_index. Fix: store number_chunks(documents).'
    """
    short = fact if len(fact) < MAX_FACT_CHARS else f"{fact[: MAX_FACT_CHARS - 4]}..."
    return f"{short}.{REMEDY}{remedy}"


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
    ...     once.warn("Too long."), once.warn("Too long."), once.warn("Too short.", key="short")
    (None, None, None)
    >>> [str(each.message) for each in given]
    ['Too long.', 'Too short.']
    """

    def __init__(self) -> None:
        self._issued: dict[Any, object] = {}
        self._created_at = _caller_line()

    def warn(self, message: str, category: type[Warning] = UserWarning, key: object = None) -> None:
        """Issue `message`, unless a warning with the same category and key was issued before."""
        if self._is_first(category, key):
            warn(message, category, self._created_at)

    def warn_about_neighbors(self, unseen_filter: str | None, missing: str | None, key: object = None) -> None:
        """Issue one warning for both: a filter that was not seen, and what hits or their store lack."""
        pending: list[tuple[str, type[Warning]]] = [
            (message, category)
            for message, category in ((unseen_filter, FilterNotSeenWarning), (missing, NothingToJoinWarning))
            if message and self._is_first(category, key)
        ]
        if len(pending) == 2:
            facts, remedies = zip(*(message.split(REMEDY, 1) for message, _ in pending), strict=True)
            warn(with_remedy(" ".join(facts).rstrip("."), "; ".join(remedies)), _BothWarning, self._created_at)
        elif pending:
            warn(*pending[0], self._created_at)

    def _is_first(self, category: type[Warning], key: object) -> bool:
        mark = object()
        # A single atomic operation, so that only one of several threads warns.
        return self._issued.setdefault((category, key), mark) is mark

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


def warn(message: str, category: type[Warning] = UserWarning, fallback: _Line | None = None) -> None:
    """Issue a warning at the caller's line; `fallback` is the line to name if no caller can be found."""
    line = _caller_line() or fallback
    if line is None:
        warnings.warn(message, category, stacklevel=2)
        return
    # The registry of the module makes Python's own "once a line" work.
    module = sys.modules.get(line.module)
    registry = {} if module is None else module.__dict__.setdefault("__warningregistry__", {})
    warnings.warn_explicit(message, category, line.filename, line.number, line.module, registry)


def _caller_line() -> _Line | None:
    """Return the innermost line on the stack that is neither ours nor a framework's."""
    stack = list(_stack_frames())
    loop = next((at for at, frame in enumerate(stack) if is_event_loop_frame(frame)), len(stack))
    caller = next((frame for frame in (*stack[:loop], *waiting_frames()) if not _is_internal(frame)), None)
    if caller is None:
        # The loop may have been started below a plain call. What is installed there is a server or a kernel.
        caller = next((frame for frame in stack[loop:] if not _is_internal(frame)), None)
        if caller is None or _is_installed(caller):
            return None
    return _Line(caller.f_code.co_filename, caller.f_lineno, caller.f_globals.get("__name__") or "<unknown>")


def _stack_frames() -> Iterator[FrameType]:
    frame: FrameType | None = currentframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_internal(frame: FrameType) -> bool:
    top = (frame.f_globals.get("__name__") or "").partition(".")[0]
    # An application may well be called langchain_app: a framework is installed.
    return (
        top in _OWN_PACKAGES or top in sys.stdlib_module_names or (top.startswith(_FRAMEWORKS) and _is_installed(frame))
    )


def _is_installed(frame: FrameType) -> bool:
    return "-packages" in frame.f_code.co_filename
