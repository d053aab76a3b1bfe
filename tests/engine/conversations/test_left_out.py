"""Requests for what contexts left out: what they find, and what they answer if nothing matches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Chunk, Context, Conversation, Hit, MemoryStore, assemble
from ctxassembly.conversations.left_out import LeftOut, find_left_out, left_out_refs
from ctxassembly.wording.languages import LANGUAGES

WORDS = ("falcon", "ember", "willow", "harbor", "copper", "meadow")
WHOLE = AssemblyConfig(granularity="chunk", max_tokens=60)


def chunk(document: str, index: int, **metadata: Any) -> Chunk:
    text = f"The {WORDS[index]} of {document} is described in paragraph {index} of this report."
    place = {"source": f"{document}.pdf", "page": index + 1, **metadata}
    return Chunk(f"{document}#{index}", document, text, index, metadata=place)


HITS = [Hit(chunk(document, index)) for index in (0, 2, 4) for document in ("north", "south")]
CONTEXT = assemble(HITS, WHOLE)


def find(contexts: list[Context], dropped: Any = (), store: MemoryStore | None = None, **wanted: Any) -> LeftOut:
    """Ask a store with all chunks, as the tools do."""
    everything = [chunk(document, index) for document in ("north", "south") for index in range(6)]
    refs = left_out_refs([*contexts, *dropped])
    return find_left_out(contexts, (store or MemoryStore(everything)).fetch(refs), dropped=dropped, **wanted)


def ids(contexts: list[Context] | None = None, **wanted: Any) -> list[str]:
    return [hit.chunk.id for hit in find([CONTEXT] if contexts is None else contexts, **wanted).hits]


def test_the_context_has_room_for_two_hits() -> None:
    assert [one.outcome for one in CONTEXT.trace.decisions] == ["kept", "kept", *["dropped"] * 4]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"words": "willows"}, ["north#2", "south#2"]),
        ({"words": "the willow"}, ["north#2", "south#2"]),
        ({"words": "falcon"}, []),  # it was read
        ({"document": "North.pdf"}, ["north#2", "north#4"]),
        ({"document": "south"}, ["south#2", "south#4"]),
        ({"document": "north", "words": "willow copper"}, ["north#2", "north#4"]),
        ({"label": "[2]"}, ["south#0", "south#2"]),  # what is near the label: not the fifth page
        ({"label": "2", "words": "copper"}, ["south#0", "south#4"]),
        ({"label": "3"}, []),
    ],
)
def test_a_request_finds_what_matches_all_of_it(wanted: dict[str, str], found: list[str]) -> None:
    assert ids(**wanted) == found


def test_what_a_later_context_has_is_no_longer_left_out() -> None:
    later = assemble(find([CONTEXT], words="willow").hits, WHOLE)
    assert ids([CONTEXT, later], words="willow") == []
    assert ids([CONTEXT, later], words="copper") == ["north#4", "south#4"]


def test_a_chunk_of_which_only_a_part_was_read_is_left_out() -> None:
    text = " ".join(f"Rule {number} asks for {word}." for number, word in enumerate(WORDS * 4))
    context = assemble([Hit(Chunk("a", "a", text))], AssemblyConfig(max_tokens=30), query="willow")
    store = MemoryStore([Chunk("a", "a", text)])
    assert [hit.chunk.text for hit in find([context], store=store, words="copper").hits] == [text]


def test_all_of_a_context_that_was_dropped_is_left_out() -> None:
    found = find([], dropped=[CONTEXT], words="falcon")
    assert [hit.chunk.id for hit in found.hits] == ["north#0", "south#0"]
    assert find([], dropped=[CONTEXT], label="1").is_answered(assemble(HITS[:1]))


def test_a_context_restored_from_its_dict_has_left_out_the_same() -> None:
    assert ids([Context.from_dict(CONTEXT.to_dict())], words="willow") == ["north#2", "south#2"]


def test_text_around_a_label_has_to_be_new() -> None:
    around, conversation = find([CONTEXT], label="1"), Conversation().after(CONTEXT)
    config = around.config(WHOLE)
    assert config.window == 3
    alone = assemble(HITS[:1], config, conversation=conversation)
    near = assemble([HITS[0], Hit(chunk("north", 1))], config, conversation=conversation)
    assert not around.is_answered(alone)
    assert around.is_answered(near)
    assert near.text.startswith("[1] Source: north.pdf, page 2\n")  # the document keeps its label
    assert "falcon" not in near.text


def test_nothing_is_found_as_it_was_kept() -> None:
    """A long text, of which a context keeps the ends, comes whole from the store; what is gone there is gone."""
    long = Chunk("long", "long", "The copper. " + "A filler sentence of no use. " * 400)
    context = assemble([HITS[0], Hit(long)], WHOLE)
    changed = replace(long, text="The copper was written anew.")
    assert [hit.chunk for hit in find([context], store=MemoryStore([long]), words="copper").hits] == [long]
    assert [hit.chunk for hit in find([context], store=MemoryStore([changed]), words="copper").hits] == [changed]
    gone = find([context], store=MemoryStore([]), words="copper")
    assert (gone.hits, gone.reply) == ((), "Nothing that was left out matches.")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_request_without_a_match_is_answered_in_the_language(language: Any) -> None:
    context = assemble(HITS, AssemblyConfig(granularity="chunk", max_tokens=60, language=language))
    found = find([context], words="zebra")
    words = LANGUAGES[language]
    assert found.hits == ()
    assert found.reply.startswith(words.nothing_left_out + " ")
    assert "north.pdf" in found.reply
    assert found.reply == f"{words.nothing_left_out} {find([context]).reply}"


def test_a_reply_names_sources_and_pages_and_stays_short() -> None:
    many = [Hit(chunk(f"report-{number}-" + "x" * 300, 2)) for number in range(40)]
    store = MemoryStore([hit.chunk for hit in (*HITS, *many)])
    reply = find([assemble([*HITS, *many], WHOLE)], store=store, words="zebra").reply
    assert reply.startswith("Nothing that was left out matches. Left out and available: north.pdf, pages 3, 5; ")
    assert reply.endswith("; ...")
    assert len(reply) < 1_200


def test_there_may_be_nothing_left_out() -> None:
    nothing = "Nothing that was left out matches."
    assert find([], words="falcon").reply == nothing
    assert find([assemble(HITS)]).reply == nothing


def test_a_name_in_a_reply_is_sanitized_like_the_context() -> None:
    hostile = Hit(chunk("north", 2, source="web</s>.html"))
    config = AssemblyConfig(granularity="chunk", max_tokens=30, sanitize=True)
    store = MemoryStore([HITS[0].chunk, hostile.chunk])
    assert find([assemble([HITS[0], hostile], config)], store=store).reply.count("<\\/s>") == 1
