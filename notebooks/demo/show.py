"""The answer on a terminal: what was retrieved, what the model reads, where it comes from, what became of the rest."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from langchain_core.documents import Document
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from ctxassembly import Citation, Context, Trace
from demo.ask import Answer

ENDS = 4
"""Lines shown of each end of a fragment; the context is shown whole."""
SNIPPET = 100
"""Characters."""
LEAST_SIMILARITY = 0.24
"""Of the best fragment to a question that the reference answers. Measured: 27 such questions have 0.25 to 0.58, 20 on
bread, taxes or the capital of Mongolia 0.05 to 0.22."""
SHARED = "yellow"
OURS = "bold cyan"


def show(console: Console, question: str, answer: Answer) -> None:
    """Print all of it, top to bottom in the order in which it came to be."""
    console.print(Text(f"Question: {question}", style="bold"))
    if (best := _similarity(answer.retrieved)) < LEAST_SIMILARITY:
        _verbatim(console, Text(_no_answer(best), style="bold yellow"))
    _heading(console, f"Retrieved: {len(answer.retrieved)} fragments, as they came (≡ stands in another one, too)")
    for rank, fragment in enumerate(answer.retrieved, 1):
        _verbatim(console, _fragment(rank, fragment, answer.retrieved))
    _heading(console, f"What the model reads: {answer.context.token_count:,} tokens")
    _verbatim(console, _context(answer.context))
    _heading(console, "Where it comes from")
    for citation in answer.context.citations:
        _verbatim(console, _citation(citation))
    _heading(console, "What happened")
    for line in _left_out(answer.context.trace):
        _verbatim(console, line)
    _verbatim(console, Text(str(answer.context.trace), style="bold"))
    _heading(console, "The same through LlamaIndex")
    _verbatim(console, _comparison(answer))


def _similarity(retrieved: Sequence[Document]) -> float:
    """That of the question to the best fragment; 0 if there is none."""
    return max((each.metadata["relevance_score"] for each in retrieved), default=0.0)


def _no_answer(best: float) -> str:
    return (
        "Nothing in the Python language reference answers this, it seems: no fragment has a similarity of more than "
        f"{best:.2f}, where an answer has {LEAST_SIMILARITY} at least. What follows is only what is nearest."
    )


def _heading(console: Console, title: str) -> None:
    console.print()
    console.print(Rule(title, align="left"))


def _verbatim(console: Console, text: Text) -> None:
    """Print `text` with the lines that it has, however narrow the terminal or the pipe."""
    console.print(text, soft_wrap=True)


def _fragment(rank: int, fragment: Document, retrieved: Sequence[Document]) -> Text:
    """The head and the tail of `fragment`, with a mark at each line that another fragment has too."""
    text = Text(f"\n{rank}. {fragment.id}  score {fragment.metadata['relevance_score']:.3f}", style="bold")
    if twin := next((each for each in retrieved[: rank - 1] if each.page_content == fragment.page_content), None):
        return text.append(f"\n≡ the same text as {twin.id}", style=SHARED)
    shared = _shared_lines(fragment, retrieved)
    lines = fragment.page_content.splitlines()
    for number, line in enumerate(lines):
        if number < ENDS or number >= len(lines) - ENDS:
            mark, style = ("≡", SHARED) if number in shared else (" ", "not bold")
            text.append(f"\n{mark} {line}", style=style)
        elif number == ENDS:
            text.append(f"\n  ... {len(lines) - 2 * ENDS} lines ...", style="not bold dim")
    return text


def _shared_lines(fragment: Document, retrieved: Iterable[Document]) -> set[int]:
    """The numbers of the lines of `fragment` that lie within another fragment of its document."""
    spans = [
        _span(each)
        for each in retrieved
        if each.metadata["document_id"] == fragment.metadata["document_id"] and each.id != fragment.id
    ]
    shared, (start, _) = set(), _span(fragment)
    for number, line in enumerate(fragment.page_content.splitlines(keepends=True)):
        # White space around a line doesn't count: the splitter strips its chunks.
        begin, end = start + len(line) - len(line.lstrip()), start + len(line.rstrip())
        if begin < end and any(first <= begin and end <= last for first, last in spans):
            shared.add(number)
        start += len(line)
    return shared


def _span(fragment: Document) -> tuple[int, int]:
    start: int = fragment.metadata["start_index"]
    return start, start + len(fragment.page_content)


def _context(context: Context) -> Text:
    """The context's text; what was written around the documents' own words stands out."""
    text = Text(context.text, style=OURS)
    for source in context.provenance:
        text.stylize("not bold default", *source.span)
    return text


def _citation(citation: Citation) -> Text:
    chunks = ", ".join(citation.chunk_ids)
    snippet = textwrap.shorten(citation.snippet, SNIPPET, placeholder=" ...")
    return Text.assemble((f"[{citation.label}]", OURS), f" {citation.source}: {chunks}\n", (snippet, "dim"))


def _left_out(trace: Trace) -> Iterable[Text]:
    """A line for each chunk that the model doesn't read."""
    for decision in trace.decisions:
        if not decision.stands:
            kind = "neighbour" if decision.distance else "hit"
            because = f" of {decision.because_of}" if decision.because_of else f": {decision.reason}"
            yield Text(f"{decision.outcome} {decision.chunk_id} ({kind}){because}", style="dim")


def _comparison(answer: Answer) -> Text:
    if answer.llamaindex_text == answer.context.text:
        return Text(f"identical: {len(answer.context.text):,} characters, byte for byte", style="bold green")
    return Text("NOT identical:\n" + answer.llamaindex_text, style="bold red")
