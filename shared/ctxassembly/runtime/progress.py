"""A progress bar of long runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

Advance = Callable[[int], object]
"""A function that moves the bar on by so many units."""


@contextmanager
def progress_bar(
    total: int | None, unit: str = "chunk", title: str = "", *, is_shown: bool = True
) -> Iterator[Advance]:
    """Yield a function that advances a progress bar of tqdm; without tqdm, or if it isn't shown, it does nothing."""
    if not is_shown or not find_spec("tqdm"):
        yield lambda _: None
        return
    from tqdm.auto import tqdm

    with tqdm(total=total, unit=unit, desc=title or None) as bar:
        yield bar.update
