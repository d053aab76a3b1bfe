"""Bars that show how far a long call is."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

Told = Callable[[int], object]


def progress_bar(total: int | None, unit: str = "chunk", title: str = "") -> tuple[Told, Callable[[], object]]:
    """A function to tell of things done, and one to call at the end: a bar of tqdm's or rich's, if one is installed."""
    if find_spec("tqdm"):
        from tqdm.auto import tqdm

        bar = tqdm(total=total, unit=unit, desc=title or None)
        return bar.update, bar.close
    if find_spec("rich"):
        from rich.progress import Progress

        shown_bar = Progress()
        task = shown_bar.add_task(title or f"{unit}s", total=total)
        shown_bar.start()
        return lambda done: shown_bar.advance(task, done), shown_bar.stop
    return lambda _: None, lambda: None
