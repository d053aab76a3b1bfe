"""The counter of labels, for contexts that are assembled at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxassembly.concurrency import lock
from ctxassembly.config.assembly import MAX_FIRST_LABEL
from ctxassembly.data.validation import check_int


class Labels:
    """The labels part of a `Conversation`: each context assembled with it takes the next ones.

    Contexts assembled one after the other have labels without a gap. Contexts assembled at the same time, in threads or
    on the event loop, never share a label, but a gap may be left between them. A copy counts together with its
    original.

    >>> from ctxassembly import Chunk, Conversation, Hit, assemble
    >>> conversation = Conversation(labels=Labels())
    >>> for name in ("before.pdf", "after.pdf"):
    ...     hits = [Hit(Chunk(name, name, "Drink water.", metadata={"source": name}))]
    ...     print(assemble(hits, conversation=conversation))
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

    @property
    def next(self) -> int:
        """The first label of the next context."""
        return self._next

    def reserve(self, count: int, least: int = 1) -> int:
        """Reserve `count` labels for one context, none of them below `least`, and return the first of them."""
        with self._lock:
            first = max(self._next, least)
            self._next = first + count
        return first

    def release(self, first: int, end: int) -> None:
        """Release the unused labels from `first` to before `end`; they are lost if others were reserved meanwhile."""
        with self._lock:
            if self._next == end:
                self._next = first

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
