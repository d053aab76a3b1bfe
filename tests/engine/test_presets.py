from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from builders import hits_of, numbered, words_of
from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore, Supplement, assemble, presets
from ctxassembly.errors import ConfigError
from ctxassembly.presets import BY_USE, PUBLISHED
from strategies import words


def paged(document_id: str, n: int, length: int = 30) -> Chunk:
    """Chunk `n` of a document, on a page of its own, two places from the next one."""
    text = numbered(f"{document_id}{n}.", length)
    return Chunk(f"{document_id}{n}", document_id, text, index=2 * n, metadata={"source": f"{document_id}.pdf"})


FIVE = [Hit(paged(name, 0), score) for name, score in zip("CABED", (0.9, 0.8, 0.7, 0.6, 0.5), strict=True)]
READ = ["C", "A", "B", "E", "D"]
ENDS = ["C", "B", "D", "E", "A"]
BY_NAME = ["A", "B", "C", "D", "E"]
ALL = BY_USE | PUBLISHED
PIPELINE = [name for name in PUBLISHED if name.startswith("PUBLISHED_") and name != "PUBLISHED_VOICE"]


def documents_of(config: AssemblyConfig, hits: list[Hit], query: str | None = None) -> list[str]:
    return [citation.document_id for citation in assemble(hits, config, query=query).citations]


@pytest.mark.parametrize(
    ("name", "order"),
    [
        ("voice", READ),
        ("citation_heavy", READ),
        ("conversational", READ),
        ("factual_qa", ENDS),
        ("tight_budget", READ),
        ("summarization", BY_NAME),
        ("FIVE_STAGE", READ),
        ("PUBLISHED_VOICE", READ),
        ("SOURCE_BLOCKS", READ),
        ("BOOKEND", ["C", "B", "E", "D", "A"]),
        ("PUBLISHED_CITATION_HEAVY", READ),
        ("PUBLISHED_CONVERSATIONAL", READ),
        ("PUBLISHED_FACTUAL_QA", ENDS),
        ("PUBLISHED_TIGHT_BUDGET", ENDS),
        ("PUBLISHED_SUMMARIZATION", BY_NAME),
    ],
)
def test_each_reads_in_its_order(name: str, order: list[str]):
    config = replace(ALL[name], dedup="exact")  # BOOKEND needs vectors, which say nothing here
    assert documents_of(config, FIVE) == order


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("voice", "C0."),
        ("citation_heavy", "[1] Source: C.pdf\n"),
        ("conversational", "C0."),
        ("factual_qa", "[1] Source: C.pdf\n"),
        ("tight_budget", "C0."),
        ("summarization", "## A.pdf\n"),
        ("FIVE_STAGE", "[1] Source: C.pdf\n"),
        ("PUBLISHED_VOICE", "C0."),
        ("SOURCE_BLOCKS", "[SOURCE 1] C.pdf\n"),
        ("BOOKEND", "[1] Source: C.pdf\n"),
        ("PUBLISHED_CITATION_HEAVY", "[1] Source: C.pdf\n"),
        ("PUBLISHED_CONVERSATIONAL", "C0."),
        ("PUBLISHED_FACTUAL_QA", '<chunk index="1" source="C.pdf" score="0.900">\n'),
        ("PUBLISHED_TIGHT_BUDGET", '<chunk index="1" source="C.pdf" score="0.900">\n'),
        ("PUBLISHED_SUMMARIZATION", "## A.pdf\n"),
    ],
)
def test_each_is_written_in_its_format(name: str, header: str):
    config = replace(ALL[name], dedup="exact")
    assert assemble(FIVE, config).text.startswith(header)


@pytest.mark.parametrize("name", PUBLISHED)
def test_of_the_published_rules_only_the_five_stage_rule_expands(name: str):
    stored = [words_of("A", n) for n in range(3)]
    store = MemoryStore(stored)
    assemble(hits_of(stored[1:2]), replace(PUBLISHED[name], dedup="exact"), store=store)
    assert store.round_trips == (name in ("FIVE_STAGE", "PUBLISHED_VOICE"))


@pytest.mark.parametrize("use", BY_USE)
def test_a_use_differs_from_the_default_in_what_is_written_and_how_much_alone(use: str):
    preset, default = AssemblyConfig.for_use(use), AssemblyConfig()
    assert replace(preset, format=default.format, order=default.order, cite=default.cite) == {
        "summarization": AssemblyConfig(fill=True),
        "concise": AssemblyConfig(min_relevance=preset.min_relevance),
    }.get(use, default)
    assert (preset.min_relevance > default.min_relevance) == (use == "concise")


