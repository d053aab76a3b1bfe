"""Defects that others ship, each on an input that shows it: the output here is right.

Each docstring says where the defect is and what it does, found in haystack-ai 3.4.0, langchain-community 0.4.2,
llama-index-core 0.14.25, trimwise 0.7.0, astromesh-context 0.1.0, and Onyx and RAGFlow of August 2026.
"""

from __future__ import annotations

from typing import Any

import pytest

from builders import cited, count, decision, hits_of, numbered, split, standing, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, MemoryStore, assemble
from strategies import words

FASTING = "Do not eat for six hours before the examination."


@pytest.mark.parametrize(
    ("dedup", "text"),
    [
        ("exact", FASTING),
        ("near", "Before the examination do not eat for six hours."),
        ("semantic", "Six hours without food come first."),
    ],
)
def test_of_two_duplicates_the_higher_ranked_one_stays(dedup: Any, text: str):
    """LangChain EmbeddingsRedundantFilter: drops the higher-ranked duplicate."""
    better, worse = Chunk("Z", "Z", FASTING, vector=(0.6, 0.8)), Chunk("A", "A", text, vector=(0.6, 0.8))
    context = assemble(hits_of([better, worse], 0.9, 0.8), AssemblyConfig(dedup=dedup))
    assert standing(context) == ["Z"]
    assert (decision(context, "A").outcome, decision(context, "A").because_of) == ("duplicate", "Z")


@pytest.mark.parametrize(
    ("order", "read"),
    [
        ("edges", ["AB", "ABC", "ACDB", "ACDEB", "ACDEFB", "ACDEFGB"]),
        ("interleaved", ["AB", "ACB", "ACDB", "ACEDB", "ACEFDB", "ACEGFDB"]),
        ("reverse", ["BA", "CBA", "DCBA", "EDCBA", "FEDCBA", "GFEDCBA"]),
    ],
)
def test_the_best_passage_keeps_its_end_for_odd_and_even_numbers(order: Any, read: list[str]):
    """LangChain and LlamaIndex LongContextReorder: best passage is first for odd n, last for even n."""
    for names in read:
        chunks = [words_of(name, 0) for name in "ABCDEFG"[: len(names)]]
        context = assemble(hits_of(chunks), AssemblyConfig(order=order))
        assert standing(context) == [f"{name}0" for name in names]


def test_a_hit_that_is_another_ones_neighbor_keeps_its_score():
    """LlamaIndex PrevNextNodePostprocessor: overwrites hit scores with None where windows overlap."""
    chunks = [words_of("A", n) for n in range(6)]
    context = assemble(hits_of([chunks[2], chunks[3]], 0.9, 0.8), store=MemoryStore(chunks))
    assert {each.chunk_id: each.score for each in context.trace.decisions} == {
        "A1": 0.45,
        "A2": 0.9,
        "A3": 0.8,
        "A4": 0.4,
    }
    assert context.citations[0].score == 0.9


def test_neighbors_stand_in_the_order_of_their_document():
    """LlamaIndex PrevNextNodePostprocessor: mis-orders; hits 3 and 0 come back as 1 2 3 4 0."""
    chunks = [words_of("A", n) for n in range(5)]
    context = assemble(hits_of([chunks[3], chunks[0]]), store=MemoryStore(chunks))
    assert standing(context) == ["A0", "A1", "A2", "A3", "A4"]


@pytest.mark.parametrize(
    ("by", "options", "reads"),
    [("index", {}, 1), ("links: one per step for all hits together", {"indexed": False, "links": "pn"}, 3)],
)
def test_neighbors_of_all_hits_are_read_together(by: str, options: dict[str, Any], reads: int):
    """LlamaIndex PrevNextNodePostprocessor: one store read per node per hop, 54 for these ten hits."""
    chunks = split("A", numbered("w", 320), size=25, offsets=False, **options)
    assert len(chunks) == 64
    store = MemoryStore(chunks)
    context = assemble(hits_of(chunks[::7]), AssemblyConfig(window=3), store=store)
    assert store.round_trips == context.trace.round_trips == reads
    assert context.trace.chunks == 10 + 54


def test_a_contained_chunk_adds_nothing():
    """Haystack SentenceWindowRetriever.merge_documents_text: "The bird sings." became "The birdrd sings."."""
    parts = [Chunk("a", "A", "The bird", 0, 0), Chunk("b", "A", "bi", 1, 4), Chunk("c", "A", "rd sings.", 2, 6)]
    context = assemble(hits_of(parts), AssemblyConfig(format="minimal"))
    assert context.text == "The bird sings."
    assert decision(context, "b").outcome == "contained"


