"""Metadata of any kind can be read, copied and pickled."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import pytest
from fuzz.odd import ODD, Changing, RaisingMapping, circular_list

from ctxassembly.data.sanitize import copy_metadata, make_readable


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


@pytest.mark.parametrize(
    ("value", "stands"),
    [
        (threading.Lock(), "<unlocked _thread.lock object>"),
        ([1, [threading.Lock()]], "[1, [<unlocked _thread.lock object>]]"),
    ],
)
def test_what_does_not_copy_stands_as_its_text(value: Any, stands: str):
    metadata, notes = make_readable({"source": "a.pdf", "odd": value})
    assert metadata == {"source": "a.pdf", "odd": stands}
    assert notes == ("metadata 'odd': can't be copied, replaced by its text",)


def test_what_contains_itself_is_kept() -> None:
    metadata, notes = make_readable({"odd": circular_list()})
    assert metadata["odd"][1] is metadata["odd"]
    assert notes == ()


def test_keys_are_strings() -> None:
    metadata, notes = make_readable({1: "a", "1": "b", (1, 2): "c", ODD["enum"](): "d", "inside": {1: "e", None: "f"}})
    assert metadata == {"1": "b", "(1, 2)": "c", "Color.RED": "d", "inside": {1: "e", None: "f"}}
    assert notes == ("metadata '1', '(1, 2)', 'Color.RED': the key is no text, read as its text",)


@pytest.mark.parametrize("kind", [RaisingMapping, Changing])
def test_a_mapping_that_raises_is_left_out(kind: Any):
    assert make_readable(kind()) == ({}, (f"metadata of {kind.__name__}: can't be read, left out",))


def test_a_note_names_a_few_keys_and_counts_the_rest() -> None:
    _, (note,) = make_readable({f"k{n}": threading.Lock() for n in range(100)})
    assert note == "metadata 'k0', 'k1', 'k2' and 97 more: can't be copied, replaced by its text"


@pytest.mark.parametrize("name", ODD)
def test_whatever_is_read_copies_and_pickles(name: str):
    metadata, _ = make_readable({"odd": ODD[name](), "source": "a.pdf"})
    assert metadata["source"] == "a.pdf"
    assert pickle.loads(pickle.dumps(metadata)).keys() == metadata.keys()
    assert copy.deepcopy(metadata).keys() == copy_metadata(metadata).keys()


def test_a_copy_shares_nothing_that_can_be_changed() -> None:
    metadata = {"list": [1, {"a": [2]}], "set": {1}, "array": ODD["array"]()}
    copied = copy_metadata(metadata)
    copied["list"][1]["a"].append(4)
    copied["set"].add(6)
    copied["array"][0] = 7
    assert (metadata["list"], metadata["set"], metadata["array"][0]) == ([1, {"a": [2]}], {1}, 0.5)