def test_five_stage_is_the_published_rule():
    preset = presets.FIVE_STAGE
    assert (preset.window, preset.neighbor_decay, preset.max_tokens) == (1, 0.5, 8_000)
    assert (preset.granularity, preset.min_overlap_chars, preset.encoding) == ("document", 20, "cl100k_base")


@pytest.mark.parametrize("name", ["FIVE_STAGE", "PUBLISHED_VOICE"])
@pytest.mark.parametrize(
    ("rule", "gate", "supplement", "is_added"),
    [
        ("suppresses the supplement unless its gate opens", {}, "The hall seats 90.", False),
        ("the gate opens below its score", {"supplement_threshold": 0.95}, "The hall seats 90.", True),
        ("the gate stays closed from its score on", {"supplement_threshold": 0.9}, "The hall seats 90.", False),
        (
            "the gate opens by the query",
            {"supplement_threshold": lambda query, score: True},
            "The hall seats 90.",
            True,
        ),
        ("the caller forces it", {}, Supplement("The hall seats 90.", force=True), True),
    ],
)
def test_five_stage_suppresses_the_supplement_unless_its_gate_opens(
    name: str, rule: str, gate: dict[str, Any], supplement: str | Supplement, is_added: bool
):
    config = pickle.loads(pickle.dumps(PUBLISHED[name]))
    context = assemble(FIVE, replace(config, **gate), supplement=supplement)
    assert bool(context.supplement) is is_added
    assert any(note.startswith("supplement: suppressed") for note in context.trace.notes) is not is_added


@pytest.mark.parametrize("hits", [[], [Hit(paged("A", 0))]])
def test_five_stage_suppresses_the_supplement_without_a_score_too(hits: list[Hit]):
    assert not assemble(hits, presets.FIVE_STAGE, supplement="The hall seats 90.").supplement


@pytest.mark.parametrize("name", [name for name in ALL if name not in ("FIVE_STAGE", "PUBLISHED_VOICE")])
def test_all_others_add_the_supplement(name: str):
    config = replace(ALL[name], dedup="exact")
    assert assemble(FIVE, config, supplement="The hall seats 90.").supplement


def test_source_blocks_stop_at_the_first_block_that_would_pass_24_000_characters():
    # 24,000 characters: two blocks of about 10,000 fit, the third doesn't, and the short one after it isn't tried.
    texts = {name: f"{name} " * 5_000 for name in "ABC"} | {"D": "short"}
    hits = hits_of([Chunk(name, name, text.strip()) for name, text in texts.items()])
    context = assemble(hits, presets.SOURCE_BLOCKS)
    assert [citation.document_id for citation in context.citations] == ["A", "B"]
    assert len(context.text) <= 24_000
    assert [each.chunk_id for each in context.trace.excluded] == ["C", "D"]
    assert "20,038 of 24,000 characters" in context.trace.summary


@pytest.mark.parametrize("has_offsets", [True, False])
def test_source_blocks_render_chunks_verbatim(has_offsets: bool):
    """Published: each chunk is written as it is, also where the next chunk repeats its end, or all of it."""
    shared = "The second sentence is in both of the chunks."
    texts = [f"The first sentence. {shared}", f"{shared} The third sentence.", f"{shared} The third sentence."]
    starts = [0, texts[0].index(shared), None] if has_offsets else [None] * 3
    places = [("A", 0), ("A", 1), ("B", 0)]
    hits = hits_of(
        [Chunk(f"{name}{n}", name, texts[at], n, start=starts[at]) for at, (name, n) in enumerate(places)],
        0.9,
        0.8,
        0.7,
    )
    context = assemble(hits, presets.SOURCE_BLOCKS, query="What is in the third sentence?")
    blocks = [f"[SOURCE {at}] unknown\n{text}" for at, text in enumerate(texts, 1)]
    assert context.text == "\n\n".join(blocks)
    assert [citation.chunk_ids for citation in context.citations] == [("A0",), ("A1",), ("B0",)]
    assert [context.text[slice(*source.span)] for source in context.provenance] == texts
    assert [decision.outcome for decision in context.trace.decisions] == ["kept"] * 3


