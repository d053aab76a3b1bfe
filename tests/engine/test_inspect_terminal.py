"""What a terminal shows of a context."""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO

from hypothesis import given, settings
from rich.console import Console
from rich.text import Text

import strategies
from builders import hits_of, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, Supplement, assemble
from ctxassembly.inspect import terminal
from ctxassembly.inspect.markup import visible
from pages import assembled
from strategies import Retrieval, retrievals


def printed(shown: object, **options) -> str:
    console = Console(file=StringIO(), width=4_000, **options)
    console.print(shown)
    return console.file.getvalue()


def test_the_whole_text_stands_there_with_its_marks():
    context = assembled()
    text = printed(context)
    for passage in context.passages:
        for piece in passage.pieces:
            assert all(line in text for line in piece.text.split("\n"))
    assert all(mark in text for mark in ("●1 ", "●2 ", "●3 ", "○"))
    assert "A [1] Source: a.pdf" in text
    assert "[Page context: All of a.]" in text


def test_it_begins_with_what_was_done():
    assert printed(assembled()).startswith("4 retrieved chunks became 2 passages of 2 documents. 1 duplicate removed;")


def test_the_budget_the_stages_and_what_is_not_read():
    context = assembled(max_tokens=260)
    trace, lines = context.trace, printed(context).splitlines()
    legend = next(line for line in lines if "free" in line)
    assert legend.endswith(f"free {260 - trace.token_count} of 260 tokens")
    assert "4 -> 3 -> 7 -> 3 chunks" in lines
    assert any(line.split()[:4] == ["dedup", "4", "->", "3"] and "exact duplicates: 1 chunk" in line for line in lines)
    assert f"Left out (budget): {len(trace.left_out)} chunks, which would have cost {trace.left_out_tokens} tokens" in [
        line.strip() for line in lines
    ]
    unread = [line.split() for line in lines if "dropped" in line or "duplicate  duplicate" in line]
    assert [(row[0], row[4]) for row in unread] == [
        (each.chunk_id, each.outcome) for each in trace.decisions if each.outcome != "kept"
    ]


def test_where_everything_is_read_nothing_is_listed():
    text = printed(assemble(hits_of([words_of("A", 0)])))
    assert "Left out" not in text
    assert "because of" not in text


def test_hits_have_the_colour_of_their_document_and_neighbours_have_none():
    context = assembled()
    (block,) = [each for each in terminal.shown(context) if isinstance(each, Text) and each.plain.startswith("A ")][:1]
    for piece in context.passages[0].pieces:
        at = block.plain.index(piece.text)
        styles = {str(span.style) for span in block.spans if span.start <= at < span.end}
        assert styles == ({"blue"} if piece.candidate.is_hit else {"not bold"})
    assert {piece.candidate.is_hit for piece in context.passages[0].pieces} == {True, False}


@dataclass
class Failing:
    """A store that has nothing but its error."""

    said: str

    def fetch(self, refs: object) -> list[Chunk]:
        raise OSError(self.said)


def test_no_text_commands_the_terminal():
    hostile = "\x1b]0;owned\x07\x1b[2J[bold red]x[/bold red]\u202e"
    metadata = {"source": hostile, "page_summary": hostile}
    hits = [Hit(Chunk(hostile, hostile, f"{hostile} {n}", metadata=metadata), "no number") for n in range(2)]
    context = assemble(
        [*hits, hits[0], Hit(words_of("A", 0))],
        query=hostile,
        store=Failing(hostile),
        supplement=Supplement(hostile, True),
    )
    text = printed(context)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "[bold red]x[/bold red]" in text
    assert "⟦U+202E⟧" in text


def test_ten_thousand_chunks_are_counted_where_they_have_no_room():
    chunks = [words_of(f"d{n}", 0) for n in range(10_000)]
    text = printed(assemble(hits_of(chunks), AssemblyConfig(max_tokens=50_000)))
    assert len(text) < 3 * terminal.SHOWN_CHARS
    assert "more characters" in text
    assert "more chunks that are not read" in text
    assert "more characters" not in printed(assembled())


def test_a_context_from_nowhere_is_shown_as_well():
    assert "What the model reads: 1 token " in printed(Context("text", 1))
    assert "nothing to read" in printed(assemble([]))


@settings(deadline=None)
@given(retrievals())
def test_whatever_was_assembled_can_be_printed(retrieval: Retrieval):
    text = printed(strategies.assembled(retrieval))
    assert text == "\n".join(visible(line) for line in text.split("\n"))
