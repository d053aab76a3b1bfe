from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders import count, decision, hits_of, lettered, numbered, standing
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, assemble
from stopwatch import takes_less
from strategies import words


def worded(document_id: str, n: int, length: int, **more: Any) -> Chunk:
    """Chunk `n` of a document, of `length` different words."""
    return Chunk(f"{document_id}{n}", document_id, numbered(f"{document_id}{n}.", length), index=n, **more)


def fitted(chunks: list[Chunk], limit: int, *, store: list[Chunk] | None = None, **options: Any) -> Context:
    config = AssemblyConfig(max_tokens=limit, encoding=words, cite="document", **options)
    context = assemble(hits_of(chunks), config, store=None if store is None else MemoryStore(store))
    assert context.token_count == words(context.text) <= limit
    return context


SMALL, LARGE, LITTLE = worded("A", 0, 10), worded("B", 0, 50), worded("C", 0, 10)
APART = [worded("A", 0, 10), worded("A", 1, 10), worded("A", 5, 10), worded("B", 0, 5)]


@pytest.mark.parametrize(
    ("rule", "granularity", "chunks", "limit", "stands"),
    [
        ("filling goes on", "chunk", [SMALL, LARGE, LITTLE], 26, ["A0", "C0"]),
        ("passages, then chunks", "passage", APART[:2], 22, ["A0"]),
        ("a passage stays whole where it fits", "passage", APART, 31, ["A0", "A1", "B0"]),
        ("of the best passage its chunks, before lesser ones", "passage", [*APART[:2], APART[3]], 22, ["A0", "B0"]),
        ("of lesser ones none", "passage", [*APART[:2], APART[3], worded("B", 1, 50)], 22, ["A0"]),
        ("of which a chunk would have fitted", "chunk", [LITTLE, *APART[:2]], 35, ["C0", "A0"]),
        ("best chunks first", "chunk", [APART[2], APART[0], APART[1]], 24, ["A0", "A5"]),
        ("best chunks first", "chunk", [APART[1], APART[0], APART[2]], 23, ["A0", "A1"]),
    ],
)
def test_what_the_budget_keeps(rule: str, granularity: str, chunks: list[Chunk], limit: int, stands: list[str]):
    assert standing(fitted(chunks, limit, granularity=granularity, window=0)) == stands


A = [worded("A", n, 10) for n in range(9)]
B = [worded("B", n, 10) for n in range(9)]


@pytest.mark.parametrize(
    ("rule", "limit", "stands"),
    [
        ("hits before neighbors", 26, ["A4", "B4"]),
        ("hits before neighbors, the better hit's first", 36, ["A3", "A4", "B4"]),
        ("then the better hit's other neighbor", 46, ["A3", "A4", "A5", "B4"]),
        ("nearest before better", 66, ["A3", "A4", "A5", "B3", "B4", "B5"]),
        ("then two steps away", 76, ["A2", "A3", "A4", "A5", "B3", "B4", "B5"]),
    ],
)
def test_hits_come_before_neighbors(rule: str, limit: int, stands: list[str]):
    context = fitted([A[4], B[4]], limit, store=[*A, *B], window=2)
    assert standing(context) == stands


SENTENCES = "One is five words long. Two is five words long. Three is five words long. Four is five words long."
DESCRIBED = Chunk(
    "A0",
    "A",
    SENTENCES,
    0,
    metadata={"source": "gids.pdf", "page": 3, "page_summary": "A summary of eight words for this page"},
)
SUMMARY = "[Page context: A summary of eight words for this page]\n"
FULL = "[1] Source: gids.pdf, page 3\n"


@pytest.mark.parametrize(
    ("rule", "limit", "text"),
    [
        ("everything fits", 35, FULL + SUMMARY + SENTENCES),
        ("the summary goes first", 34, FULL + SENTENCES),
        ("then text is cut at a sentence", 24, FULL + SENTENCES[:73] + " [...]"),
        ("then page and path, which would be more than a quarter", 23, "[1]\n" + SENTENCES),
        ("text is cut only then", 20, "[1]\n" + SENTENCES[:73] + " [...]"),
        ("cut at a sentence", 8, "[1]\n" + SENTENCES[:23] + " [...]"),
        ("then the label, which would be more than a quarter with the mark of the cut", 7, SENTENCES[:23]),
        ("at a word, where not even a sentence fits", 4, "One is five words"),
        ("then the label", 2, "One is"),
        ("empty only when there is no usable hit", 1, "One"),
    ],
)
def test_under_a_tiny_budget(rule: str, limit: int, text: str):
    context = fitted([DESCRIBED], limit, window=0)
    assert context.text == text
    assert len(context.citations) == 1
    if limit < 35:
        assert any(
            note.startswith("budget: no item fits whole; 'A0' is included alone") for note in context.trace.notes
        )
    assert decision(context, "A0").outcome == ("kept" if SENTENCES in text else "cut")


