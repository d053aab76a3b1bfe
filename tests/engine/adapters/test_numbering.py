"""Chunks as splitters leave them: numbered per source, what is right kept, what contradicts refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore, MetadataKeys, assemble, number_chunks, uuid_of
from ctxassembly.errors import InputError

RANDOM = "7f9c24e8-3b12-4b64-9e6d-2f9f6b1c0a55"


def of(*texts: str, source: str = "a.pdf", **metadata: Any) -> list[Chunk]:
    return [Chunk("", "", text, metadata={"source": source, **metadata}) for text in texts]


def paged(*pages: Any, key: str = "page") -> list[Chunk]:
    return [Chunk("", "", f"Text {at}.", metadata={"source": "a.pdf", key: page}) for at, page in enumerate(pages)]


def ids(chunks: list[Chunk]) -> list[str]:
    return [chunk.id for chunk in chunks]


def test_chunks_are_numbered_per_source_across_pages():
    chunks = [*paged(0, 0, 1), *of("B zero.", "B one.", source="b.txt"), *paged(2)]
    numbered = number_chunks(chunks)
    assert ids(numbered) == ["a.pdf#0", "a.pdf#1", "a.pdf#2", "b.txt#0", "b.txt#1", "a.pdf#3"]
    assert [(chunk.document_id, chunk.index) for chunk in numbered[-2:]] == [("b.txt", 1), ("a.pdf", 3)]
    assert numbered == number_chunks(numbered)
    assert chunks[0].index is None


def test_then_they_have_neighbors():
    numbered = number_chunks(paged(0, 0, 1))
    context = assemble([Hit(numbered[1])], AssemblyConfig(neighbors="unfiltered"), store=MemoryStore(numbered))
    assert context.citations[0].chunk_ids == ("a.pdf#0", "a.pdf#1", "a.pdf#2")
    assert context.trace.missing is None


def test_what_is_right_stays():
    given = [
        Chunk("mine", "D", "Zero.", index=0),
        Chunk(RANDOM, "D", "One.", index=1),
        Chunk("", "D", "Two."),
        Chunk("", "D", "Nine.", index=9),
    ]
    numbered = number_chunks(given)
    assert ids(numbered) == ["mine", "D#1", "D#2", "D#9"]
    assert [chunk.index for chunk in numbered] == [0, 1, 2, 9]
    shuffled = [Chunk("", "D", f"Text {at}.", index=at) for at in (3, 1, 2)]
    assert [chunk.index for chunk in number_chunks(shuffled)] == [3, 1, 2]


@pytest.mark.parametrize(("value", "index"), [("7", 7), (7.0, 7), ("7.0", 7), (0, 0)])
def test_an_index_is_read_however_it_is_kept(value: Any, index: int):
    assert number_chunks([Chunk("", "D", "Text.", index=value)])[0].index == index


def test_links_follow_the_ids_that_change():
    other = RANDOM.replace("7f9c", "8f9c")
    first = Chunk(RANDOM, "D", "Zero.", next_id=other)
    numbered = number_chunks([first, Chunk(other, "D", "One.", prev_id=RANDOM, next_id="kept")])
    assert [(chunk.prev_id, chunk.next_id) for chunk in numbered] == [(None, "D#1"), ("D#0", "kept")]


def test_an_id_may_be_made_in_any_way_and_is_the_same_each_time():
    (first,), (second,) = (number_chunks([Chunk("", "D", "Text.")], id_of=uuid_of) for _ in range(2))
    assert first.id == second.id == uuid_of("D", 0) != uuid_of("D", 1)
    assert number_chunks([first], id_of=uuid_of) == [first]


def test_a_document_may_be_named_for_those_that_name_none():
    assert ids(number_chunks([Chunk("", "", "Zero."), *of("One.")], document_id="handbook")) == [
        "handbook#0",
        "a.pdf#0",
    ]
    keys = MetadataKeys(document_id="file")
    assert ids(number_chunks([Chunk("", "", "Zero.", metadata={"file": "x"})], keys=keys)) == ["x#0"]


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ([Chunk("", "", "Text.")], r"chunk 0 has neither 'document_id' nor 'source' .* document_id='handbook'"),
        (
            [Chunk("", "D", "One half.", index=3), Chunk("", "D", "The other.", index=3)],
            r"two texts of document 'D' have index 3: .* delete metadata\['chunk_index'\] before it splits",
        ),
        ([Chunk("", "D", "One."), Chunk("", "D", "Zero.", index=0)], "no room for them"),
        ([Chunk("", "D", "Text.", index=-1)], "index -1 in document 'D' is not a whole number from 0"),  # type: ignore[arg-type]
        ([Chunk("", "D", "Text.", index="first")], "index 'first'"),  # type: ignore[arg-type]
        ([Chunk("", "D", "Text.", index=True)], "index True"),
        (paged(0, 1, 0, 1), "page 0 of document 'a.pdf' comes after page 1: .* reading order, each once"),
        ([Chunk("0", "D", "Zero."), Chunk("0", "E", "Zero.")], "chunks 0 and 1 have the id '0' but differ"),
        (
            [*of("One.", file_path="/in/a.pdf"), *of("Two.", file_path="/out/a.pdf")],
            r"two files are called 'a.pdf', '/in/a.pdf' and '/out/a.pdf': .*MetadataKeys\(document_id='file_path'\)",
        ),
        (["text"], "chunks must be a sequence of Chunk, got 'text' at place 0; .* from langchain_ctxassembly or"),
    ],
)
def test_what_contradicts_is_refused_with_what_to_do(chunks: Any, message: str):
    with pytest.raises(InputError, match=message):
        number_chunks(chunks)


def test_page_labels_begin_anew_and_say_nothing_of_the_order():
    assert len(number_chunks(paged("iv", "1", "2", "1", key="page_label"))) == 4
    assert number_chunks([]) == []


def overlaps(chunks: list[Chunk]) -> list[Any]:
    return [chunk.metadata["overlap_chars"] for chunk in number_chunks(chunks)]


YEARS = [f"In year {year} the weavers of the valley paid {year * 7} bales of wool." for year in range(10)]
WINDOWS = [" ".join(YEARS[at : at + 3]) for at in range(0, 8, 2)]
"""Three sentences each, of which the last is the first of the next."""


def test_an_overlap_is_recorded_and_stripped_and_so_is_that_there_is_none():
    chunks = of(*WINDOWS)
    numbered = number_chunks(chunks)
    assert overlaps(chunks) == [0, *(len(YEARS[at]) for at in (2, 4, 6))]
    assert chunks[1].metadata == {"source": "a.pdf"}
    assert numbered == number_chunks(numbered)
    context = assemble([Hit(chunk) for chunk in numbered])
    assert context.text.endswith(" ".join(YEARS[:9]))
    assert context.trace.stripped_chars == sum(overlaps(chunks))


@pytest.mark.parametrize(
    ("rule", "first", "second"),
    [
        ("an opposite", "The old limit was 50", "50 is not allowed any more"),
        ("a part of a word that ends", "They weave in", "n wool."),
        ("a part of a word that begins", "They weave in", "inside."),
        ("a rule of a table", "| wool |", "| silk |"),
        ("a row that is there twice", "Ward 3, 12 beds", "Ward 3, 12 beds\nWard 4, 9 beds"),
        ("a heading and its first word", "License: MIT", "License: MIT applies"),
        ("a number of a heading", "<h1>Lift 2</h1>", "<p>2 lifts are new.</p>"),
        ("two letters of a script without spaces", "\u4ed6\u4eec\u4ed8\u7f8a\u6bdb", "\u7f8a\u6bdb\u5f88\u8d35\u3002"),
        ("nothing", "They came.", "Nobody knows why."),
    ],
)
def test_a_few_characters_of_one_pair_are_an_accident(rule: str, first: str, second: str):
    assert overlaps(of(first, second)) == [0, 0]


def test_offsets_prove_an_overlap_of_any_length_unless_they_are_wrong():
    first, second = of("The weavers came. They paid", "They paid in wool.")
    assert overlaps([replace(first, start=0), replace(second, start=18)]) == [0, 9]
    assert overlaps([replace(first, start=0), replace(second, start=-1)]) == [0, 0]
    assert overlaps([replace(first, start=0), replace(second, start=40)]) == [0, 0]


def test_pages_rows_and_documents_share_nothing():
    for one, other in (({"page": 1}, {"page": 2}), ({"row": 1}, {"row": 2}), ({}, {"source": "b.pdf"})):
        chunks = [chunk for at, text in enumerate(WINDOWS) for chunk in of(text[:90], **(other if at % 2 else one))]
        assert not any(overlaps(sorted(chunks, key=lambda chunk: str(sorted(chunk.metadata.items())))))


def test_one_likeness_among_many_chunks_is_an_accident():
    apart = [f"Sentence {at} of many." for at in range(30)]
    refrain = "Everybody washes their hands at the door."
    assert not any(overlaps(of(f"Come in. {refrain}", f"{refrain} Then sit down.", *apart)))
    assert overlaps(of(f"Come in. {refrain}", f"{refrain} Then sit down."))[1] == len(refrain)
