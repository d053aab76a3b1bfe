from __future__ import annotations

import copy
import pickle
import threading
import tracemalloc
from typing import Any

import pytest
from fuzz.odd import ODD, SLOW, Changing, RaisingMapping, circular_dict, circular_list, deep, laughs, numbers

from ctxassembly.data.sanitize import MAX_LEVELS, MAX_VALUES, copy_metadata, make_readable
from ctxassembly.safe_repr import safe_repr


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"source": "a.pdf", "page": 3, "score": 0.5, "draft": False, "author": None},
        {"nested": {"box": [1.5, 2.5], "of": ("a", {"b": [1, 2]})}, "tags": {"a", "b"}},
        {"date": ODD["date"](), "at": ODD["datetime"](), "id": ODD["UUID"](), "sum": ODD["Decimal"]()},
        {"color": ODD["enum"](), "named": ODD["text enum"](), "number": ODD["float32"]()},
    ],
    ids=["empty", "plain", "nested", "dates", "enums"],
)
def test_what_copies_is_as_it_was_and_noted_nowhere(metadata: dict[str, Any]):
    assert make_readable(metadata) == (metadata, ())
    assert copy_metadata(metadata) == metadata
    assert copy_metadata(metadata) is not metadata


def test_flat_metadata_are_not_copied_to_be_read():
    metadata = {"source": "a.pdf", "page": 3}
    assert make_readable(metadata)[0] is metadata


@pytest.mark.parametrize(
    ("rule", "value", "stands", "odd"),
    [
        ("a lock", threading.Lock(), "<unlocked _thread.lock object>", "can't be copied, replaced by its text"),
        ("a generator", numbers(), "<generator object numbers>", "can't be copied, replaced by its text"),
        ("a circle", circular_list(), [1, "..."], "refers to itself, cut there"),
        ("a circle", circular_dict(), {"a": 1, "self": {"again": "..."}}, "refers to itself, cut there"),
        ("a long integer", 10**5_000, "<int of 16,610 bits>", "is a number too long to write, replaced by its size"),
        (
            "in a list",
            [1, [threading.Lock()]],
            [1, ["<unlocked _thread.lock object>"]],
            "can't be copied, replaced by its text",
        ),
    ],
    ids=safe_repr,
)
def test_what_does_not_copy_stands_as_text_or_is_cut(rule: str, value: Any, stands: Any, odd: str):
    metadata, notes = make_readable({"source": "a.pdf", "odd": value})
    assert metadata == {"source": "a.pdf", "odd": stands}
    assert notes == (f"metadata 'odd': {odd}",)


def test_levels_and_values_have_an_end():
    metadata, notes = make_readable({"deep": deep()})
    assert repr(metadata).count("[") == MAX_LEVELS
    assert notes == (f"metadata 'deep': has more than {MAX_LEVELS} levels, cut there",)
    metadata, notes = make_readable({"many": laughs()})
    assert repr(metadata).count("[") <= MAX_VALUES
    assert notes == (f"metadata 'many': has more than {MAX_VALUES:,} values, cut there",)
    metadata, notes = make_readable(SLOW["endless"]())
    assert len(metadata) == MAX_VALUES
    assert notes == (f"metadata of Endless: has more than {MAX_VALUES:,} values, cut there",)


def test_keys_are_strings():
    metadata, notes = make_readable({1: "a", "1": "b", (1, 2): "c", ODD["enum"](): "d", "inside": {1: "e", None: "f"}})
    assert metadata == {"1": "b", "(1, 2)": "c", "Color.RED": "d", "inside": {1: "e", None: "f"}}
    assert notes == ("metadata '1', '(1, 2)', 'Color.RED': the key is no text, read as its text",)


def test_mappings_are_read_as_far_as_they_can_be():
    assert make_readable(RaisingMapping()) == (
        {"source": "breaks-off.pdf"},
        ("metadata 'page': can't be read, left out",),
    )
    metadata, notes = make_readable(Changing())
    assert notes == ("metadata of Changing: can't be read, left out",)
    assert metadata == {}


def test_a_note_names_a_few_keys_and_counts_the_rest():
    _, (note,) = make_readable({f"k{n}": threading.Lock() for n in range(10_000)})
    assert note == "metadata 'k0', 'k1', 'k2' and 9,997 more: can't be copied, replaced by its text"


@pytest.mark.parametrize("name", ODD)
def test_whatever_is_read_copies_and_pickles(name: str):
    metadata, _ = make_readable({"odd": ODD[name](), "source": "a.pdf"})
    assert metadata["source"] == "a.pdf"
    assert pickle.loads(pickle.dumps(metadata)).keys() == metadata.keys()
    assert copy.deepcopy(metadata).keys() == copy_metadata(metadata).keys()


def test_a_copy_shares_nothing_that_can_be_changed():
    metadata = {"list": [1, {"a": [2]}], "set": {1}, "array": ODD["array"](), "dict": {"b": [3]}}
    copy = copy_metadata(metadata)
    copy["list"][1]["a"].append(4)
    copy["dict"]["b"].append(5)
    copy["set"].add(6)
    copy["array"][0] = 7
    assert (metadata["list"], metadata["dict"], metadata["set"], metadata["array"][0]) == (
        [1, {"a": [2]}],
        {"b": [3]},
        {1},
        0.5,
    )


def test_an_endless_value_takes_little_memory():
    tracemalloc.start()
    make_readable({"many": laughs()})
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()
