"""Rows of a table come with its header, taken from another chunk of the document that was retrieved or fetched."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import cited, count, decision, hits_of, numbered
from ctxassembly import AssemblyConfig, Chunk, Context, MemoryStore, assemble
from ctxassembly.config.assembly import Granularity
from stopwatch import takes_less

HEAD = "| ward | visiting hours | telephone |\n|---|---|---|"
SETTINGS = AssemblyConfig(max_tokens=400, format="minimal", window=1, fill=True, cite="document")
QUERY = "When may visitors come to ward 34?"


def row(number: int) -> str:
    return f"| ward {number} | from {number % 12} to {number % 12 + 4} o'clock in the afternoon | 020-{number:05} |"


def rows(first: int, last: int) -> str:
    return "\n".join(map(row, range(first, last)))


def table(**metadata: object) -> list[Chunk]:
    """A document whose table of 36 rows begins in its first chunk, below much else, and goes on in two more."""
    texts = [f"{numbered('x', 150)}.\n\n{HEAD}\n{rows(0, 12)}", rows(12, 24), f"{rows(24, 36)}\n\nThe end."]
    return [Chunk(f"T{at}", "T", text, index=at, metadata=metadata) for at, text in enumerate(texts)]


def context_of(
    config: AssemblyConfig, *hits: int, query: str | None = QUERY, chunks: list[Chunk] | None = None
) -> Context:
    chunks = chunks or table()
    return assemble(hits_of([chunks[at] for at in hits]), config, query=query, store=MemoryStore(chunks))


@pytest.mark.parametrize("query", [QUERY, None])
@pytest.mark.parametrize("granularity", ["auto", "sentence", "chunk", "passage"])
def test_a_chunk_that_begins_inside_a_table_comes_with_the_header(granularity: Granularity, query: str | None):
    context = context_of(replace(SETTINGS, granularity=granularity), 2, 0, query=query)
    assert row(34) in context.text
    assert context.text.startswith(f"{HEAD}\n")
    assert context.text.count(HEAD) == 1
    assert context.token_count == count(context.text) <= 400
    (citation,) = context.citations
    assert (citation.chunk_ids[0], citation.chunk_ids[-1]) == ("T0", "T2")
    first = context.provenance[0]
    assert first.chunk_id == "T0"
    read = context.text[slice(*first.span)]
    assert table()[0].text[slice(*first.chunk_span)] == read
    assert read.startswith(HEAD)
    assert decision(context, "T0").outcome == "cut"
    assert decision(context, "T0").shortened


def test_rows_are_read_under_the_label_of_their_head_though_a_chunk_between_is_not_read():
    config = replace(SETTINGS, cite="passage", fill=False, min_relevance=1)
    chunks = [Chunk("T0", "T", f"{HEAD}\n{rows(0, 12)}", 0), Chunk("T2", "T", rows(24, 36), 2)]
    context = assemble(hits_of(chunks[::-1]), config, query=QUERY)
    assert cited(context) == [("1", ("T0", "T2"))]
    assert context.text == f"{HEAD}\n[...]\n{row(34)}"


def test_a_chunk_that_must_be_kept_whole_is_not_cut_for_a_header():
    chunks = table(keep_whole=True)
    whole = count(chunks[2].text)
    context = context_of(replace(SETTINGS, granularity="chunk", max_tokens=whole + 2), 2, 0, chunks=chunks)
    assert context.text == chunks[2].text


@pytest.mark.parametrize("change", [{"document_id": "U"}, {"text": rows(24, 36).replace(" | 0", " | 1 | 0")}])
def test_rows_of_another_table_have_none(change: dict):
    chunks = table()
    other = replace(chunks[2], **change)
    context = assemble(hits_of([other, chunks[0]]), replace(SETTINGS, granularity="chunk"), query=QUERY)
    assert HEAD not in context.text


@pytest.mark.parametrize("granularity", ["auto", "chunk"])
def test_the_header_is_read_in_the_part_of_its_rows(granularity: Granularity):
    """Though it is below the minimum relevance itself."""
    filler = [
        Chunk(f"F{at}", f"F{at}", " ".join(f"Ferritin {at} is for {numbered(f'v{n}x', 9)}." for n in range(9)), 0)
        for at in range(20)
    ]
    chunks = table()
    answers = "\n".join(f"| ferritin {n} | measured in the morning of day {n} | iron |" for n in range(9))
    config = AssemblyConfig(max_tokens=4_000, min_relevance=0.2, granularity=granularity, window=0, cite="document")
    hits = hits_of([replace(chunks[2], text=answers), *filler, chunks[0]])
    context = assemble(hits, config, query="When is ferritin measured?")
    assert len(context.citations) > 2
    (block,) = [block.text for block in context.blocks if "| ferritin 0 |" in block.text]
    assert HEAD in block.partition("| ferritin 0 |")[0]


KINDS = {
    "bars": (HEAD, "| ward {n} | {n} to {m} | 020-{n:05} |"),
    "HTML": (
        "<table>\n<thead>\n<tr><th>ward</th><th>hours</th></tr>\n</thead>\n<tbody>",
        "<tr>\n<td>ward {n}</td>\n<td>{n} to {m}. Call first.</td>\n</tr>",
    ),
    "values": ("ward,hours,phone", 'ward {n},"from {n}, to {m}. Call first.",2{n}'),
}


@pytest.mark.parametrize("query", [QUERY, None])
@pytest.mark.parametrize("limit", [60, 100, 300])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_any_kind_have_their_head_at_any_limit(kind: str, limit: int, query: str | None):
    """And stand whole: the one that is asked for, and without a question the first ones of the best chunk."""
    head, form = KINDS[kind]
    lines = [form.format(n=n, m=n + 4) for n in range(60)]
    texts = ["\n".join((head, *lines[:20])), "\n".join(lines[20:32]), "\n".join(lines[32:])]
    chunks = [Chunk(f"T{at}", "T", text, at) for at, text in enumerate(texts)]
    config = replace(SETTINGS, max_tokens=limit, fill=False)
    text = assemble(hits_of([chunks[2], chunks[0]]), config, query=query, store=MemoryStore(chunks)).text
    assert text.startswith(head)
    assert (lines[34] if query else lines[32]) in text
    cells = [line for line in text.removeprefix(head).split("\n") if line not in ("", "[...]") and "[...]" not in line]
    assert set(cells) <= {part for line in lines for part in line.split("\n")}


FAR = {
    **{kind: (head, form.replace(". Call first.", "")) for kind, (head, form) in KINDS.items()},
    "one line": ("<table><tr><th>ward</th><th>hours</th></tr>", "<tr><td>ward {n}</td><td>{n} to {m}</td></tr>"),
    "two values": ("ward,hours", "ward {n},{n} to {m}"),
    "tabs": ("ward\thours\tphone", "ward {n}\t{n} to {m}\t02{n}"),
}


@pytest.mark.parametrize("query", [QUERY, None])
@pytest.mark.parametrize("limit", [150, 400, 1_500, 8_000])
@pytest.mark.parametrize("size", [0, 130, 333])
@pytest.mark.parametrize("kind", FAR)
def test_a_head_that_is_far_from_the_rows_is_fetched(kind: str, size: int, limit: int, query: str | None):
    """Chunks of whole rows, or of so many characters that a splitter cut a row: the store has the first chunk."""
    head, form = FAR[kind]
    joint = "" if kind == "one line" else "\n"
    lines = [form.format(n=n, m=n + 4) for n in (*range(60, 180), *range(60))]
    whole = joint.join((head, *lines))
    texts = [whole[at : at + size] for at in range(0, len(whole), size)] if size else []
    texts = texts or [head, *[joint.join(lines[at : at + 8]) for at in range(0, 180, 8)]]
    chunks = [Chunk(f"T{at}", "T", text, at) for at, text in enumerate(texts)]
    hit = next(at for at, chunk in enumerate(chunks) if "ward 34" in chunk.text)
    text = context_of(replace(SETTINGS, max_tokens=limit), hit, query=query, chunks=chunks).text
    assert text.startswith(head)
    assert "ward 34" in text
    assert query or lines[0] not in text


@pytest.mark.parametrize("mark", ["|", ";"])
def test_the_words_of_a_head_are_those_of_all_its_rows(mark: str):
    """A question names the column and the row: the first rows, below the head, don't come before the one asked for."""
    lines = [f" {mark} ".join((f"treatment{n}", f"{12 * n},50", f"{n % 50 + 5}")) for n in range(90)]
    head = f" {mark} ".join(("treatment", "fee", "minutes"))
    if mark == "|":
        lines, head = [f"| {line} |" for line in lines], f"| {head} |\n|---|---|---|"
    texts = ["\n".join(lines[at : at + 18]) for at in range(0, 90, 18)]
    chunks = [Chunk(f"T{at}", "T", text, at) for at, text in enumerate([f"{head}\n{texts[0]}", *texts[1:]])]
    context = context_of(AssemblyConfig(max_tokens=150), 0, 2, query="What is the fee of treatment51?", chunks=chunks)
    assert lines[51] in context.text
    assert head in context.text


@pytest.mark.parametrize("lines", ["|" * 40_000, "| " * 40_000 + "x\n", "|-" * 20_000 + "x"])
def test_a_line_of_bars_takes_no_longer_than_its_length(lines: str):
    """It took seconds: a rule was looked for at each bar, up to the end of the line."""
    text = f"{HEAD}\n{row(1)}\n\n{lines}"
    assert takes_less(lambda: assemble(hits_of([Chunk("T", "T", text)]), SETTINGS, query=QUERY), 0.8)


def test_a_rule_that_ends_in_a_carriage_return_is_below_a_head():
    text = f"{numbered('x', 150)}.\n\n{HEAD}\n{rows(0, 36)}".replace("\n", "\r\n")
    config = replace(SETTINGS, max_tokens=100, fill=False, granularity="sentence")
    assert HEAD.replace("\n", "\r\n") in assemble(hits_of([Chunk("T", "T", text)]), config, query=QUERY).text
