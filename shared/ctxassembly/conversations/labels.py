"""The labels of one conversation, counted on from context to context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

from ctxassembly.calls import lock
from ctxassembly.data.checks import check_int
from ctxassembly.errors import ConfigError
from ctxassembly.settings.config import MAX_FIRST_LABEL

OfCall = Union["Labels", Callable[[], "Labels | None"], None]
"""As adapters are given labels: those of one conversation, or a function that tells those of the running one."""


class Labels:
    """The labels of one conversation: each context that is assembled with them has the next ones.

    Contexts that are assembled one after the other have them without a gap. Those that are assembled at the same time,
    in threads or on the event loop, have different ones too, maybe with a gap between. Copies count together.
    """

    def __init__(self, first: int = 1) -> None:
        """`first` is the first context's first label.

        Raises:
            ConfigError: it is no integer from 1 to 900,000.
        """
        check_int("first", first, 1, MAX_FIRST_LABEL)
        self._next = first
        self._lock = lock()

    @classmethod
    def after(cls, sources: Any) -> Labels:
        """The labels of a conversation that goes on: the next one after all in `sources`, as `resolve` takes them.

        Labels.after(state["messages"])
        """
        from ctxassembly.conversations.resolve import last_label  # who counts on needs nothing of answers

        return cls(last_label(sources) + 1)

    @property
    def next(self) -> int:
        """The next context's first label."""
        return self._next

    def take(self, most: int) -> int:
        """The first one of `most` labels that nobody else gets."""
        with self._lock:
            first = self._next
            self._next += most
        return first

    def give_back(self, first: int, end: int) -> None:
        """The labels from `first` to before `end` were not used: others get them, if none were taken meanwhile."""
        with self._lock:
            if self._next == end:
                self._next = first

    def __repr__(self) -> str:
        return f"Labels({self._next})"

    def __copy__(self) -> Labels:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Labels:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Labels, (self._next,)


def check_labels(given: object) -> None:
    """Nothing if `given` is what an adapter may be given as labels.

    Raises:
        ConfigError: it is something else.
    """
    if not (given is None or isinstance(given, Labels) or callable(given)) or isinstance(given, type):
        raise ConfigError("labels", "a Labels(), or a function without arguments that returns one or None", given)


def labels_of_call(given: OfCall) -> Labels | None:
    """The labels that a call takes its own from.

    Raises:
        ConfigError: the function returned something else.
    """
    labels = given if given is None or isinstance(given, Labels) else given()
    if not (labels is None or isinstance(labels, Labels)):
        raise ConfigError("what labels() returns", "a Labels or None", labels)
    return labels
