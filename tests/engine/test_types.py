"""Values are frozen, errors are one tree, and a context knows how it was written."""

from __future__ import annotations

import pickle
from dataclasses import fields
from typing import Any

import pytest

from builders import hits_of, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MetadataKeys, Trace, assemble, errors

CONTEXT = assemble([Hit(words_of("A", 1), 0.5)])


@pytest.mark.parametrize(
    "value",
    [
        *(words_of("A", 1), Hit(words_of("A", 1)), CONTEXT, CONTEXT.trace, CONTEXT.trace.decisions[0]),
        *(CONTEXT.citations[0], CONTEXT.provenance[0], CONTEXT.passages[0], CONTEXT.blocks[0]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_everything_is_frozen_and_slotted(value: Any):
    name = value._fields[0] if isinstance(value, tuple) else fields(value)[0].name
    with pytest.raises(AttributeError):
        setattr(value, name, None)
    assert not hasattr(value, "__dict__")


def test_chunks_are_hashable_whatever_their_metadata():
    assert len({Chunk("a", "A", "t", metadata={"x": []}), Chunk("a", "A", "t", metadata={"x": []})}) == 1


@pytest.mark.parametrize(
    ("trace", "summary"),
    [
        (
            Trace(),
            (
                "0 -> 0 chunks, 0 overlapping characters stripped, 0 documents dropped for budget, "
                "assembled: 0 of 0 tokens, 0 queries"
            ),
        ),
        (
            Trace(
                hits=8,
                chunks=17,
                documents_dropped=1,
                hit_counts=(1_627,),
                token_count=1_480,
                max_tokens=2_000,
                round_trips=1,
            ),
            (
                "8 -> 17 chunks, 0 overlapping characters stripped, 1 document dropped for budget, "
                "8 hits joined: 1,627 tokens; assembled: 1,480 of 2,000 tokens, 1 query"
            ),
        ),
    ],
)
def test_the_summary_is_one_line(trace: Trace, summary: str):
    assert trace.summary == summary


def test_a_context_knows_how_it_was_written():
    keys = MetadataKeys(source="file")
    config = AssemblyConfig(format="xml", language="nl", keys=keys)
    context = assemble(hits_of([words_of("A", 0)]), config)
    assert (context.format, context.language, context.keys) == ("xml", "nl", keys)


@pytest.mark.parametrize(
    ("form", "labeled"),
    [("numbered", True), ("source", True), ("xml", True), ("minimal", False), ("grouped", False), ("custom", False)],
)
def test_labels_are_shown_by_some_formats(form: str, labeled: bool):
    assert Context("text", 1, format=form).has_labels is labeled


def test_a_context_without_room_for_a_header_is_minimal():
    hits = hits_of([words_of("A", 0)])
    tiny = assemble(hits, AssemblyConfig(max_tokens=3))
    assert tiny.format == "minimal"
    assert tiny.text == assemble(hits, AssemblyConfig(max_tokens=3, format="minimal")).text


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name.endswith("Error")])
def test_one_tree(name: str):
    assert issubclass(getattr(errors, name), errors.CtxAssemblyError)


def test_the_tree_is_drawn_whole():
    assert errors.__doc__
    assert all(name in errors.__doc__ for name in errors.__all__)


def test_a_config_error_names_parameter_range_and_value():
    error = errors.ConfigError("window", "an integer from 0 to 3", 4)
    assert (str(error), error.parameter) == ("window must be an integer from 0 to 3, got 4", "window")


def test_a_long_value_is_shown_by_its_beginning():
    """A whole tokenizer, for one, in place of a function that counts."""
    error = errors.ConfigError("encoding", "a function", ["token"] * 1_000)
    assert str(error).startswith("encoding must be a function, got ['token', 'token', ")
    assert len(str(error)) < 250


def test_errors_can_be_pickled():
    error = pickle.loads(pickle.dumps(errors.ConfigError("window", "an integer", "x")))
    assert (str(error), error.parameter) == ("window must be an integer, got 'x'", "window")
    answer = pickle.loads(pickle.dumps(errors.AnswerError("nothing", "half")))
    assert (str(answer), answer.partial) == ("nothing", "half")
