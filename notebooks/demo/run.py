"""One run from the question to the screen."""

from __future__ import annotations

from rich.console import Console

from demo.ask import ask
from demo.corpus import load_chunks
from demo.show import show
from demo.store import database, vector_store


def run(question: str) -> bool:
    """Whether both frameworks gave the same context, once everything is shown."""
    console = Console(highlight=False)
    with database() as url, vector_store(url, load_chunks(), console) as store:
        answer = ask(store, question)
    show(console, question, answer)
    return answer.llamaindex_text == answer.context.text
