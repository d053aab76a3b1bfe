"""A function called in worker processes, each of which unpickles it once."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any

from ctxassembly.errors import CtxAssemblyError, InputError
from ctxassembly.safe_repr import describe_error

_loaded: Any = None
"""In a worker: the function, or the exception that unpickling it raised."""


class Workers:
    """Processes that call one function.

    They are spawned, not forked: a fork of a process with threads may hang. So a script needs the usual
    `if __name__ == "__main__":`.
    """

    def __init__(self, function: Callable[[Any], Any], count: int) -> None:
        """Pickle `function`; `start` starts the processes.

        Raises:
            InputError: it can't be pickled.
        """
        try:
            self._pickled = pickle.dumps(function)
        except CtxAssemblyError:
            raise  # an index says itself why it isn't pickled
        except Exception as error:  # any class may raise anything
            raise InputError(
                f"workers={count} sends the arguments to other processes, and they can't be pickled "
                f"({describe_error(error, 1)}): use functions and classes of a module, or workers=1"
            ) from error
        self._count = count
        self._executor: Any = None

    def submit(self, argument: Any) -> Callable[[], Any]:
        """Start a call in the next free process, and return a function that waits for its result."""
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import get_context

        if self._executor is None:
            self._executor = ProcessPoolExecutor(self._count, get_context("spawn"), _load, (self._pickled,))

        def result() -> Any:
            try:
                return future.result()
            except BrokenProcessPool as error:
                raise broken from error

        broken = CtxAssemblyError(
            'a worker process ended: it was killed, is out of memory, or the script has no `if __name__ == "__main__":`'
        )
        try:
            future = self._executor.submit(_call, argument)
        except BrokenProcessPool as error:
            raise broken from error
        return result

    def close(self) -> None:
        """End the processes once the calls that run are done. No other call begins."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)


def _load(pickled: bytes) -> None:
    """Unpickle the function in a worker, which ends with its parent: by itself it would wait for ever."""
    from multiprocessing import parent_process
    from threading import Thread

    global _loaded  # noqa: PLW0603 - the only way from an initializer to the calls
    parent = parent_process()

    def end_with_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=end_with_parent, name="ctxassembly-parent", daemon=True).start()
    try:
        _loaded = pickle.loads(pickled)  # noqa: S301 - this program's own
    except Exception as error:  # noqa: BLE001 - raised by the calls: an initializer that fails says nothing to the caller
        _loaded = InputError(
            f"the arguments can't be unpickled in a worker ({describe_error(error, 1)}): use functions and classes of "
            "a module that can be imported, or workers=1"
        )


def _call(argument: Any) -> Any:
    if isinstance(_loaded, Exception):
        raise _loaded
    return _loaded(argument)
