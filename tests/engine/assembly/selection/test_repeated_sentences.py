"""What stands in a better-ranked passage isn't said again."""

from __future__ import annotations

import random
from typing import Any

import pytest

from builders import count, decision, hits_of, split, standing
from ctxassembly import AssemblyConfig, Chunk, Context, MemoryStore, assemble
from test_scaling import WORDS

SHARED = (
    "The archive is open to all who carry a reader's card. "
    "Cards are issued on the ground floor and are valid for a year. "
    "Maps may be looked at under supervision only."
)
OWN = {name: f"Of the {name} wing nothing else is known to anybody." for name in ("north", "south", "west")}


def chunk(name: str, text: str, **metadata: Any) -> Chunk:
    return Chunk(f"{name}0", name, text, index=0, metadata={"source": f"{name}.txt", **metadata})


def own_and_shared(name: str, shared: str = SHARED, **metadata: Any) -> Chunk:
    return chunk(name, f"{OWN[name]} {shared} Come to the {name} wing.", **metadata)


def once(chunks: list[Chunk], query: str | None = None, **options: Any) -> Context:
    config = AssemblyConfig(**options)
    context = assemble(hits_of(chunks), config, query=query)
    assert context.token_count == count(context.text) <= config.token_limit
    return context


def test_the_trace_says_in_which_chunk_it_stands():
    context = once([own_and_shared("south"), own_and_shared("north")])
    told = decision(context, "north0")
    assert (told.outcome, told.reason, told.because_of) == ("cut", "repeated", "south0")
    assert told.shortened is not None
    assert told.shortened.tokens_before == count(own_and_shared("north").text)
    assert told.shortened.tokens_after < told.shortened.tokens_before
    assert context.citations[1].shortened == (told.shortened,)


def test_a_chunk_of_which_nothing_else_is_left_is_a_duplicate_of_the_one_that_has_it():
    context = once([own_and_shared("south"), chunk("copy", f"{SHARED}\n")])
    assert standing(context) == ["south0"]
    told = decision(context, "copy0")
    assert (told.outcome, told.reason, told.because_of) == ("duplicate", "repeated", "south0")
    assert context.trace.documents_dropped == 0
    assert context.trace.excluded == ()


def test_borders_of_chunks_hide_nothing():
    """Neither has a chunk that another one has, and each splits the section elsewhere."""
    text = {name: f"{OWN[name]} {SHARED} Come to the {name} wing." for name in ("south", "north")}
    chunks = [*split("S", text["south"], size=70), *split("N", text["north"], size=93, overlap=20)]
    context = once(chunks)
    assert context.text.count("Cards are issued") == context.text.count("under supervision") == 1
    assert all(OWN[name] in context.text for name in text)
    assert {each.because_of for each in context.trace.decisions if each.reason == "repeated"} <= {"S0", "S1", "S2"}


@pytest.mark.parametrize(
    ("what", "shared"),
    [
        ("a list", "\n\n- " + SHARED.replace(". ", ".\n- ") + "\n\n"),
        ("numbered items", "\n\n1. " + SHARED.replace(". ", ".\n2. ") + "\n\n"),
        ("a table", "\n\n| rule |\n|---|\n| " + SHARED.replace(". ", ". |\n| ") + " |\n\n"),
        ("code", "\n\n```\n" + SHARED.replace(". ", ".\n") + "\n```\n\n"),
        ("headings", "\n\n" + "\n\n".join(f"## All of chapter {n} on the archive" for n in range(9)) + "\n\n"),
        ("a short sentence", "Maps may be looked at under supervision only."),
    ],
)
def test_tables_lists_code_headings_and_short_sentences_stay(what: str, shared: str):
    chunks = [own_and_shared("south", shared), own_and_shared("north", shared)]
    assert once(chunks).text == once(chunks, dedup="none").text


def test_what_one_passage_says_twice_its_author_says_twice():
    chunks = [chunk("south", f"{SHARED}\n\n{OWN['south']}\n\n{SHARED}"), own_and_shared("north", "")]
    assert once(chunks).text.count(SHARED) == 2


def test_what_has_to_stand_whole_loses_nothing():
    chunks = [own_and_shared("south"), own_and_shared("north", keep_whole=True), own_and_shared("west")]
    context = once(chunks)
    assert chunks[1].text in context.text
    assert decision(context, "north0").outcome == "kept"
    assert decision(context, "west0").reason == "repeated"


@pytest.mark.parametrize("options", [{"dedup_sentences": False}, {"dedup": "none"}, {"enabled": False}])
def test_where_duplicates_or_documents_stay_as_they_are_so_do_sentences(options: dict[str, Any]):
    assert once([own_and_shared("south"), own_and_shared("north")], **options).text.count(SHARED) == 2


@pytest.mark.parametrize("query", [None, "Who may use the archive?"])
@pytest.mark.parametrize("lead", ["Who may come", "Note:", "archive.open(card)", "## Access"])
def test_a_line_above_text_that_is_read_elsewhere_below_the_same_line_goes_with_it(lead: str, query: str | None):
    """Alone it leads to nothing."""
    chunks = [own_and_shared(name, f"\n\n{lead}\n\n   {SHARED}\n\n") for name in ("south", "north")]
    text = once(chunks, query).text
    assert text.count(lead) == text.count(SHARED) == 1
    assert all(said in text for said in OWN.values() if "west" not in said)


@pytest.mark.parametrize("query", [None, "Who may use the archive?"])
def test_a_line_that_the_better_one_does_not_have_stays(query: str | None):
    chunks = [own_and_shared(name, f"\n\n## {name}\n\n{SHARED}\n\n") for name in ("south", "north")]
    text = once(chunks, query).text
    assert text.count(SHARED) == text.count("## south") == text.count("## north") == 1


@pytest.mark.parametrize("seed", range(25))
def test_every_sentence_stands_once_and_none_is_lost(seed: int):
    """Documents of sections that several have, split anywhere."""
    draw = random.Random(seed)
    sections = [
        " ".join(f"{' '.join(draw.choices(WORDS, k=9)).capitalize()} {n} {m}." for m in range(draw.randint(1, 5)))
        for n in range(8)
    ]
    chunks, texts = [], ""
    for name in "ABCDE":
        text = "\n\n".join(draw.sample(sections, 4))
        texts += text
        chunks += split(name, text, size=draw.randint(90, 300), overlap=draw.choice([0, 30]))
    hits = draw.sample(chunks, len(chunks))
    for limit in (150, 300, 8_000):
        for query in (None, "amber and marsh"):
            config = AssemblyConfig(max_tokens=limit, fill=True, order="documents")
            context = assemble(hits_of(hits), config, query=query, store=MemoryStore(chunks))
            assert context.token_count == count(context.text) <= limit
            assert {each.chunk_id for each in context.trace.decisions} == {each.id for each in chunks}
    said = [each for section in sections for each in section.split(". ") if len(section) >= 100]
    retrieved = {
        each for each in said if any(each in " ".join(h.text for h in hits if h.document_id == d) for d in "ABCDE")
    }
    assert all(context.text.count(each) >= 1 for each in retrieved)
    assert all(context.text.count(section) == 1 for section in sections if len(section) >= 100 and section in texts)