def test_a_sentence_that_does_not_fit_is_cut_at_a_word():
    context = fitted([worded("A", 0, 30)], 10, window=0)
    assert context.text == f"[1]\n{numbered('A0.', 8)} [...]"


@pytest.mark.parametrize("limit", [1, 5, 12])
def test_a_word_that_does_not_fit_is_cut_at_a_character(limit: int):
    config = AssemblyConfig(max_tokens=limit, encoding=len, window=0)
    context = assemble(hits_of([Chunk("a", "A", "Donaudampfschifffahrtsgesellschaft")]), config)
    assert context.text == "Donaudampfschifffahrtsgesellschaft"[:limit]


def test_the_next_hit_stands_where_not_one_character_of_the_best_fits():
    hits = hits_of([Chunk("a", "A", "\U0001f9ff\U0001f9ff"), Chunk("b", "B", "plain")])
    assert count("\U0001f9ff") > 1
    context = assemble(hits, AssemblyConfig(max_tokens=1))
    assert context.text == "plain"
    assert standing(context) == ["b"]
    assert decision(context, "a").outcome == "dropped"


def with_specials(text: str) -> int:
    """Words, and what begins and ends each text, as a BERT tokenizer counts."""
    return words(text) + 2


@pytest.mark.parametrize("hits", [[], [" "], ["plain"], ["plain words of a chunk", "and others"]], ids=len)
@pytest.mark.parametrize("settings", [{}, {"enabled": False}, {"granularity": "sentence"}, {"format": "xml"}], ids=str)
def test_special_tokens_count_in_an_empty_context_as_in_any(hits: list[str], settings: dict[str, Any]):
    chunks = hits_of([Chunk(str(at), str(at), text) for at, text in enumerate(hits)])
    for limit in range(2, 14):
        config = AssemblyConfig(max_tokens=limit, encoding=with_specials, **settings)
        for query in (None, "plain"):
            context = assemble(chunks, config, query=query)
            assert context.token_count == context.trace.token_count == with_specials(context.text) <= limit


def test_the_trace_gives_what_was_left_out():
    """Chunks, tokens, rate."""
    context = fitted([SMALL, LARGE, LITTLE, worded("C", 7, 10)], 27, window=0)
    trace = context.trace
    assert standing(context) == ["A0", "C0"]
    assert [each.chunk_id for each in trace.excluded] == ["B0", "C7"]
    assert decision(context, "B0").tokens == pytest.approx(50, rel=0.4)
    assert decision(context, "C7").tokens == pytest.approx(10, rel=0.4)
    assert trace.excluded_tokens == sum(each.tokens or 0 for each in trace.excluded)
    assert trace.documents_dropped == 1
    assert "1 document dropped for budget" in trace.summary
    assert (trace.token_count, trace.max_tokens) == (26, 27)


def test_a_chunk_of_ten_megabytes_is_cut_in_reasonable_time():
    text = "Een zin van enkele woorden over de afdeling. " * 230_000
    found = []
    hits = [Hit(Chunk("a", "A", text), 1.0)]
    assert takes_less(lambda: found.append(assemble(hits, AssemblyConfig(window=0))), 10)
    context = found[0]
    assert 7_900 < context.token_count <= 8_000
    assert context.text.endswith("afdeling. [...]")


@pytest.mark.parametrize("granularity", ["passage", "chunk"])
def test_what_fits_altogether_stands_though_a_part_of_it_would_not_beside_the_gap_that_it_leaves(granularity: str):
    sentences = [f"Sentence number {n} of the report is here." for n in range(5)]
    stored = [Chunk(f"B{n}", "B", f"{sentences[n]} {sentences[n + 1]}", index=n) for n in range(4)]
    whole = len(" ".join(sentences).split())
    context = fitted([stored[0], stored[3]], whole, store=stored, format="minimal", granularity=granularity)
    assert context.text == " ".join(sentences)
    assert fitted([stored[0], stored[3]], whole - 1, store=stored, format="minimal").trace.excluded


