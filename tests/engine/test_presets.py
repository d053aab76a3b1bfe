from __future__ import annotations

from dataclasses import replace

import pytest

from builders import hits_of, numbered, words_of
from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore, assemble, presets
from ctxassembly.errors import ConfigError
from ctxassembly.presets import BY_USE
from strategies import words


def paged(document_id: str, n: int, length: int = 30) -> Chunk:
    """Chunk `n` of a document, on a page of its own, two places from the next one."""
    text = numbered(f"{document_id}{n}.", length)
    return Chunk(f"{document_id}{n}", document_id, text, index=2 * n, metadata={"source": f"{document_id}.pdf"})


FIVE = [Hit(paged(name, 0), score) for name, score in zip("CABED", (0.9, 0.8, 0.7, 0.6, 0.5), strict=True)]
READ = ["C", "A", "B", "E", "D"]


def documents_of(config: AssemblyConfig, hits: list[Hit], query: str | None = None) -> list[str]:
    return [citation.document_id for citation in assemble(hits, config, query=query).citations]


@pytest.mark.parametrize(
    ("use", "order"),
    [
        ("five_stage", READ),
        ("voice", READ),
        ("source_blocks", READ),
        ("citation_heavy", READ),
        ("conversational", READ),
        ("factual_qa", ["C", "B", "D", "E", "A"]),
        ("tight_budget", ["C", "B", "D", "E", "A"]),
        ("summarisation", ["A", "B", "C", "D", "E"]),
        ("bookend", ["C", "B", "E", "D", "A"]),
    ],
)
def test_each_reads_in_its_order(use: str, order: list[str]):
    config = replace(AssemblyConfig.for_use(use), dedup="exact")  # "bookend" needs vectors, which say nothing here
    assert documents_of(config, FIVE) == order


@pytest.mark.parametrize(
    ("use", "header"),
    [
        ("five_stage", "[1] Source: C.pdf\n"),
        ("voice", "C0."),
        ("source_blocks", "[SOURCE 1] C.pdf\n"),
        ("citation_heavy", "[1] Source: C.pdf\n"),
        ("conversational", "C0."),
        ("factual_qa", '<chunk index="1" source="C.pdf" score="0.900">\n'),
        ("tight_budget", '<chunk index="1" source="C.pdf" score="0.900">\n'),
        ("summarisation", "## A.pdf\n"),
        ("bookend", "[1] Source: C.pdf\n"),
    ],
)
def test_each_is_written_in_its_format(use: str, header: str):
    config = replace(AssemblyConfig.for_use(use), dedup="exact")
    assert assemble(FIVE, config).text.startswith(header)


@pytest.mark.parametrize("use", BY_USE)
def test_only_the_five_stage_rule_expands(use: str):
    stored = [words_of("A", n) for n in range(3)]
    store = MemoryStore(stored)
    assemble(hits_of(stored[1:2]), replace(AssemblyConfig.for_use(use), dedup="exact"), store=store)
    assert store.round_trips == (use in ("five_stage", "voice"))


def test_five_stage_is_the_published_rule():
    preset = presets.FIVE_STAGE
    assert (preset.window, preset.neighbour_decay, preset.max_tokens) == (1, 0.5, 8_000)
    assert (preset.granularity, preset.min_overlap_chars, preset.encoding) == ("document", 20, "cl100k_base")


def test_source_blocks_stop_at_the_first_block_that_would_pass_24_000_characters():
    # 24,000 characters: two blocks of about 10,000 fit, the third doesn't, and the short one after it isn't tried.
    texts = {name: f"{name} " * 5_000 for name in "ABC"} | {"D": "short"}
    hits = hits_of([Chunk(name, name, text.strip()) for name, text in texts.items()])
    context = assemble(hits, presets.SOURCE_BLOCKS)
    assert [citation.document_id for citation in context.citations] == ["A", "B"]
    assert len(context.text) <= 24_000
    assert [each.chunk_id for each in context.trace.left_out] == ["C", "D"]
    assert "20,038 of 24,000 characters" in context.trace.summary


def test_source_blocks_give_every_chunk_a_label_and_leave_the_count_to_the_characters():
    hits = hits_of([words_of("A", 0), words_of("A", 1)])
    assert [citation.chunk_ids for citation in assemble(hits, presets.SOURCE_BLOCKS).citations] == [("A0",), ("A1",)]
    faces = Chunk("f", "F", "\U0001f9d1\u200d\U0001f680" * 7_900)  # 23,700 characters, far more tokens
    context = assemble(hits_of([faces]), presets.SOURCE_BLOCKS)
    assert context.trace.decisions[0].outcome == "kept"
    assert context.token_count > 24_000


