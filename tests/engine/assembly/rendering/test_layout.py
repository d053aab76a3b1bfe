from __future__ import annotations

import random

import pytest

from builders import candidate_of, cited, hits_of, standing, words_of
from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore, assemble
from ctxassembly.assembly.rendering.layout import Layout, empty_layout
from ctxassembly.assembly.rendering.measure import Typesetter
from ctxassembly.assembly.selection.shorten import truncate
from ctxassembly.data.candidates import HeaderDetail
from ctxassembly.tokens.counter import counter_for

CHUNKS = {f"{name}{n}": words_of(name, n) for name in "ABC" for n in range(10)}


def ids(names: str) -> list[Chunk]:
    return [CHUNKS[name] for name in names.split()]


def test_before_a5_b2_a6_c1_after_a5_a6_b2_c1():
    """Citations [1]=A [2]=B [3]=C, built after ordering."""
    context = assemble(hits_of(ids("A5 B2 A6 C1")))
    assert standing(context) == ["A5", "A6", "B2", "C1"]
    assert [(citation.label, citation.document_id) for citation in context.citations] == [
        ("1", "A"),
        ("2", "B"),
        ("3", "C"),
    ]
    assert [block.text.split(" ")[0] for block in context.blocks] == ["[1]", "[2]", "[3]"]


@pytest.mark.parametrize(
    ("rule", "hits", "scores", "order"),
    [
        ("documents by their best hit, best first", "B2 A5 C1", [0.9, 0.8, 0.7], "B2 A5 C1"),
        ("by document, by index", "A6 A2 A9", [0.9, 0.8, 0.7], "A2 A6 A9"),
        ("by their best hit: a late second hit lifts nothing", "B2 A5 C1 A6", [0.9, 0.8, 0.7, 0.6], "B2 A5 A6 C1"),
        ("a reranker's order stands even if old scores disagree", "C1 B2 A5", [0.1, 0.5, 0.9], "C1 B2 A5"),
        ("a reranker's order stands even if old scores are missing", "C1 B2 A5", [None, None, None], "C1 B2 A5"),
        ("... or missing here and there", "C1 B2 A5", [None, 0.9, None], "C1 B2 A5"),
        ("mixed score scales", "C1 B2 A5", [0.3, 87.0, -4.0], "C1 B2 A5"),
        ("odd scores", "C1 B2 A5", [float("nan"), float("inf"), -1.0], "C1 B2 A5"),
        ("ties are stable", "C1 A5 B2", [0.5, 0.5, 0.5], "C1 A5 B2"),
        ("ties are stable", "B2 C1 A5", [0.5, 0.5, 0.5], "B2 C1 A5"),
    ],
)
def test_the_order_handed_in_decides(rule: str, hits: str, scores: list[float | None], order: str):
    assert standing(assemble(hits_of(ids(hits), *scores))) == order.split()


def test_a_score_below_its_neighbors_never_re_sorts():
    """B's second hit scores far below the neighbors of A's; what was fetched lifts no document either."""
    hits = hits_of(ids("B2 A5 B8"), 0.6, 0.9, 0.01)
    context = assemble(hits, store=MemoryStore(CHUNKS.values()))
    assert standing(context) == ["B1", "B2", "B3", "B7", "B8", "B9", "A4", "A5", "A6"]


def test_the_best_hit_of_a_document_decides_even_if_its_index_is_late():
    context = assemble(hits_of(ids("A9 B1 A0")))
    assert standing(context) == ["A0", "A9", "B1"]
    assert context.citations[0].best_chunk_id == "A9"


def test_documents_are_ordered_by_the_hits_that_the_budget_left():
    """A's best hit does not fit, so what stands of A is a worse hit than B's."""
    long = Chunk("A0", "A", "word " * 200, index=0)
    context = assemble(hits_of([CHUNKS["C1"], long, CHUNKS["B1"], CHUNKS["A5"]]), AssemblyConfig(max_tokens=90))
    assert standing(context) == ["C1", "B1", "A5"]


def test_chunks_without_an_index_stay_as_handed_in():
    chunks = [Chunk(name, "A", f"Text of {name}.") for name in ("third", "first", "second")]
    assert standing(assemble(hits_of(chunks))) == ["third", "first", "second"]


