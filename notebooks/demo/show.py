"""The answer on a terminal: what was retrieved, what the model reads, where it comes from, what became of the rest."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from ctxassembly import Chunk, Citation, Context, Retrieved, Trace
from ctxassembly.retrieval import RetrievedChunk
from demo.ask import MIN_EVIDENCE, Answer

ENDS = 4
"""Lines shown of each end of a fragment; the context is shown whole."""
SNIPPET = 100
"""Characters."""
SHARED = "yellow"
OURS = "bold cyan"


def show(console: Console, question: str, answer: Answer) -> None:
    """Print all of it, in the order in which it came to be; where nothing answers, how it was searched."""
    console.print(Text(f"Question: {question}", style="bold"))
    if not answer.retrieved.chunks:
        _verbatim(console, Text(_no_answer(answer.retrieved), style="bold yellow"))
    _heading(console, "How it was searched")
    for line in _search(answer.retrieved):
        _verbatim(console, line)
    found = answer.retrieved.chunks
    if not found:
        return
    _heading(console, f"Retrieved: {len(found)} fragments, best first (≡ stands in another one, too)")
    for rank, one in enumerate(found, 1):
        _verbatim(console, _fragment(rank, one, [each.chunk for each in found]))
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


def _no_answer(retrieved: Retrieved) -> str:
    return (
        f"Nothing in the Python language reference answers this, it seems: the evidence is {_evidence(retrieved)}, "
        f"where an answer has {MIN_EVIDENCE:.2f} at least."
    )


def _evidence(retrieved: Retrieved) -> str:
    return f"{retrieved.trace.evidence or 0:.2f}"


def _search(retrieved: Retrieved) -> Iterable[Text]:
    """The trace in short: the way of searching, the words and what they weigh, the steps, the evidence."""
    trace = retrieved.trace
    words = sorted(trace.terms.items(), key=lambda term: -term[1])
    steps = (f"{step.name} {step.chunks_out}" for step in trace.steps if step.chunks_out)
    told = {
        "method": f"{trace.search_method}, {trace.round_trips} round trips",
        "words": ", ".join(f"{word} {weight:.1f}" for word, weight in words) + " (the rarer, the heavier)",
        "steps": " -> ".join(steps) + " fragments",
        "evidence": f"{_evidence(retrieved)} of at least {MIN_EVIDENCE:.2f}",
        "notes": "; ".join(trace.notes),
    }
    return [Text.assemble((f"{name:10}", "dim"), said) for name, said in told.items() if said]


def _heading(console: Console, title: str) -> None:
    console.print()
    console.print(Rule(title, align="left"))


def _verbatim(console: Console, text: Text) -> None:
    """Print `text` with the lines that it has, however narrow the terminal or the pipe."""
    console.print(text, soft_wrap=True)


def _fragment(rank: int, found: RetrievedChunk, retrieved: Sequence[Chunk]) -> Text:
    """The head and the tail of a fragment, with a mark at each line that another fragment has too."""
    chunk = found.chunk
    text = Text(f"\n{rank}. {chunk.id}  score {found.score:.3f}  by {' and '.join(found.channels)}", style="bold")
    if twin := next((each for each in retrieved[: rank - 1] if each.text == chunk.text), None):
        return text.append(f"\n≡ the same text as {twin.id}", style=SHARED)
    shared = _shared_lines(chunk, retrieved)
    lines = chunk.text.splitlines()
    for number, line in enumerate(lines):
        if number < ENDS or number >= len(lines) - ENDS:
            mark, style = ("≡", SHARED) if number in shared else (" ", "not bold")
            text.append(f"\n{mark} {line}", style=style)
        elif number == ENDS:
            text.append(f"\n  ... {len(lines) - 2 * ENDS} lines ...", style="not bold dim")
    return text


def _shared_lines(chunk: Chunk, retrieved: Iterable[Chunk]) -> set[int]:
    """The numbers of the lines of `chunk` that lie within another fragment of its document."""
    spans = [_span(each) for each in retrieved if each.document_id == chunk.document_id and each.id != chunk.id]
    shared, (start, _) = set(), _span(chunk)
    for number, line in enumerate(chunk.text.splitlines(keepends=True)):
        # White space around a line doesn't count: the splitter strips its chunks.
        begin, end = start + len(line) - len(line.lstrip()), start + len(line.rstrip())
        if begin < end and any(first <= begin and end <= last for first, last in spans):
            shared.add(number)
        start += len(line)
    return shared


def _span(chunk: Chunk) -> tuple[int, int]:
    start = chunk.start or 0
    return start, start + len(chunk.text)


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
        if not decision.is_in_context:
            kind = "neighbor" if decision.distance else "hit"
            because = f" of {decision.because_of}" if decision.because_of else f": {decision.reason}"
            yield Text(f"{decision.outcome} {decision.chunk_id} ({kind}){because}", style="dim")


def _comparison(answer: Answer) -> Text:
    if answer.llamaindex_text == answer.context.text:
        return Text(f"identical: {len(answer.context.text):,} characters, byte for byte", style="bold green")
    return Text("NOT identical:\n" + answer.llamaindex_text, style="bold red")
