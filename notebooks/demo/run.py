"""One run from the question to the screen."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

from rich.console import Console

from demo.answer import answered, model
from demo.ask import ask
from demo.corpus import load_chunks
from demo.show import show, show_steps
from demo.store import database, vector_store

PAGE = Path("results", "context.html")
"""Where the context goes as a page, below the folder in which the demo runs."""


def run(question: str, *, verbose: bool = False) -> bool:
    """Return whether both frameworks gave the same context, once it is shown and the page is written."""
    console, llm = Console(highlight=False), model()
    with database(console) as url, vector_store(url, load_chunks(), console) as store:
        answer = ask(store, question)
        show(console, question, answer)
        if verbose:
            show_steps(console, answer)
        answered(console, store, question, llm)
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(answer.context.to_html(), encoding="utf-8")
    address = PAGE.resolve().as_uri()
    console.print(f"\nAs a page, with a reason for each chunk: {address}", soft_wrap=True, markup=False)
    if not verbose:
        console.print('Each step: make demo ARGS=-v. Another question: make demo Q="..."', markup=False)
    if console.is_terminal and _has_desktop():
        webbrowser.open(address)
    return answer.llamaindex_text == answer.context.text


def _has_desktop() -> bool:
    """Return whether a browser with windows can be opened here, not one in the terminal or on another machine."""
    if "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform in ("darwin", "win32") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys())
