"""What is a copy, and what only shares an id, an index, a hash, a section or a meaning with another text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adapter_doors import Door
from ctxassembly import AssemblyConfig, Chunk, MemoryStore
from ctxassembly.errors import ConfigError

pytestmark = [
    pytest.mark.filterwarnings("ignore::ctxassembly.errors.FilterNotSeenWarning"),
    pytest.mark.filterwarnings("ignore::ctxassembly.errors.NothingToJoinWarning"),
]
SEMANTIC = AssemblyConfig(dedup="semantic")
DRINKING = [
    Chunk(name, name, text)
    for name, text in (
        ("water", "You may drink water."),
        ("park", "The car park is open."),
        ("drink", "Drinking is allowed."),
    )
]


def about_drinking(texts: list[str]) -> list[list[float]]:
    return [[1.0, 0.0] if "rink" in text else [0.0, 1.0] for text in texts]


def test_embeddings_collapse_what_means_the_same(door: Door) -> None:
    asked: list[str] = []
    model = door.embeddings(lambda texts: asked.extend(texts) or about_drinking(texts))  # type: ignore[func-returns-value]
    read = door.read(DRINKING, config=SEMANTIC, embeddings=model)
    assert [block.id for block in read.blocks] == ["water", "park"]
    (dropped,) = [each for each in read.trace["decisions"] if each["outcome"] == "duplicate"]
    assert (dropped["chunk_id"], dropped["reason"], dropped["because_of"]) == ("drink", "semantic duplicate", "water")
    assert asked == [chunk.text for chunk in DRINKING]
    assert len(door.read(DRINKING, config=SEMANTIC, embeddings=about_drinking).blocks) == 2


def test_numbers_that_differ_forbid_a_semantic_copy(door: Door) -> None:
    texts = {
        "two": "You may drink water until 2 hours before the gastroscopy.",
        "three": "Drinking is fine up to 3 hours ahead of the gastroscopy.",
        "again": "Drinking is fine up to 2 hours ahead of the gastroscopy.",
    }
    model = door.embeddings(lambda given: [[1.0, 0.0] if "water" in text else [0.8, 0.6] for text in given])
    config = AssemblyConfig(dedup="semantic", semantic_threshold=0.8)
    read = door.read([Chunk(name, name, text) for name, text in texts.items()], config=config, embeddings=model)
    assert [name for name, text in texts.items() if text in read.text] == ["two", "three"]


def test_what_can_not_embed_is_an_error(door: Door) -> None:
    with pytest.raises(ConfigError, match="embeddings must be "):
        door.make(embeddings="all-MiniLM-L6-v2")
    with pytest.raises(ConfigError, match="needs embeddings"):
        door.read(DRINKING, config=SEMANTIC)


SENTENCES = [
    f"A {thing} that was found on the grounds is kept at the lodge for {weeks} weeks, where its owner may claim it."
    for weeks, thing in enumerate(["coat", "purse", "ring", "hat", "scarf", "glove", "walking stick"], start=2)
]
OWN = {"park.txt": "The park is open until dusk. Dogs are kept on a leash.", "pool.txt": "Music is not allowed there."}


def shared_section() -> list[Chunk]:
    """Two files that share a section, split at other places: no chunk is a copy of another one."""
    chunks = []
    for (name, own), size in zip(OWN.items(), (2, 3), strict=True):
        sentences, start = [own, *SENTENCES], 0
        for at in range(0, len(sentences), size):
            text = " ".join(sentences[at : at + size])
            chunks.append(Chunk(f"{name}#{at}", name, text, at // size, start))
            start += len(text) + 1
    return chunks


@pytest.mark.parametrize("dedup", ["exact", "near"])
def test_a_section_that_two_files_share_is_read_once_and_the_trace_says_where(door: Door, dedup: Any) -> None:
    read = door.read(shared_section(), "What of a lost ring?", config=AssemblyConfig(dedup=dedup, order="documents"))
    assert {sentence: read.text.count(sentence) for sentence in SENTENCES} == dict.fromkeys(SENTENCES, 1)
    assert all(own in read.text for own in OWN.values())
    assert all(sentence in read.blocks[0].text for sentence in SENTENCES)
    repeated = [each for each in read.trace["decisions"] if each["reason"] == "repeated"]
    assert repeated
    assert all(each["because_of"] in read.blocks[0].metadata["chunk_ids"] for each in repeated)


def test_switched_off_it_is_in_both(door: Door) -> None:
    read = door.read(shared_section(), config=AssemblyConfig(dedup="none"))
    assert all(read.text.count(sentence) == 2 for sentence in SENTENCES)


def test_two_collections_that_count_their_ids_from_0_lose_nothing(door: Door) -> None:
    texts = {
        "lease": ["The notice period is three months.", "Rent is paid in advance."],
        "gym": ["Membership ends after one month.", "Towels are free."],
    }
    chunks = [Chunk(str(at), name, text, at) for name, own in texts.items() for at, text in enumerate(own)]
    read = door.read(chunks, "How long is the notice?")
    assert all(chunk.text in read.text for chunk in chunks)
    assert [sorted(block.metadata["chunk_ids"]) for block in read.blocks] == [["0", "1"], ["0", "1"]]


def test_the_same_text_of_two_documents_is_read_once(door: Door) -> None:
    read = door.read([Chunk(name, name, "The notice period is three months.") for name in "01"])
    assert read.text.count("three months") == 1
    assert [each["outcome"] for each in read.trace["decisions"]] == ["kept", "duplicate"]


def test_a_hash_of_the_whole_file_makes_no_chunk_a_copy(door: Door) -> None:
    same = {"content_hash": "d41d8cd98f"}
    chunks = [Chunk(f"lease#{at}", "lease", f"Clause {at} is about the {at}.", at, metadata=same) for at in range(3)]
    read = door.read(chunks)
    assert all(chunk.text in read.text for chunk in chunks)


def test_pieces_that_a_splitter_gave_the_index_of_their_chunk_are_all_read(door: Door) -> None:
    pieces = [
        Chunk(f"{name}{at}", "A", f"Rule {name} {at} is kept by guard {at} of the {name}.", index)
        for index, name in ((0, "oak"), (5, "elm"))
        for at in range(3)
    ]
    read = door.read(pieces)
    assert all(piece.text in read.text for piece in pieces)
    assert [each["outcome"] for each in read.trace["decisions"]] == ["kept"] * 6
    assert any("two texts have index 0" in note for note in read.trace["notes"])


def test_neighbors_come_from_the_document_that_an_id_belongs_to(door: Door) -> None:
    """Both documents call their chunks "0" to "4"."""
    chunks = {
        name: [Chunk(str(at), name, f"{name} paragraph {at} is alone.", at) for at in range(5)]
        for name in ("lease", "gym")
    }
    store = MemoryStore([chunk for own in chunks.values() for chunk in own])
    read = door.read([chunks["lease"][1], chunks["gym"][2]], store=store, neighbors="unfiltered")
    for block, name, expected in zip(read.blocks, chunks, ([0, 1, 2], [1, 2, 3]), strict=True):
        assert [at for at, chunk in enumerate(chunks[name]) if chunk.text in block.text] == expected


def test_scores_are_those_of_the_text_that_is_cited(door: Door) -> None:
    lease, gym = Chunk("0", "lease", "Three months."), Chunk("0", "gym", "One month.")
    read = door.read_by(door.make(), [door.hit(lease, 0.9), door.hit(gym, 0.4)], "How long?")
    assert [block.metadata["scores"] for block in read.blocks] == [{"0": 0.9}, {"0": 0.4}]


def test_a_newer_text_under_the_same_id_is_another_chunk(door: Door) -> None:
    old = Chunk("0", "lease", "The notice is three months.", 0)
    read = door.read([old, replace(old, text="The rent is paid in advance.")])
    assert "three months" in read.text
    assert "in advance" in read.text


@pytest.mark.parametrize("count", [len, lambda text: 3 + len(text) // 3])
def test_what_is_read_fits_what_the_callers_tokenizer_counts(door: Door, count: Any) -> None:
    chunks = [Chunk(f"a#{at}", "a", f"Paragraph {at} of it. It says {at * 7}.", at) for at in range(6)]

    def read(max_tokens: int) -> str:
        found = door.read(chunks[::2], config=AssemblyConfig(encoding=count, max_tokens=max_tokens))
        assert count(found.text) <= max_tokens or not found.text
        assert not found.blocks or found.trace["token_count"] == count(found.text)
        return found.text

    whole = read(10_000)
    assert read(count(whole)) == whole
    assert 0 < len(read(count(whole) - 1)) < len(whole)
    for max_tokens in range(1, count(whole), 9):
        read(max_tokens)