VISIT = "The visit takes long, since all doors of the house are opened by hand there."
EDGE = Chunk("L0", "L", f"Parking is free here. Also {lettered(19)}. {VISIT}", index=0)


def compressed(chunks: list[Chunk], limit: int, query: str = "visit doors", **options: Any) -> Context:
    config = AssemblyConfig(
        **{"max_tokens": limit, "encoding": words, "window": 0, "rank_by": "rank", "compress": "extractive", **options}
    )
    context = assemble(hits_of(chunks), config, query=query)
    assert words(context.text) <= limit
    return context


def texts_of(context: Context) -> list[str]:
    return [block.text.partition("\n")[2] for block in context.blocks]


@pytest.mark.parametrize(
    ("rule", "compress", "limit", "stands", "edge"),
    [
        ("skip: its beginning, then keep filling", "none", 34, ["A0", "L0", "C0"], "Parking is free here."),
        ("skip: the sentences that answer, then keep filling", "extractive", 44, ["A0", "L0", "C0"], VISIT),
        ("it takes 18 words", "extractive", 31, ["A0", "L0"], VISIT),
        ("not 17", "extractive", 30, ["A0", "C0"], None),
        ("chunks that fit are never compressed", "extractive", 68, ["A0", "L0", "C0"], EDGE.text),
    ],
)
def test_the_edge_with_and_without_compression(
    rule: str, compress: str, limit: int, stands: list[str], edge: str | None
):
    context = compressed([SMALL, EDGE, LITTLE], limit, compress=compress)
    assert standing(context) == stands
    if edge is not None:
        assert texts_of(context)[1] == edge + " [...]" * (not EDGE.text.endswith(edge))


def test_no_higher_ranked_chunk_gives_way_to_a_lower_one():
    """Whatever the limit: what stands of the better ones is never less than it would be without the lesser."""
    chunks = [SMALL, EDGE, Chunk("O0", "O", f"A visit, short. Then {lettered(8).replace('w', 'o')}."), LITTLE]
    for limit in range(8, 80):
        texts = texts_of(compressed(chunks, limit))
        for number in range(1, 4):
            fewer = texts_of(compressed(chunks[:number], limit))
            assert texts[: len(fewer)] == fewer


@pytest.mark.parametrize(
    ("rule", "limit", "text"),
    [
        ("everything fits", 127, FULL + SENTENCES),
        ("page and path go, which would be more than a quarter", 126, "[1]\n" + SENTENCES),
        ("text is cut only then", 101, "[1]\n" + SENTENCES[:73] + " [...]"),
        ("then the label", 39, SENTENCES[:23]),
        ("at a character", 2, "On"),
        ("empty only when there is no usable hit", 1, "O"),
    ],
)
def test_under_a_tiny_character_budget(rule: str, limit: int, text: str):
    plain = replace(DESCRIBED, metadata={"source": "gids.pdf", "page": 3})
    assert len(FULL + SENTENCES) == 127
    config = AssemblyConfig(max_characters=limit, window=0, rank_by="rank")
    assert assemble(hits_of([plain]), config, query="visit doors").text == text


@pytest.mark.parametrize("options", [{}, {"granularity": "chunk", "compress": "extractive"}])
@pytest.mark.parametrize("query", [None, "When is Dr. C Jansen there?"])
@pytest.mark.parametrize("limit", [30, 47, 58, 71])
def test_a_roster_is_cut_between_entries(options: dict[str, Any], query: str | None, limit: int):
    names = enumerate("ABCDEFGHIJKLMNOP")
    entries = [f"Dr. {name} Jansen\nCardiology\nMonday {hour} to {hour + 3}" for hour, name in names]
    config = AssemblyConfig(max_tokens=limit, format="minimal", **options)
    text = assemble(hits_of([Chunk("a", "A", "\n\n".join(entries))]), config, query=query).text
    parts = [part.strip() for part in text.replace("[...]", "\n\n").split("\n\n") if part.strip()]
    assert parts
    assert set(parts) <= set(entries)