@pytest.mark.parametrize(
    ("rule", "places", "text"),
    [
        ("a gap is marked", [0, 2], "The bird sings.\n[...]\nThen it flies."),
        ("chunks that follow each other have none", [0, 1], "The bird sings. It waits."),
    ],
)
def test_a_gap_shows(rule: str, places: list[int], text: str):
    """Haystack SentenceWindowRetriever.merge_documents_text: gaps are glued silently."""
    whole = "The bird sings. It waits. Then it flies."
    chunks = [
        Chunk(f"A{n}", "A", whole[start:end], n, start) for n, (start, end) in enumerate([(0, 15), (15, 25), (26, 40)])
    ]
    context = assemble(hits_of([chunks[n] for n in places]), AssemblyConfig(format="minimal", window=0))
    assert context.text == text


def test_windows_that_meet_are_one():
    """Haystack SentenceWindowRetriever: windows are repeated per hit."""
    chunks = [words_of("A", n) for n in range(5)]
    context = assemble(hits_of([chunks[2], chunks[1], chunks[3]]), store=MemoryStore(chunks))
    assert cited(context) == [("1", ("A0", "A1", "A2", "A3", "A4"))]
    assert [context.text.count(chunk.text) for chunk in chunks] == [1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("most", "lengths", "text"),
    [
        (25, [10, 10, 10], f"{numbered('a', 10)}\n\n{numbered('b', 10)}"),
        (6, [505], "a000 a001 a002 a003 a004 [...]"),
    ],
)
def test_a_limit_in_words_is_a_limit(most: int, lengths: list[int], text: str):
    """Haystack LostInTheMiddleRanker: word_count_threshold 25 returned 30 words; 6 returned 505."""
    chunks = [Chunk(name, name, numbered(name, length)) for name, length in zip("abc", lengths, strict=False)]
    config = AssemblyConfig(max_tokens=most, encoding=words, format="minimal", granularity="chunk")
    assert assemble(hits_of(chunks), config).text == text


@pytest.mark.parametrize(
    ("answer", "labels"), [("Fast [1, 2].", "12"), ("Drink water 【3】.", "3"), ("Come [2], drink 【1】.", "21")]
)
def test_every_form_of_citation_is_read(answer: str, labels: str):
    """Haystack AnswerBuilder: default citation pattern misses `[1, 2]` and `【3】`."""
    resolved = assemble(hits_of([words_of(name, 0) for name in "ABC"])).resolve(answer)
    assert [citation.label for citation in resolved.citations] == list(labels)
    assert resolved.unknown == ()


@pytest.mark.parametrize("granularity", ["passage", "chunk"])
def test_a_higher_ranked_late_chunk_outlives_a_lower_ranked_early_one(granularity: Any):
    """Onyx, old merge: re-cuts by characters from the end: a top-ranked late chunk vanished, an early one stayed."""
    early, late = words_of("A", 0), words_of("A", 9)
    config = AssemblyConfig(
        max_tokens=len(late.text) + 7,
        encoding=len,
        format="minimal",
        granularity=granularity,
        window=0,
    )
    assert assemble(hits_of([late, early], 0.9, 0.1), config).text == late.text


@pytest.mark.parametrize(
    ("rule", "granularity", "stands"),
    [
        ("its passage likewise", "passage", {"A": (0, 700)}),
        ("three hits and the six chunks next to them: 901", "chunk", dict.fromkeys("ABC", (200, 500))),
    ],
)
def test_the_budget_holds_after_expansion_and_merge(rule: str, granularity: Any, stands: dict[str, tuple[int, int]]):
    """Onyx, now: no token check after expansion and merge (onyx#14605: required 1,249,513, available 222,428)."""
    whole = {name: numbered(name, 140) for name in "ABC"}
    chunks = [chunk for name, text in whole.items() for chunk in split(name, text, size=100)]
    config = AssemblyConfig(max_tokens=1_000, encoding=len, format="minimal", granularity=granularity, window=3)
    context = assemble(hits_of(chunks[3::7]), config, store=MemoryStore(chunks))
    assert context.trace.chunks == 21
    assert context.text == "\n\n".join(whole[name][begin:end].strip() for name, (begin, end) in stands.items())
    assert context.token_count == len(context.text)


