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


WORDS = "The weavers came. They paid in wool. Nobody knows why. The looms went on all night. It was loud."


def overlaps(chunks: list[Chunk]) -> list[int]:
    return [chunk.metadata.get("overlap_chars", 0) for chunk in number_chunks(chunks)]


def test_a_short_overlap_is_recorded_and_stripped():
    chunks = of("The weavers came. They paid", "They paid in wool.", "Nobody knows why.")
    numbered = number_chunks(chunks)
    assert [chunk.metadata.get("overlap_chars") for chunk in numbered] == [None, 9, None]
    assert "overlap_chars" not in chunks[1].metadata
    assert numbered == number_chunks(numbered)
    context = assemble([Hit(chunk) for chunk in numbered])
    assert context.text.endswith("The weavers came. They paid in wool.\nNobody knows why.")
    assert context.trace.stripped_chars == 9


@pytest.mark.parametrize(
    ("rule", "first", "second", "recorded"),
    [
        ("whole words", "They came in", "in wool.", 2),
        ("with the marks around them", "They came. (In wool", "(In wool) they paid.", 8),
        ("no part of a word that ends", "They weave in", "n wool.", 0),
        ("no part of a word that begins", "They weave in", "inside.", 0),
        ("no marks alone", "| wool |", "| silk |", 0),
        ("two ways to match", "so so", "so so it was.", 0),
        ("two letters of a script without spaces", "他们来了付羊毛", "羊毛很贵。", 2),
        ("whatever the script of the word before", "重5公斤ABC羊毛", "羊毛很贵。", 2),
        ("no single letter of it", "他们来了付羊", "羊毛很贵。", 0),
        ("nor a single letter without its marks", "ปัจจุบัน", "นี้ทำให้", 0),
        ("a single letter between marks", "他们来了，付", "付，很贵。", 1),
        ("no part of a word next to it", "他们重5公斤AB羊", "AB羊毛很贵。", 3),
        ("what the texts show anyway", f"A. {WORDS}", f"{WORDS} Z.", 0),
        ("nothing", "They came.", "Nobody knows why.", 0),
    ],
)
def test_an_overlap_to_record_is_of_whole_words(rule: str, first: str, second: str, recorded: int):
    assert overlaps(of(first, second)) == [0, recorded]


def test_offsets_need_no_record_unless_they_are_wrong():
    first, second = of("The weavers came. They paid", "They paid in wool.")
    assert overlaps([replace(first, start=0), replace(second, start=18)]) == [0, 0]
    assert overlaps([replace(first, start=0), replace(second, start=-1)]) == [0, 9]
    assert overlaps([replace(first, start=0), replace(second, start="18")]) == [0, 9]


def test_pages_rows_and_documents_share_nothing():
    first, second = "Page of the weavers", "weavers and dyers"
    assert overlaps([*of(first, page=1), *of(second, page=2)]) == [0, 0]
    assert overlaps([*of(first, row=1), *of(second, row=2)]) == [0, 0]
    assert overlaps([*of(first), *of(second, source="b.pdf")]) == [0, 0]


def test_one_likeness_among_many_chunks_is_an_accident():
    apart = [f"Sentence {at} of many." for at in range(30)]
    assert sum(overlaps(of("They go after wool", "wool, they say, ended.", *apart))) == 0
    assert sum(overlaps(of("They go after wool", "wool, they say, ended."))) == 4
