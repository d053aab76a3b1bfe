"""One run from the question to the screen."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from demo.answer import answered, model
from demo.ask import ask
from demo.corpus import load_chunks
from demo.show import show
from demo.store import database, vector_store

PAGE = Path("results", "context.html")
"""Where the context goes as a page, below the folder in which the demo runs."""


def run(question: str) -> bool:
    """Whether both frameworks gave the same context, once everything is shown and the page is written."""
    console, llm = Console(highlight=False), model()
    with database(console) as url, vector_store(url, load_chunks(), console) as store:
        answer = ask(store, question)
        show(console, question, answer)
        answered(console, store, question, llm)
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(answer.context.to_html(), encoding="utf-8")
    console.print(f"\nTo look at: {PAGE}")
    return answer.llamaindex_text == answer.context.text