@pytest.mark.parametrize(
    ("where", "limit", "form"),
    [
        ("RAGFlow kb_prompt: budget 1,000 rendered 1,456 tokens", 1_000, "source"),
        ("RAGFlow kb_prompt: 500 rendered 825", 500, "source"),
        ("astromesh: budget 1,000 rendered 1,079", 1_000, "numbered"),
        ("context-forge: budget 1,000 rendered 1,058", 1_000, "xml"),
    ],
)
def test_what_is_written_around_the_text_is_in_the_budget(where: str, limit: int, form: Any):
    about = {"source": "annual-report-of-the-hospital-2024.pdf", "section": "Visitors and parking", "page": 12}
    chunks = [Chunk(f"{n}", f"{n}", f"Fact {n}: {numbered('w', 4)}", metadata=about) for n in range(100)]
    context, more = (
        assemble(hits_of(chunks), AssemblyConfig(max_tokens=most, format=form, granularity="chunk"))
        for most in (limit, 2 * limit)
    )
    assert context.token_count == count(context.text) <= limit
    stand = len(context.blocks)
    assert count(f"{context.text}\n\n{more.blocks[stand].text}") > limit
    # Who counts the texts alone takes more than these.
    assert sum(count(chunk.text) for chunk in chunks[:stand]) < limit * 3 // 4


@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base"])
def test_a_control_token_in_a_chunk_is_text(encoding: str):
    """astromesh, context-forge: `<|endoftext|>` in a chunk raises ValueError."""
    chunk = Chunk("a", "A", "The model stops at <|endoftext|> and begins at <|im_start|>.")
    context = assemble(hits_of([chunk]), AssemblyConfig(encoding=encoding, format="minimal"))
    assert context.text == chunk.text
    assert context.token_count == count(chunk.text, encoding) > 15


@pytest.mark.parametrize(
    ("rule", "limit", "form", "read"),
    [
        ("the separator has its place", 22, "minimal", "abcdefghij\n\nklmnopqrst"),
        ("without it the texts alone would fit", 21, "minimal", "abcdefghij"),
        ("labels have theirs", 50, "numbered", "[1] Source: a\nabcdefghij\n\n[2] Source: b\nklmnopqrst"),
        ("without them the texts alone would fit", 49, "numbered", "[1] Source: a\nabcdefghij"),
    ],
)
def test_labels_and_separators_are_inside_the_budget(rule: str, limit: int, form: Any, read: str):
    """trimwise adapters: labels and separators are outside the budget."""
    texts = {"a": "abcdefghij", "b": "klmnopqrst"}
    chunks = [Chunk(name, name, text, metadata={"source": name}) for name, text in texts.items()]
    config = AssemblyConfig(max_tokens=limit, encoding=len, format=form, granularity="chunk")
    assert assemble(hits_of(chunks), config).text == read


def test_a_duplicate_takes_no_place_from_another():
    """trimwise adapters: duplicates remain."""
    chunks = [Chunk("a", "A", FASTING), Chunk("b", "B", FASTING), words_of("C", 0)]
    config = AssemblyConfig(max_tokens=len(FASTING) + 2 + len(chunks[2].text), encoding=len, format="minimal")
    assert assemble(hits_of(chunks), config).text == f"{FASTING}\n\n{chunks[2].text}"


def two_long_sources() -> tuple[dict[str, str], Context]:
    whole = {name: numbered(name, 400) for name in "ab"}
    chunks = [chunk for name, text in whole.items() for chunk in split(name, text, size=500, overlap=100)]
    return whole, assemble(hits_of(chunks))


def test_a_source_is_not_split_again():
    """LlamaIndex CitationQueryEngine: re-splits, at 512 tokens."""
    whole, context = two_long_sources()
    assert min(count(text) for text in whole.values()) > 512
    assert [passage.document_id for passage in context.passages] == ["a", "b"]


def test_a_source_has_one_number():
    """LlamaIndex CitationQueryEngine: re-numbers, so that a source has several."""
    _, context = two_long_sources()
    assert [(citation.label, citation.document_id) for citation in context.citations] == [("1", "a"), ("2", "b")]
    assert [block.text.split()[0] for block in context.blocks] == ["[1]", "[2]"]


def test_overlap_is_not_added_again():
    """LlamaIndex CitationQueryEngine: re-adds overlap."""
    whole, context = two_long_sources()
    assert [passage.text for passage in context.passages] == list(whole.values())