@pytest.mark.parametrize("use", ["factual_qa", "summarisation", "citation_heavy", "conversational", "tight_budget"])
def test_the_pipeline_drops_short_chunks_and_cuts_the_last_one_under_pressure_alone(use: str):
    text = " ".join(f"Sentence {n} of this document has exactly ten words altogether." for n in range(20))
    short = Chunk("s", "S", "Too short to say much.", index=0)
    long = Chunk("l", "L", text, index=0)
    config = replace(AssemblyConfig.for_use(use), encoding=words)
    relaxed = assemble(hits_of([short, long]), config)
    assert {each.outcome for each in relaxed.trace.decisions} == {"kept"}
    pressed = assemble(hits_of([short, long]), replace(config, max_tokens=120))
    outcome = "compressed" if use in ("summarisation", "tight_budget") else "cut"
    assert [each.outcome for each in pressed.trace.decisions] == ["dropped", outcome]
    assert pressed.trace.decisions[0].reason == "too short"


def test_tight_budgets_keep_the_sentences_that_answer():
    filler = [f"Sentence {n} of this leaflet tells you nothing that is new to you." for n in range(20)]
    filler[15] = "Stop taking blood thinners five days before the biopsy."
    hits = hits_of([Chunk("a", "A", " ".join(filler))])
    query = "When must I stop with blood thinners before a biopsy?"
    context = assemble(hits, replace(presets.TIGHT_BUDGET, max_tokens=80), query=query)
    assert filler[15] in context.text
    assert filler[15] not in assemble(hits, replace(presets.FACTUAL_QA, max_tokens=80), query=query).text


def test_bookend_collapses_what_means_the_same_and_cuts_long_chunks_under_pressure():
    same = [Chunk("a", "A", "The first wording.", vector=(1.0, 0.0)), Chunk("b", "B", "Another.", vector=(0.99, 0.01))]
    other = Chunk("c", "C", "Something else.", vector=(0.0, 1.0))
    decisions = assemble(hits_of([*same, other]), presets.BOOKEND).trace.decisions
    assert [each.outcome for each in decisions] == ["kept", "duplicate", "kept"]
    apart = [tuple(float(n == m) for m in range(10)) for n in range(10)]
    long = Chunk("l", "L", "It is a long story. " * 700, vector=apart[9])
    others = [Chunk(f"o{n}", f"O{n}", f"Number {n}. " * 1_000, vector=apart[n]) for n in range(9)]
    context = assemble(hits_of([long, *others]), presets.BOOKEND)
    shortened = next(each for each in context.trace.shortened if each.chunk_id == "l")
    assert shortened.by == "max_chunk_tokens"
    assert shortened.tokens_after <= 2_000 < shortened.tokens_before


def test_bookend_compresses_long_chunks_instead_of_keeping_their_beginning():
    apart = [tuple(float(n == m) for m in range(20)) for n in range(20)]
    story = [f"It is a long story that has no end in part {n}." for n in range(300)]
    story[200] = "Stop taking blood thinners five days before the biopsy."
    long = Chunk("l", "L", " ".join(story), vector=apart[19])
    others = [Chunk(f"o{n}", f"O{n}", f"Number {n}. " * 500, vector=apart[n]) for n in range(19)]
    question = "When must I stop with blood thinners before a biopsy?"
    context = assemble(hits_of([long, *others]), presets.BOOKEND, query=question)
    assert story[200] in context.text
    assert {each.chunk_id: each.by for each in context.trace.shortened}["l"] == "max_chunk_tokens"


def test_bookend_lets_go_what_has_a_negative_score_where_not_everything_fits():
    config = replace(presets.BOOKEND, dedup="exact", max_tokens=300)
    hits = [Hit(paged("A", 0, 20), 0.4), Hit(paged("B", 0, 20), -0.1), Hit(paged("C", 0, 150), 0.0)]
    reasons = {each.chunk_id: each.reason for each in assemble(hits, config).trace.left_out}
    assert reasons["B0"] == "below the relevance floor"
    assert "A0" not in reasons


def test_voice_shows_no_labels_and_asks_for_none():
    context = assemble(FIVE, presets.VOICE)
    assert not context.labelled
    assert "Write no reference marks." in context.to_messages("What?")[0]["content"]
    assert [reference.source for reference in context.sources()] == [f"{name}.pdf" for name in READ]


def test_for_use_finds_each_by_its_name_and_an_unknown_one_names_the_choices():
    for use, preset in BY_USE.items():
        assert AssemblyConfig.for_use(use) is preset is getattr(presets, use.upper())
    with pytest.raises(ConfigError, match=r"use must be one of 'five_stage', .*'tight_budget', got 'qa'"):
        AssemblyConfig.for_use("qa")


def test_none_is_forgotten():
    named = {name for name in vars(presets) if name.isupper() and isinstance(getattr(presets, name), AssemblyConfig)}
    assert {use.upper() for use in BY_USE} == named - {"_PIPELINE"}
