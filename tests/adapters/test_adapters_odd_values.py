"""One odd value in a hit never loses the request."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from fuzz.odd import ODD, UnprintableError

from adapter_doors import Door
from ctxassembly import AssemblyConfig, Chunk, MemoryStore
from ctxassembly.errors import InputError
from ctxassembly.serialization import to_plain

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.errors.NothingToJoinWarning")
NAMES = sorted(ODD)
UNFILTERED = AssemblyConfig(neighbors="unfiltered")


def three(odd: Any = None) -> list[Chunk]:
    """Chunks of three documents, of which the second has the odd metadata."""
    own: list[Any] = [{}, odd or {}, {}]
    return [
        Chunk(f"{name}#0", name, f"All that {name} says.", metadata=more) for name, more in zip("ABC", own, strict=True)
    ]


KEYS = [
    "anything", "source", "file_name", "title", "url", "section", "headings", "sheet", "page", "page_label",
    "row_number", "start_line", "page_summary", "document_id", "chunk_index", "start_index", "score", "updated_at",
    "content_hash", "keep_whole", "no_neighbors",
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_an_odd_value_in_the_metadata_costs_no_other_hit(door: Door, key: str) -> None:
    for name in NAMES:
        read = door.read(three({key: ODD[name]()}))
        assert [block.id for block in read.blocks if block.id != "B#0"] == ["A#0", "C#0"], name
        assert all(f"All that {each} says." in read.text for each in "ABC"), name
        json.dumps(to_plain(read.blocks[1].metadata), allow_nan=False)


@pytest.mark.parametrize("field", ["id", "metadata", "score"])
def test_an_odd_value_assigned_later_costs_no_other_hit(door: Door, field: str) -> None:
    for name in NAMES:
        hits = [door.hit(chunk) for chunk in three()]
        odd = hits[1] if door.is_langchain or field == "score" else hits[1].node
        own = "metadata" if field == "metadata" else field if door.is_langchain or field == "score" else "id_"
        odd.__dict__[own] = ODD[name]()
        read = door.read_by(door.make(), hits)
        assert all(f"All that {each} says." in read.text for each in "AC"), name


def test_what_does_not_copy_stays_as_it_is(door: Door) -> None:
    tree: dict[str, Any] = {}
    tree["self"] = {"again": tree}
    given = {"lock": threading.Lock(), "tree": tree, "author": "Ada"}
    made = door.read([Chunk("A#3", "A", "Text.", metadata=given)]).blocks[0].metadata
    assert (made["lock"], made["author"]) == (given["lock"], "Ada")
    assert made["tree"] is made["tree"]["self"]["again"] is not given["tree"]


def test_nothing_that_can_be_changed_is_shared_with_the_hits(door: Door) -> None:
    hit = door.hit(Chunk("A", "A", "Text.", metadata={"tags": ["a", {"b": [1]}]}))
    first, again = (door.read_by(door.make(), [hit]).blocks[0].metadata for _ in "ab")
    first["tags"][1]["b"].append(2)
    own = hit.metadata if door.is_langchain else hit.node.metadata
    assert own["tags"] == again["tags"] == ["a", {"b": [1]}]


@pytest.mark.filterwarnings("ignore:The store failed")
def test_an_error_without_a_message_costs_the_neighbors_alone(door: Door) -> None:
    class Broken:
        def fetch(self, refs: Any) -> Any:
            raise UnprintableError

    read = door.read([Chunk("A#3", "A", "Text.", 3)], config=UNFILTERED, store=Broken())
    assert [block.id for block in read.blocks] == ["A#3"]
    note = "store: no neighbors (UnprintableError: no message), the hits are kept without them"
    assert read.trace["notes"][0] == note


def test_odd_chunks_of_a_store_cost_no_other_neighbor(door: Door) -> None:
    chunks = [Chunk(f"A#{at}", "A", f"Rule {at}.", at, metadata={"lock": threading.Lock()}) for at in range(5)]
    read = door.read([Chunk("A#2", "A", "Rule 2.", 2)], config=UNFILTERED, store=MemoryStore(chunks))
    assert read.blocks[0].metadata["chunk_ids"] == ["A#1", "A#2", "A#3"]


@pytest.mark.parametrize("query", [5, ["x"]], ids=["number", "list"])
def test_a_query_that_is_no_text_is_an_error_that_shows_it(door: Door, query: Any) -> None:
    with pytest.raises(InputError, match="query must be a string"):
        door.read(three(), query)
