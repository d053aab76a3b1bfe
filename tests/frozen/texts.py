"""Documents of the kinds that people index, all of them made up, and questions about each."""

from __future__ import annotations

from pathlib import Path

from chinese import HANDBOOK

QUESTIONS: dict[str, tuple[str, ...]] = {
    "gastroscopie.pdf": ("Wanneer mag ik weer autorijden?", "Waar is endoscopie?"),
    "10-K.htm": ("What was net income in 2022?", "When does the credit facility mature?"),
    "annex-a.docx": ("How often are access rights reviewed?", "ISO27001 backup distance"),
    "retry.py": ("How is the waiting time of a retry computed?", "backoff"),
    "call.txt": ("May children visit?", "What does parking cost?"),
    "vertrag.pdf": ("Mit welcher Frist kann gekündigt werden?", "Wann ist die Vergütung fällig?"),
    "worker.log": ("Why was the connection lost?", "12345"),
    "notes.md": ("What is forged?", "Which label stands in a sentence?"),
}
DOCUMENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    name: (Path(__file__).with_name("documents").joinpath(f"{name}.txt").read_text("utf-8"), questions)
    for name, questions in QUESTIONS.items()
}
"""Name, text and questions of each."""
DOCUMENTS["手册.txt"] = (
    "".join(f"{title}\n{text}\n\n" for title, text in HANDBOOK.items()),
    ("做胃镜之前几个小时不能吃东西?", "停车场每小时多少钱?"),
)