@pytest.mark.parametrize(
    ("settings", "note"),
    [
        ({}, None),
        ({"order": "edges"}, "order='edges'"),
        ({"window": 1}, "window=1"),
        ({"window": 2, "order": "reverse"}, "window=2 and order='reverse'"),
        ({"dedup": "near", "compress": "extractive"}, "dedup='near' and compress='extractive'"),
        ({"order": "edges", "window": 1, "enabled": True}, None),
    ],
)
def test_source_blocks_note_what_they_are_written_without(settings: dict[str, Any], note: str | None):
    """Chunks are rendered verbatim and by rank; a setting that asks for something else isn't ignored in silence."""
    stored = [words_of("A", n) for n in range(3)]
    context = assemble(
        hits_of(stored[1:2]), replace(presets.SOURCE_BLOCKS, **settings), query="?", store=MemoryStore(stored)
    )
    found = [found for found in context.trace.notes if found.startswith("enabled=False")]
    assert found == ([f"enabled=False: hits are written as they came, without {note}"] if note else [])


def test_source_blocks_give_every_chunk_a_label_and_leave_the_count_to_the_characters():
    hits = hits_of([words_of("A", 0), words_of("A", 1)])
    assert [citation.chunk_ids for citation in assemble(hits, presets.SOURCE_BLOCKS).citations] == [("A0",), ("A1",)]
    faces = Chunk("f", "F", "\U0001f9d1\u200d\U0001f680" * 7_900)  # 23,700 characters, far more tokens
    context = assemble(hits_of([faces]), presets.SOURCE_BLOCKS)
    assert context.trace.decisions[0].outcome == "kept"
    assert context.token_count > 24_000


@pytest.mark.parametrize("name", PIPELINE)
def test_the_pipeline_drops_short_chunks_and_cuts_the_last_one_under_pressure_alone(name: str):
    text = " ".join(f"Sentence {n} of this document has exactly ten words altogether." for n in range(20))
    short = Chunk("s", "S", "Too short to say much.", index=0)
    long = Chunk("l", "L", text, index=0)
    config = replace(PUBLISHED[name], encoding=words)
    relaxed = assemble(hits_of([short, long]), config)
    assert {each.outcome for each in relaxed.trace.decisions} == {"kept"}
    pressed = assemble(hits_of([short, long]), replace(config, max_tokens=120))
    outcome = "compressed" if name in ("PUBLISHED_SUMMARIZATION", "PUBLISHED_TIGHT_BUDGET") else "cut"
    assert [each.outcome for each in pressed.trace.decisions] == ["dropped", outcome]
    assert pressed.trace.decisions[0].reason == "too short"


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_pipeline_writes_a_rule_between_blocks(name: str):
    """Published: the pipeline separates its chunks by a line of three hyphens; the other rules by a blank line."""
    context = assemble(FIVE, replace(PUBLISHED[name], dedup="exact"))
    separator = "\n\n---\n\n" if name in PIPELINE else "\n\n"
    assert context.text == separator.join(block.text for block in context.blocks)
    assert ("---" in context.text) is (name in PIPELINE)


def test_tight_budgets_keep_the_sentences_that_answer():
    filler = [f"Sentence {n} of this leaflet tells you nothing that is new to you." for n in range(20)]
    filler[15] = "Stop taking blood thinners five days before the biopsy."
    hits = hits_of([Chunk("a", "A", " ".join(filler))])
    query = "When must I stop with blood thinners before a biopsy?"
    for preset in (presets.TIGHT_BUDGET, presets.PUBLISHED_TIGHT_BUDGET):
        assert filler[15] in assemble(hits, replace(preset, max_tokens=80), query=query).text
    assert filler[15] not in assemble(hits, replace(presets.PUBLISHED_FACTUAL_QA, max_tokens=80), query=query).text


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


def long_first() -> list[Hit]:
    """A chunk of some 7,000 tokens, of which one sentence answers `STOP_WHEN`, and what doesn't fit next to it."""
    apart = [tuple(float(n == m) for m in range(20)) for n in range(20)]
    story = [f"Chapter {n} tells of old ships with great sails." for n in range(600)]
    story[500] = STOP
    long = Chunk("l", "L", " ".join(story), vector=apart[19])
    return hits_of([long, *(Chunk(f"o{n}", f"O{n}", f"Number {n}. " * 500, vector=apart[n]) for n in range(19))])


STOP = "Stop taking blood thinners five days before any biopsy."
STOP_WHEN = "When must I stop blood thinners before my biopsy?"


def test_bookend_keeps_up_to_2000_tokens_of_a_long_chunk():
    """A chunk of 7,193 tokens keeps up to 2,000 of them, not 11: longer chunks are compressed to 2,000."""
    context = assemble(long_first(), presets.BOOKEND, query=STOP_WHEN)
    (shortened,) = (each for each in context.trace.shortened if each.chunk_id == "l")
    assert shortened.tokens_before > 6_000
    assert 1_900 < shortened.tokens_after <= 2_000
    assert STOP in context.text


LLM_BOOKEND = replace(presets.BOOKEND, compress="llm")


