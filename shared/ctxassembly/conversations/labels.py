"""Labels that count on from one context of a conversation to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Union

from ctxassembly.concurrency import lock
from ctxassembly.config.assembly import MAX_FIRST_LABEL
from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError

LabelsArgument = Union["Labels", Callable[[], "Labels | None"], None]
"""The `labels` of an adapter: the labels of one conversation, or a function that returns the current ones."""


class Labels:
    """The labels of one conversation: each context assembled with them takes the next ones.

    Contexts assembled one after the other have labels without a gap. Contexts assembled at the same time, in threads or
    on the event loop, never share a label, but a gap may be left between them. A copy counts together with its
    original.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> labels = Labels()
    >>> for name in ("before.pdf", "after.pdf"):
    ...     print(assemble([Hit(Chunk(name, name, "Drink water.", metadata={"source": name}))], labels=labels))
    [1] Source: before.pdf
    Drink water.
    [2] Source: after.pdf
    Drink water.
    """

    def __init__(self, first: int = 1) -> None:
        """`first` is the first label of the first context.

        Raises:
            ConfigError: `first` is no integer from 1 to 900,000.
        """
        check_int("first", first, 1, MAX_FIRST_LABEL)
        self._next = first
        self._lock = lock()

    @classmethod
    def after(cls, sources: Any) -> Labels:
        """Return labels that continue after the highest one in `sources`, which are given as to `resolve`.

        For a conversation restored from a checkpoint: Labels.after(state["messages"]).
        """
        from ctxassembly.conversations.sources import last_label  # here, so that counting on loads no sources

        return cls(last_label(sources) + 1)

    @property
    def next(self) -> int:
        """The first label of the next context."""
        return self._next

    def reserve(self, count: int) -> int:
        """Reserve `count` labels for one context, and return the first of them."""
        with self._lock:
            first = self._next
            self._next += count
        return first

    def release(self, first: int, end: int) -> None:
        """Release the unused labels from `first` to before `end`; they are lost if others were reserved meanwhile."""
        with self._lock:
            if self._next == end:
                self._next = first

    def advance_to(self, first: int) -> None:
        """Give out no label below `first` from here on."""
        with self._lock:
            self._next = max(self._next, first)

    def claim(self, labels: Sequence[int]) -> bool:
        """Reserve `labels`, which a kept answer has; return False if some of them may be another context's."""
        with self._lock:
            is_free = self._next <= min(labels, default=self._next)
            if is_free:
                self._next = max(self._next, *(label + 1 for label in labels))
        return is_free

    def __repr__(self) -> str:
        return f"Labels({self._next})"

    def __copy__(self) -> Labels:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Labels:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Labels, (self._next,)


def check_labels(given: object) -> None:
    """Check the `labels` of an adapter.

    Raises:
        ConfigError: `given` is neither a Labels, nor a function, nor None.
    """
    if not (given is None or isinstance(given, Labels) or callable(given)) or isinstance(given, type):
        raise ConfigError("labels", "a Labels(), or a function without arguments that returns one or None", given)


def resolve_labels(given: LabelsArgument) -> Labels | None:
    """Return the conversation's labels for one call: `given`, or the result of calling it.

    Raises:
        ConfigError: the function returned something else than a Labels or None.
    """
    labels = given if given is None or isinstance(given, Labels) else given()
    if not (labels is None or isinstance(labels, Labels)):
        raise ConfigError("what labels() returns", "a Labels or None", labels)
    return labels
