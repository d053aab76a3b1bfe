"""What a terminal shows of a context."""

from __future__ import annotations

import re
from dataclasses import dataclass
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from hypothesis import given
from rich.console import Console
from rich.text import Text

import strategies
from builders import hits_of, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, Supplement, assemble, compare
from ctxassembly.views import terminal
from ctxassembly.views.html import make_visible
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
    assert f"Left out (budget): {len(trace.excluded)} chunks, which would have cost {trace.excluded_tokens} tokens" in [
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


def test_hits_have_the_color_of_their_document_and_neighbors_have_none():
    context = assembled()
    (block,) = [
        each for each in terminal.render_context(context) if isinstance(each, Text) and each.plain.startswith("A ")
    ][:1]
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
    assert len(text) < 3 * terminal.MAX_CHARS
    assert "more characters" in text
    assert "more chunks that are not read" in text
    assert "more characters" not in printed(assembled())


def test_wide_characters_are_cut_and_counted_as_characters():
    text = "日本語の文。" * 5_000
    config = AssemblyConfig(max_tokens=100_000, encoding=len, format="minimal")
    shown = printed(assemble([Hit(Chunk("c", "A", text))], config))
    assert shown.count("日") == -(-terminal.MAX_CHARS // 6)
    assert "and 10,000 more characters" in shown


def test_what_is_cut_within_a_block_is_counted_to_the_character():
    chunks = [words_of(f"d{n}", 0) for n in range(1_000)]
    context = assemble(hits_of(chunks), AssemblyConfig(max_tokens=50_000))
    left = sum(len(block.text) for block in context.blocks) - terminal.MAX_CHARS
    assert f"and {left:,} more characters" in printed(context)


def test_many_small_documents_fill_the_bar():
    context = assemble(hits_of([words_of(f"d{n}", 0) for n in range(300)]), AssemblyConfig(max_tokens=10_000))
    spent = context.token_count / 10_000
    assert 0.5 < spent < 0.95
    (bar,) = [line.rstrip() for line in printed(context).splitlines() if re.fullmatch(r"[A-Za-z]+\.+ *", line)]
    assert len(bar) == terminal.BAR_WIDTH
    assert bar.count(".") == terminal.BAR_WIDTH - round(spent * terminal.BAR_WIDTH)


def test_the_legend_counts_the_documents_that_it_does_not_name():
    lines = printed(assemble(hits_of([words_of(f"d{n}", 0) for n in range(100)]))).splitlines()
    legend = next(line for line in lines if "free" in line)
    assert "60 more documents" in legend
    numbers = [int(each.replace(",", "")) for each in re.findall(r"(?:documents|\b[A-Z]+|around) ([\d,]+)", legend)]
    free = int(re.search(r"free ([\d,]+) of 8,000", legend)[1].replace(",", ""))
    assert sum(numbers) + free == 8_000


def test_a_cost_that_is_not_known_is_not_said_to_be_nothing():
    chunks = [words_of("A", 0), Chunk("blank", "B", "  ")]
    text = printed(assemble(hits_of(chunks)))
    assert "Left out (empty): 1 chunk\n" in re.sub(" +\n", "\n", text)
    assert "would have cost 0" not in text


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_file_gets_what_it_can_hold(encoding):
    file = TextIOWrapper(BytesIO(), encoding=encoding)
    chunks = [words_of("A", n, metadata={"source": "日本.pdf"}) for n in range(2)]
    context = assemble([Hit(chunks[0])], store=MemoryStore(chunks))
    console = Console(file=file, width=200)
    console.print(context)
    console.print(compare([Hit(chunks[1])], [AssemblyConfig()]))
    file.flush()
    text = file.buffer.getvalue().decode(encoding)
    utf = encoding == "utf-8"
    assert ("●1 A 0 begins" if utf else "*1 A 0 begins") in text
    assert ("○1 A 1 begins" if utf else "o1 A 1 begins") in text
    assert ("A 日本.pdf" if utf else "A ??.pdf") in text


def test_a_narrow_terminal_cuts_nothing_off():
    chunks = [Chunk(f"chunk-of-document-{n}", f"{n}", f"The text of the chunk {n}.") for n in range(9)]
    context = assemble(hits_of(chunks, *(n / 7 for n in range(9))), AssemblyConfig(max_tokens=60))
    comparison = compare(hits_of(chunks), [AssemblyConfig(), AssemblyConfig(dedup="near")], evidence=["text"])
    for shown in (context, comparison):
        console = Console(file=StringIO(), width=40)
        console.print(shown)
        assert "…" not in console.file.getvalue()


def test_a_context_from_nowhere_is_shown_as_well():
    assert "What the model reads: 1 token " in printed(Context("text", 1))
    assert "nothing to read" in printed(assemble([]))


def without_marks(text: str) -> str:
    """`text` without white space and marks, which stand before a word that two chunks share."""
    return "".join(re.sub(r"[●○]\d+\s", "", text).split())


@given(retrievals())
def test_whatever_was_assembled_can_be_printed(retrieval: Retrieval):
    context = strategies.assembled(retrieval)
    text = printed(context)
    assert text == "\n".join(make_visible(line) for line in text.split("\n"))
    shown = without_marks(text)
    for source in context.provenance:
        assert without_marks(make_visible(context.text[slice(*source.span)])) in shown