def test_offsets_order_chunks_without_an_index():
    chunks = [Chunk(f"at{start}", "A", f"Text at {start}.", start=start) for start in (900, 0, 300)]
    assert standing(assemble(hits_of(chunks))) == ["at0", "at300", "at900"]


@pytest.mark.parametrize(
    ("rule", "cite", "labels"),
    [
        (
            "cite='document': a document's passages stay together",
            "document",
            [("1", ("A1", "A2", "A7")), ("2", ("B2",))],
        ),
        ("with 'passage' each has its own label", "passage", [("1", ("A1", "A2")), ("2", ("A7",)), ("3", ("B2",))]),
        ("or 'chunk'", "chunk", [("1", ("A1",)), ("2", ("A2",)), ("3", ("A7",)), ("4", ("B2",))]),
    ],
)
def test_what_has_a_label_of_its_own(rule: str, cite: str, labels: list[tuple[str, tuple[str, ...]]]):
    assert cited(assemble(hits_of(ids("A7 B2 A1 A2")), AssemblyConfig(cite=cite))) == labels  # type: ignore[arg-type]


def test_a_document_cited_by_the_best_of_its_chunks():
    context = assemble([Hit(CHUNKS["A7"], 0.9), Hit(CHUNKS["A1"], 0.95)], AssemblyConfig(cite="document"))
    (citation,) = context.citations
    assert (citation.best_chunk_id, citation.score) == ("A7", 0.9)


@pytest.mark.parametrize("order", ["documents", "relevance"])
@pytest.mark.parametrize("summary", ["", "On A."])
def test_a_beginning_of_nothing_but_blanks_has_no_label(summary: str, order: str):
    """The cut of a text is tried from its first character on."""
    hit = Hit(Chunk("a", "A", " / ", metadata={"page_summary": summary}))
    context = assemble([hit], AssemblyConfig(max_tokens=1, cite="chunk", order=order))  # type: ignore[arg-type]
    assert context.text == "/"


@pytest.mark.parametrize("encoding", ["cl100k_base", len])
@pytest.mark.parametrize("order", ["documents", "edges"])
def test_a_layout_is_a_value(encoding: str, order: str):
    """Whatever is asked of it and grown from it, it is what it was; and it grows alike however often."""
    config = AssemblyConfig(max_tokens=400, encoding=encoding, cite="passage", order=order)  # type: ignore[arg-type]
    candidates = [candidate_of(chunk, rank, position=chunk.index) for rank, chunk in enumerate(overlapping(0))]

    def state(layout: Layout) -> object:
        parts = [[part.text for part in block] for block in layout.blocks()]
        return layout.token_count, layout.is_empty, [layout.has_candidate(each) for each in candidates], parts

    grown = [empty_layout(config, counter_for(encoding))]
    known = [state(grown[0])]
    for candidate in candidates:
        grown.append(grown[-1].with_candidates([candidate]))
        known.append(state(grown[-1]))
        assert grown[-2].token_count_with([candidate]) == grown[-1].token_count
    for at, candidate in enumerate(candidates):
        assert state(grown[at]) == known[at]
        assert grown[at].token_count_with(candidates[at:]) == grown[-1].token_count
        assert state(grown[at].with_candidates([candidate])) == known[at + 1]


# Each is one token, with the blank before it: here the lower bound is the count.
SHORT_WORDS = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "for",
    "on",
    "with",
    "by",
    "at",
    "from",
    "up",
    "about",
    "into",
    "over",
    "after",
    "under",
    "new",
    "old",
    "day",
    "way",
    "man",
    "year",
]


def overlapping(seed: int) -> list[Chunk]:
    """The shuffled chunks of two documents: they share half of their words with the next one, or are part of it."""
    draw = random.Random(seed)
    chunks = []
    for name in "AB":
        said = [draw.choice(SHORT_WORDS) for _ in range(200)]
        spans = [(20 * n, 20 * n + 40) for n in range(6)]
        spans[3:3] = [(45, 75), (42, 78)] if name == "A" else [(65, 95)]
        chunks += [
            Chunk(f"{name}{n}", name, " ".join(said[slice(*span)]), n, metadata={"source": f"{name}.txt", "page": n})
            for n, span in enumerate(spans)
        ]
    draw.shuffle(chunks)
    return chunks


