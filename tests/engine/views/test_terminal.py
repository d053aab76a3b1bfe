"""What a terminal shows of a context."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from hypothesis import given
from rich.console import Console

import strategies
from builders import hits_of, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, Supplement, assemble
from pages import assembled
from strategies import Retrieval, retrievals


def printed(shown: object, **options) -> str:
    console = Console(file=StringIO(), width=4_000, **options)
    console.print(shown)
    return console.file.getvalue()


def test_it_begins_with_what_was_done():
    assert printed(assembled()).startswith("4 retrieved chunks became 2 passages of 2 documents. 1 duplicate removed;")


def test_it_has_the_budget_and_the_excluded_chunks():
    context = assembled(max_tokens=260)
    trace, lines = context.trace, printed(context).splitlines()
    start = next(n for n, line in enumerate(lines) if line.strip().startswith("budget"))
    end = next(n for n, line in enumerate(lines) if line.strip().startswith("free "))
    amounts = [int(line.split()[-1].replace(",", "")) for line in lines[start + 1 : end + 1]]
    assert sum(amounts) == 260
    assert amounts[-1] == 260 - trace.token_count
    assert "4 -> 3 -> 7 -> 3 chunks" in lines
    unread = [line.split() for line in lines if "dropped" in line or "duplicate  duplicate" in line]
    assert [(row[0], row[4]) for row in unread] == [
        (each.chunk_id, each.outcome) for each in trace.decisions if each.outcome != "kept"
    ]


def test_the_budget_counts_the_documents_that_it_does_not_name():
    text = printed(assemble(hits_of([words_of(f"d{n}", 0) for n in range(100)])))
    assert "92 more documents" in text


def test_where_everything_is_read_nothing_is_listed():
    text = printed(assemble(hits_of([words_of("A", 0)])))
    assert "because of" not in text


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
    assert len(text) < 100_000
    assert "more chunks that are not read" in text


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_file_gets_what_it_can_hold(encoding):
    file = TextIOWrapper(BytesIO(), encoding=encoding)
    chunks = [words_of("A", n, metadata={"source": "日本.pdf"}) for n in range(2)]
    context = assemble([Hit(chunks[0])], store=MemoryStore(chunks))
    console = Console(file=file, width=200)
    console.print(context)
    file.flush()
    text = file.buffer.getvalue().decode(encoding)
    utf = encoding == "utf-8"
    assert ("日本.pdf" if utf else "??.pdf") in text


def test_a_narrow_terminal_cuts_nothing_off():
    chunks = [Chunk(f"chunk-of-document-{n}", f"{n}", f"The text of the chunk {n}.") for n in range(9)]
    context = assemble(hits_of(chunks, *(n / 7 for n in range(9))), AssemblyConfig(max_tokens=60))
    console = Console(file=StringIO(), width=40)
    console.print(context)
    assert "…" not in console.file.getvalue()


def test_a_context_from_nowhere_is_shown_as_well():
    assert "What the model reads: 1 token " in printed(Context("text", 1))
    assert "nothing to read" in printed(assemble([]))


@given(retrievals())
def test_whatever_was_assembled_can_be_printed(retrieval: Retrieval):
    text = printed(strategies.assembled(retrieval))
    assert all(each.isprintable() or each in "\n\t\u200c\u200d\u200e\u200f" or each.isspace() for each in text)
