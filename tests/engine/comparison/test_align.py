"""Sentences of several contexts side by side."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from builders import hits_of
from ctxassembly import AssemblyConfig, Chunk, Context, assemble
from ctxassembly.comparison.align import align_columns, align_documents, passage_sentences, sentences_by_document
from pages import assembled

SAID = ("Drink water. ", "Eat nothing. ", "Then rest. ", "Call the ward. ")


def context(*texts: str, document_id: str = "a") -> Context:
    chunks = [Chunk(f"{document_id}#{n}", document_id, text, index=2 * n) for n, text in enumerate(texts)]
    return assemble(hits_of(chunks), AssemblyConfig(dedup="none", min_overlap_chars=500))


@given(st.lists(st.lists(st.sampled_from("abcdefg"), max_size=30), min_size=1, max_size=4))
def test_every_entry_stands_once_in_its_column_in_its_order_beside_its_equals(columns):
    rows = align_columns(columns)
    for nth, column in enumerate(columns):
        assert [row[nth] for row in rows if row[nth] is not None] == list(range(len(column)))
    for row in rows:
        assert len({column[place] for column, place in zip(columns, row, strict=True) if place is not None}) == 1


def test_the_sentences_of_a_passage_are_its_text():
    for config in ({}, {"max_tokens": 120}, {"granularity": "sentence", "max_tokens": 150}):
        for passage in assembled(**config).passages:
            assert "".join(one.text for one in passage_sentences(passage)) == passage.text


def test_a_sentence_names_the_chunk_in_which_it_begins():
    found = sentences_by_document(context("Drink water. Eat", "nothing. Rest."))["a"]
    assert [(one.normalized.removeprefix("[...] "), one.chunk_id) for one in found] == [
        ("Drink water.", "a#0"),
        ("Eat", "a#0"),
        ("nothing.", "a#1"),
        ("Rest.", "a#1"),
    ]


def test_a_gap_before_a_sentence_makes_no_difference():
    whole = context("Drink water.\nEat nothing.\nThen rest.")
    gapped = context("Drink water.", "Then rest.")
    assert "[...]" in gapped.text
    (row,) = align_documents([whole, gapped])
    assert [band.is_shared for band in row.rows] == [True, False, True]


def test_what_both_lack_of_each_other_stands_side_by_side():
    (row,) = align_documents([context("One. Two. Four."), context("One. Three. Four.")])
    words = [tuple(" ".join(one.normalized for one in cell) for cell in band.cells) for band in row.rows]
    assert words == [("One.", "One."), ("Two.", "Three."), ("Four.", "Four.")]


def test_documents_are_compared_with_themselves_alone():
    rows = list(align_documents([context("One.", document_id="a"), context("One.", document_id="b")]))
    assert [(row.document_id, [band.is_shared for band in row.rows]) for row in rows] == [
        ("a", [False]),
        ("b", [False]),
    ]
