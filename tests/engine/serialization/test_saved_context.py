"""A context as plain data, and back."""

from __future__ import annotations

import datetime as dt
import json
import math
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings

from builders import count, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, assemble
from ctxassembly.data.trace import Trace
from ctxassembly.errors import InputError
from ctxassembly.serialization import to_plain
from ctxassembly.wording.unicode import make_encodable
from strategies import Retrieval, assembled, retrievals

TEXT = "Parking is free on Sundays. The desk opens at nine. Bring a card. " * 6
CHUNKS = [Chunk(f"A{n}", "A", f"{TEXT}{n}", index=n, metadata={"source": "a.pdf", "page": n}) for n in range(6)]
CONTEXT = assemble(
    [Hit(CHUNKS[2], 0.9), Hit(words_of("B", 0)), Hit(CHUNKS[2], 0.5)],
    AssemblyConfig(max_tokens=150),
    query="When does the desk open?",
    store=MemoryStore(CHUNKS),
    supplement="Facts.",
)


def again(context: Context) -> Context:
    return Context.from_dict(json.loads(json.dumps(context.to_dict(), allow_nan=False)))


def test_a_context_comes_back_whole():
    back = again(CONTEXT)
    for each in fields(Context):
        assert getattr(back, each.name) == getattr(CONTEXT, each.name), each.name
    assert back == CONTEXT
    assert back.trace.stages[0].elapsed_ms == CONTEXT.trace.stages[0].elapsed_ms
    assert back.sources() == CONTEXT.sources()
    assert back.resolve("It is [1] and [9].") == CONTEXT.resolve("It is [1] and [9].")
    assert back.check_quotes('"The desk opens at nine" [1]') == CONTEXT.check_quotes('"The desk opens at nine" [1]')
    assert back.to_html() == CONTEXT.to_html()
    assert back.to_messages("When?") == CONTEXT.to_messages("When?")
    assert back.blocks[0].citation is back.citations[0]
    assert again(back).to_dict() == CONTEXT.to_dict()


@given(retrievals())
@settings(max_examples=60)
def test_so_does_every_context(case: Retrieval):
    context = assembled(case)
    back = again(context)
    assert back.to_dict() == context.to_dict()
    assert back.text == context.text
    assert back.provenance == context.provenance
    assert [each.text for each in back.passages] == [make_encodable(each.text) for each in context.passages]
    assert [each.text for each in back.blocks] == [each.text for each in context.blocks]
    assert back.trace == context.trace


def test_what_is_said_of_a_chunk_often_has_its_text_once():
    filler = [f"Room {n} holds item {n * 7} of the {n}th collection." for n in range(40)]
    opens = "The desk in the hall of the building opens at nine on all working days."
    text = " ".join([opens, *filler[:20], "The desk opens later on Sundays.", *filler[20:]])
    config = AssemblyConfig(max_tokens=80, granularity="sentence")
    context = assemble([Hit(Chunk("a", "A", text))], config, query="When does the desk open on Sundays?")
    assert len([piece for passage in context.passages for piece in passage.pieces]) > 1
    assert json.dumps(context.to_dict()).count(filler[30]) == 1
    assert again(context) == context


def test_odd_values_in_metadata_stand_as_text():
    odd = {"source": "a.pdf", "page": 3, "when": dt.date(2024, 1, 2), "share": math.inf, "box": (1, 2), "no": None}
    context = assemble([Hit(Chunk("a", "A", "Text.", metadata=odd, vector=[0.5]), math.inf)])
    back = again(context)
    (citation,) = back.citations
    assert citation.metadata == {**odd, "when": "2024-01-02", "share": "inf", "box": [1, 2]}
    assert (citation.page, citation.pages) == (3, (3,))
    assert back.sources() == context.sources()
    assert back.passages[0].pieces[0].candidate.chunk.vector is None


def test_a_function_that_counts_is_left_behind():
    context = assemble([Hit(CHUNKS[0])], AssemblyConfig(encoding=count, format=lambda heading: "x"))
    assert again(context).encoding is None
    assert again(context).format == "custom"


def test_a_saved_trace_without_a_figure_says_nothing_of_it():
    """As one does that was saved before there was this figure: nothing else of it changes."""
    assert CONTEXT.trace.hit_tokens == count("\n\n".join(hit.chunk.text for hit in CONTEXT.hits))
    saved = CONTEXT.to_dict()
    del saved["trace"]["hit_counts"]
    older = Context.from_dict(saved)
    assert older == replace(CONTEXT, trace=replace(CONTEXT.trace, hit_counts=()))
    assert "joined" not in older.trace.summary + older.to_html()


def test_a_context_is_its_own():
    assert Context.from_dict(CONTEXT) is CONTEXT


@pytest.mark.parametrize("data", [None, 3, "text", {}, {"text": "x"}, [], {**CONTEXT.to_dict(), "passages": {}}])
def test_anything_else_is_an_error(data: object):
    with pytest.raises(InputError, match=r"as Context.to_dict\(\) gave it"):
        Context.from_dict(data)  # type: ignore[arg-type]


def test_what_is_made_by_hand_stays_as_it_is():
    assert Context("text", 1).trace == Trace()
    assert again(Context("text", 1)) == Context("text", 1)


@pytest.mark.parametrize(
    ("rule", "value", "copy"),
    [
        ("builtins stay", [None, True, 1, 0.5, "a"], [None, True, 1, 0.5, "a"]),
        ("tuples and sets are lists", ((1, 2), {3}), [[1, 2], [3]]),
        ("keys are strings", {1: {"a": (2,)}}, {"1": {"a": [2]}}),
        ("any mapping", MappingProxyType({"a": 1}), {"a": 1}),
        ("anything else stands as its str", dt.date(2024, 1, 2), "2024-01-02"),
        ("a class is no instance", Chunk, str(Chunk)),
    ],
)
def test_plain(rule: str, value: Any, copy: Any):
    assert to_plain(value) == copy