@pytest.mark.parametrize("cite", ["document", "passage", "chunk"])
@pytest.mark.parametrize("order", ["documents", "edges"])
@pytest.mark.parametrize("seed", range(3))
def test_at_no_budget_is_left_out_what_would_fit(cite: str, order: str, seed: int, monkeypatch: pytest.MonkeyPatch):
    """Token by token, beside a layout that foresees nothing: a gap is filled, pages close up, chunks are contained."""
    hits = hits_of(overlapping(seed))
    foreseen = []

    def texts() -> list[str]:
        configs = (AssemblyConfig(max_tokens=limit, cite=cite, order=order) for limit in range(30, 330, 4))
        return [assemble(hits, config).text for config in configs]

    def may_fit(layout: Layout, candidates: object, *level: HeaderDetail) -> bool:
        foreseen.append(unpatched(layout, candidates, *level))
        return True

    unpatched, expected = Layout.might_fit, texts()
    monkeypatch.setattr(Layout, "might_fit", may_fit)
    assert texts() == expected
    assert foreseen.count(False) > 10, "and something is foreseen"


def test_of_many_documents_only_those_are_looked_at_that_prove_that_they_do_not_fit():
    chunks = [Chunk(f"{n}{i}", str(n), " ".join(SHORT_WORDS), i) for n in range(50) for i in range(2)]
    candidates = [candidate_of(chunk, rank, position=chunk.index) for rank, chunk in enumerate(chunks)]
    compared: list[tuple[Chunk, Chunk]] = []
    config, counter = AssemblyConfig(max_tokens=3 * len(SHORT_WORDS)), counter_for("cl100k_base")
    layout = empty_layout(config, counter, get_join=lambda first, second, _: compared.append((first, second)))
    assert not layout.might_fit(candidates)
    assert 0 < len(compared) < 8
    assert layout.might_fit(candidates[:2])


def test_a_beginning_that_is_sure_to_be_too_long_is_not_laid_out(monkeypatch: pytest.MonkeyPatch):
    """A hit that doesn't fit is tried sentence by sentence: most of that needs no rendering."""
    said = (SHORT_WORDS, [word.title() for word in SHORT_WORDS])
    texts = [" ".join(f"The word {word} is said." for word in words) for words in said]
    first, second = (candidate_of(Chunk(f"A{n}", "A", text, n), n, position=n) for n, text in enumerate(texts))
    layout = empty_layout(AssemblyConfig(max_tokens=80), counter_for("cl100k_base"))
    layout = layout.with_candidates([truncate(first, 100, "budget")])
    laid_out = []
    changed = Typesetter.changed_groups
    monkeypatch.setattr(Typesetter, "changed_groups", lambda *args: laid_out.append(args) or changed(*args))
    assert not layout.fits([truncate(second, 500, "budget")])
    assert not laid_out
    assert layout.fits([truncate(second, 100, "budget")])
    assert laid_out


def test_a_beginning_without_room_for_its_header_is_not_laid_out(monkeypatch: pytest.MonkeyPatch):
    """A few tokens are left: another document needs more for its header, whatever of its text would fit."""
    texts = ("The word is said. " * 16, "Said. " * 200)
    first, second = (
        candidate_of(Chunk(f"{n}", f"{n}", text, 0, metadata={"source": "a-long-name-of-a-report.pdf"}), n)
        for n, text in enumerate(texts)
    )
    layout = empty_layout(AssemblyConfig(max_tokens=100), counter_for("cl100k_base")).with_candidates([first])
    laid_out = []
    changed = Typesetter.changed_groups
    monkeypatch.setattr(Typesetter, "changed_groups", lambda *args: laid_out.append(args) or changed(*args))
    assert 3 < layout.max_tokens - layout.token_count < 12, "room for a sentence"
    assert not layout.fits([truncate(second, 5, "budget")])
    assert not laid_out
