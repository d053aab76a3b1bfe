"""Labels over several contexts of one conversation."""

from __future__ import annotations

import itertools

import pytest

from builders import count, words_of
from ctxassembly import AssemblyConfig, Hit, assemble

HITS = [Hit(words_of(name, 0, metadata={"source": f"{name}.pdf"})) for name in "ABCDEFGHIJKL"]


@pytest.mark.parametrize("form", ["numbered", "source", "xml"])
def test_the_first_label_is_the_one_that_is_set(form: str):
    context = assemble(HITS[:3], AssemblyConfig(first_label=7, format=form))
    assert [each.label for each in context.citations] == ["7", "8", "9"]
    for block, label in zip(context.blocks, "789", strict=True):
        assert label in block.text.partition("\n")[0]
    assert [each.label for each in context.resolve("So [8], not [1].").citations] == ["8"]
    assert context.resolve("So [8], not [1].").unknown == ("1",)


@pytest.mark.parametrize("form", ["numbered", "source", "xml", lambda heading: f"({heading.number})"])
@pytest.mark.parametrize("first", [1, 5, 95, 998, 9_999, 99_995, 900_000])
def test_longer_numbers_are_counted(form: object, first: int):
    sizes = set()
    for limit in range(20, 400, 23):
        config = AssemblyConfig(first_label=first, format=form, max_tokens=limit)  # type: ignore[arg-type]
        context = assemble(HITS, config)
        assert context.token_count == count(context.text) <= limit
        sizes.add(len(context.citations))
        # What was left out would not have fitted: a number that is counted too long costs a source.
        if len(context.citations) < len(HITS):
            left_out = [hit for hit in HITS if hit.chunk.id not in {each.best_chunk_id for each in context.citations}]
            longer = AssemblyConfig(first_label=first, format=form)  # type: ignore[arg-type]
            for more in left_out:
                standing = [hit for hit in HITS if hit not in left_out or hit is more]
                assert assemble(standing, longer).token_count > limit
    assert len(sizes) > 3


def test_labels_go_on_in_every_order():
    orders = ["documents", "relevance", "edges", "interleaved", "document_order", "reverse", "stable"]
    for order, cite in itertools.product(orders, ["document", "passage", "chunk"]):
        context = assemble(HITS, AssemblyConfig(first_label=30, order=order, cite=cite))  # type: ignore[arg-type]
        assert [each.label for each in context.citations] == [str(number) for number in range(30, 42)]
