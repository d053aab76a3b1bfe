"""The answer on a terminal: what assembly made of what was retrieved, and on request each step on the way."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from ctxassembly import Chunk, Citation, Context, Retrieved, Trace
from ctxassembly.retrieval import RetrievedChunk
from demo.ask import MIN_EVIDENCE, Answer
from demo.corpus import count_tokens
from tour.repeats import repeated

CONTEXT_LINES = 40
"""Lines of the context that are shown unless all is asked for."""
ENDS = 4
"""Lines shown of each end of a fragment."""
SNIPPET = 100
"""Characters."""
SHARED = "yellow"
OURS = "bold cyan"


def show(console: Console, question: str, answer: Answer) -> None:
    """Print a summary and the beginning of the context, or why nothing answers the question."""
    console.print(Text(f"Question: {question}", style="bold"))
    found, context = answer.retrieved.chunks, answer.context
    if not found:
        _verbatim(console, Text(_no_answer(answer.retrieved), style="bold yellow"))
        return
    _summary(console, found, context)
    _heading(console, f"What the model reads: {context.token_count:,} tokens")
    _verbatim(console, _context(context, CONTEXT_LINES))
    if answer.llamaindex_text != context.text:
        _heading(console, "The same through LlamaIndex")
        _verbatim(console, _comparison(answer))


def show_steps(console: Console, answer: Answer) -> None:
    """Print what was done at each step: searched, found, assembled, cited and left out."""
    found, context = answer.retrieved.chunks, answer.context
    _heading(console, "How it was searched")
    for line in _search(answer.retrieved):
        _verbatim(console, line)
    if not found:
        return
    _heading(console, f"Retrieved: {len(found)} fragments, best first (≡ is in another one, too)")
    for rank, one in enumerate(found, 1):
        _verbatim(console, _fragment(rank, one, [each.chunk for each in found]))
    _heading(console, f"What the model reads, all {context.token_count:,} tokens")
    _verbatim(console, _context(context))
    _heading(console, "Where it comes from")
    for citation in context.citations:
        _verbatim(console, _citation(citation))
    _heading(console, "What happened")
    for line in _left_out(context.trace):
        _verbatim(console, line)
    _verbatim(console, Text(str(context.trace), style="bold"))
    _heading(console, "The same through LlamaIndex")
    _verbatim(console, _comparison(answer))


def _summary(console: Console, found: Sequence[RetrievedChunk], context: Context) -> None:
    """Print what was retrieved and what became of it: tokens, repetition, sources, and why chunks were left out."""
    texts = [each.chunk.text for each in found]
    documents = len({each.chunk.document_id for each in found})
    labels = context.citations
    cited = len({each.document_id for each in labels})
    retrieved = (count_tokens("\n".join(texts)), repeated(texts), f"{len(found)} fragments of {documents} documents")
    assembled = (context.token_count, repeated(context.text.split("\n\n")), f"{len(labels)} labels, {cited} documents")
    _verbatim(console, Text(f"{'':14}{'tokens':>8}{'repeated':>11}   sources", style="dim"))
    for name, (tokens, share, sources) in {"as retrieved": retrieved, "as assembled": assembled}.items():
        _verbatim(console, Text(f"{name:14}{tokens:8,}{share:11.0%}   {sources}"))
    if reasons := _reasons(context.trace):
        _verbatim(console, Text(f"chunks left out: {reasons}", style="dim"))


def _reasons(trace: Trace) -> str:
    """Return how many chunks were left out for which reason, the most frequent first."""
    counts = Counter(decision.reason for decision in trace.decisions if not decision.is_in_context)
    return ", ".join(f"{reason} {count}" for reason, count in counts.most_common())


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
        "evidence": f"{(trace.evidence or 0) / MIN_EVIDENCE:.1f} times what an answer has at least",
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


def _context(context: Context, max_lines: int | None = None) -> Text:
    """Return the first lines of the context's text; what was written around the documents' own words is colored."""
    text = Text(context.text, style=OURS)
    for source in context.provenance:
        text.stylize("not bold default", *source.span)
    lines = text.split(allow_blank=True)
    if max_lines is None or len(lines) <= max_lines:
        return text
    return Text("\n").join([*lines[:max_lines], Text(f"... {len(lines) - max_lines} more lines ...", style="dim")])


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
