"""The progress bar of long runs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

Advance = Callable[[int], object]
"""A function that moves the bar on by so many units."""


def progress_bar(
    total: int | None, unit: str = "chunk", title: str = "", *, is_shown: bool = True
) -> tuple[Advance, Callable[[], object]]:
    """Return a function that advances a progress bar of tqdm, and one that closes it.

    Neither does anything without tqdm, or if the bar isn't shown.
    """
    if not is_shown or not find_spec("tqdm"):
        return lambda _: None, lambda: None
    from tqdm.auto import tqdm

    bar = tqdm(total=total, unit=unit, desc=title or None)
    return bar.update, bar.close