def test_bookend_asks_a_model_for_a_long_chunk():
    """With compress="llm" the model is asked for it: the whole chunk, of which its excerpt is kept."""
    prompts: list[str] = []

    def model(prompt: str) -> str:
        prompts.append(prompt)
        return STOP if "Chapter" in prompt else "IRRELEVANT"

    context = assemble(long_first(), LLM_BOOKEND, query=STOP_WHEN, llm=model)
    (prompt,) = (prompt for prompt in prompts if "Chapter" in prompt)
    assert "Chapter 0 " in prompt
    assert "Chapter 599 " in prompt
    (shortened,) = (each for each in context.trace.shortened if each.chunk_id == "l")
    assert (shortened.by, shortened.tokens_after) == ("llm", 11)
    assert "Chapter" not in context.text


@pytest.mark.parametrize(
    ("rule", "copied", "by"),
    [
        ("an excerpt that is too long is cut to 2,000 tokens, too", range(100, 600), "llm"),
        ("a copy of all of it is none", range(600), "max_chunk_tokens"),
        ("no answer: its best sentences", range(0), "max_chunk_tokens"),
        ("made up: its best sentences", range(700, 701), "max_chunk_tokens"),
    ],
)
def test_bookend_keeps_no_more_than_2000_tokens_of_what_a_model_copies(rule: str, copied: range, by: str):
    def model(prompt: str) -> str:
        lines = [f"Chapter {n} tells of old ships with great sails." for n in copied]
        lines = [STOP if n == 500 else line for n, line in zip(copied, lines, strict=True)]
        return "\n".join(lines) if "Chapter" in prompt else "IRRELEVANT"

    context = assemble(long_first(), LLM_BOOKEND, query=STOP_WHEN, llm=model)
    (shortened,) = (each for each in context.trace.shortened if each.chunk_id == "l")
    assert shortened.by == by, rule
    assert 1_900 < shortened.tokens_after <= 2_000


def test_bookend_drops_a_long_chunk_in_which_a_model_finds_nothing():
    context = assemble(
        long_first(),
        LLM_BOOKEND,
        query=STOP_WHEN,
        llm=lambda prompt: "IRRELEVANT" if "Chapter" in prompt else "Number",
    )
    assert {each.chunk_id: each.reason for each in context.trace.excluded}["l"] == "irrelevant"


def test_bookend_lets_go_what_has_a_negative_score_where_not_everything_fits():
    config = replace(presets.BOOKEND, dedup="exact", max_tokens=300)
    hits = [Hit(paged("A", 0, 20), 0.4), Hit(paged("B", 0, 20), -0.1), Hit(paged("C", 0, 150), 0.0)]
    reasons = {each.chunk_id: each.reason for each in assemble(hits, config).trace.excluded}
    assert reasons["B0"] == "below the relevance floor"
    assert "A0" not in reasons


def test_voice_shows_no_labels_and_asks_for_none():
    context = assemble(FIVE, presets.VOICE)
    assert not context.has_labels
    assert "Write no reference marks." in context.to_messages("What?")[0]["content"]
    assert [reference.source for reference in context.sources()] == [f"{name}.pdf" for name in READ]


def test_for_use_finds_each_by_its_name_and_an_unknown_one_names_the_choices():
    for use, preset in BY_USE.items():
        assert AssemblyConfig.for_use(use) == preset == getattr(presets, use.upper())
    with pytest.raises(ConfigError, match=r"use must be one of 'factual_qa', .*'concise', got 'qa'$"):
        AssemblyConfig.for_use("qa")


@pytest.mark.parametrize("rule", ["five_stage", "source_blocks", "bookend"])
def test_the_name_of_a_published_rule_is_answered_by_where_it_is(rule: str):
    with pytest.raises(ConfigError, match=rf"got '{rule}': write presets\.{rule.upper()} for the published rule$"):
        AssemblyConfig.for_use(rule)


def test_help_says_what_each_use_does():
    assert AssemblyConfig.for_use.__doc__
    assert all(f'"{use}"' in AssemblyConfig.for_use.__doc__ for use in BY_USE)


def test_none_is_forgotten():
    named = {name for name in vars(presets) if name.isupper() and isinstance(getattr(presets, name), AssemblyConfig)}
    assert {use.upper() for use in BY_USE} | set(PUBLISHED) == named - {"_PIPELINE"}
    assert all(getattr(presets, name) is rule for name, rule in PUBLISHED.items())


@pytest.mark.parametrize("rule", PUBLISHED)
def test_the_published_rules_know_nothing_of_sentences_that_stand_twice(rule: str):
    assert not PUBLISHED[rule].dedup_sentences
