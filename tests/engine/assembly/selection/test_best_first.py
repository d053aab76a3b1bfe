"""order="auto": what answers the query best is read first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import count, hits_of, standing
from ctxassembly import AssemblyConfig, Chunk, Context, MemoryStore, assemble
from ctxassembly.config.assembly import Cite

QUERY = "When is ferritin measured?"
ANSWER = "Ferritin is measured in the morning, before breakfast."
SETTINGS = AssemblyConfig(order="auto", max_tokens=4_000, fill=True)


def filler(document: str, number: int) -> str:
    return f"In room {number} of {document} visitors wait for their doctor and read a newspaper of the week before."


def document(name: str, chunks: int, *, answer_in: int | None = None, **metadata: object) -> list[Chunk]:
    """A document of chunks of about 200 tokens; one of them has the answer in its middle."""
    made = []
    for at in range(chunks):
        sentences = [filler(name, 10 * at + number) for number in range(10)]
        if at == answer_in:
            sentences.insert(5, ANSWER)
        text = " ".join(sentences)
        made.append(Chunk(f"{name}{at}", name, text, index=at, metadata={"source": f"{name}.pdf", **metadata}))
    return made


def long_context(config: AssemblyConfig = SETTINGS, **metadata: object) -> Context:
    """A context of 16 chunks, all hits; the answer is in the fifth chunk of the second document."""
    hits = hits_of([*document("A", 8, **metadata), *document("B", 8, answer_in=4, **metadata)])
    return assemble(hits, config, query=QUERY, store=MemoryStore([]))


def test_the_best_sentences_come_first_under_a_label_of_their_document():
    context = long_context()
    assert ANSWER in context.blocks[0].text
    assert context.citations[0].document_id == "B"
    assert count(context.text.partition(ANSWER)[0]) < 220
    assert count(context.text) == context.token_count <= 4_000


def test_then_the_best_chunk_then_the_next_best_chunks_then_the_rest_each_in_reading_order():
    context = long_context()
    documents = [citation.document_id for citation in context.citations]
    assert documents[:2] == ["B", "B"]
    assert context.citations[1].chunk_ids == ("B4",)
    assert 3 <= len({*context.citations[2].chunk_ids, *context.citations[3].chunk_ids}) <= 5
    for block in context.blocks:
        text = block.text
        rooms = [int(word.split()[0]) for word in text.split("room ")[1:]]
        assert rooms == sorted(rooms)


def test_every_sentence_is_included_once():
    context, by_document = long_context(), long_context(replace(SETTINGS, order="documents"))
    assert sorted(standing(context)) != sorted(standing(by_document))  # some chunks are under two labels
    for name in "AB":
        for number in range(80):
            assert context.text.count(filler(name, number)) == by_document.text.count(filler(name, number)) == 1
    assert context.text.count(ANSWER) == 1


def test_a_table_is_read_whole_below_its_header_and_introduction():
    rows = "\n".join(f"| room {n} | {'ferritin measured' if n == 7 else 'visitors'} |" for n in range(30))
    table = f"These are the rooms:\n\n| room | what |\n|---|---|\n{rows}\n"
    chunks = [*document("A", 8), Chunk("T0", "T", table, index=0, metadata={"source": "T.pdf"}), *document("B", 8)]
    context = assemble(hits_of(chunks), SETTINGS, query=QUERY, store=MemoryStore([]))
    (block,) = [block.text for block in context.blocks if "| room 7 |" in block.text]
    assert table.strip() in block
    assert len([citation for citation in context.citations if citation.document_id == "T"]) == 1


def list_of(item: str, last: int) -> list[str]:
    return [item if n == 3 else f"- Chairs of kind {n} are in the room, for visitors who wait." for n in range(last)]


@pytest.mark.parametrize("cite", ["document", "passage"])
@pytest.mark.parametrize("in_next_chunk", [False, True])
def test_the_items_of_a_list_are_read_together_after_its_introduction(in_next_chunk: bool, cite: Cite):
    introduction, items = "These are the rules of the laboratory:", list_of(f"- {ANSWER}", 9)
    texts = [f"{introduction}\n\n" + "\n".join(items[:4]), "\n".join(items[4:])]
    texts = texts if in_next_chunk else ["\n".join(texts)]
    rules = [Chunk(f"L{at}", "L", text, index=at, metadata={"source": "L.pdf"}) for at, text in enumerate(texts)]
    chunks = [*document("A", 8), *rules, *document("B", 8)]
    context = assemble(hits_of(chunks), replace(SETTINGS, cite=cite), query=QUERY, store=MemoryStore([]))
    (block,) = [block.text for block in context.blocks if ANSWER in block.text]
    assert "\n".join([introduction, "", *items]) in block
    assert count(context.text) == context.token_count <= 4_000
