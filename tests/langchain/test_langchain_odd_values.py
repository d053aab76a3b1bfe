"""One odd value in a document never loses the request."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from fuzz.odd import ODD, UnprintableError, circular_dict, numbers
from langchain_core.documents import Document

from ctxassembly import MemoryStore
from ctxassembly.errors import InputError
from langchain_ctxassembly import ContextAssembler
from langchain_ctxassembly.convert.documents import chunk_from
from langchain_samples import Recorder, document, memory_store


def told(documents: list[Document]) -> list[str]:
    notes: list[str] = documents[0].metadata["trace"]["notes"]
    return notes


@pytest.mark.parametrize("key", ["anything", "source", "page", "document_id", "chunk_index", "start_index", "score"])
async def test_an_odd_value_in_the_metadata_costs_no_other_document(key: str) -> None:
    assembler = ContextAssembler()
    for name in ODD.keys() - {"no class"}:
        documents = [document(each, 3) for each in "ABC"]
        documents[1].metadata[key] = ODD[name]()
        recorder = Recorder()
        made = assembler.invoke(documents, {"callbacks": [recorder]})
        assert [each.id for each in made if each.id != "B#3"] == ["A#3", "C#3"], name
        assert "In B the granite" in "\n\n".join(each.page_content for each in made), name
        awaited = await assembler.ainvoke(documents)
        assert [each.page_content for each in awaited] == [each.page_content for each in made]
        (event,) = recorder.events
        json.dumps(event[1], allow_nan=False)


@pytest.mark.parametrize("field", ["id", "metadata", "page_content"])
def test_an_odd_value_assigned_later_costs_no_other_document(field: str) -> None:
    for name in ODD.keys() - {"no class"}:
        odd = document("B", 3)
        setattr(odd, field, ODD[name]())
        made = ContextAssembler().invoke([document("A", 3), odd, document("C", 3)])
        contents = "\n\n".join(each.page_content for each in made)
        assert all(f"In {each} the granite" in contents for each in "AC"), name


def test_what_does_not_copy_stands_as_text_and_is_told() -> None:
    lock, rows = threading.Lock(), numbers()
    odd = document("A", 3, lock=lock, rows=rows, tree=circular_dict(), author="Ada")
    (made,) = ContextAssembler().invoke([odd])
    assert made.metadata["lock"] == "<unlocked _thread.lock object>"
    assert made.metadata["rows"] == "<generator object numbers>"
    assert made.metadata["tree"] == {"a": 1, "self": {"again": "..."}}
    assert made.metadata["author"] == "Ada"
    assert told([made]) == [
        "hit 'A#3': metadata 'lock', 'rows': can't be copied, replaced by its text",
        "hit 'A#3': metadata 'tree': refers to itself, cut there",
    ]
    assert (odd.metadata["lock"], list(rows)) == (lock, [0, 1, 2])


def test_nothing_that_can_be_changed_is_shared_with_the_documents() -> None:
    given = document("A", 3, tags=["a", {"b": [1]}])
    (first,) = ContextAssembler().invoke([given])
    (again,) = ContextAssembler(config=ContextAssembler().config).invoke([given])
    first.metadata["tags"][1]["b"].append(2)
    assert given.metadata["tags"] == again.metadata["tags"] == ["a", {"b": [1]}]


def test_a_number_as_id_is_its_text() -> None:
    assert chunk_from(Document(id=5, page_content="Text."), ContextAssembler().config.keys).id == "5"  # type: ignore[arg-type]
    (made,) = ContextAssembler().invoke([Document(id=5, page_content="Text.")])  # type: ignore[arg-type]
    assert made.id == "5"


@pytest.mark.filterwarnings("ignore:The store failed")
async def test_an_error_that_cannot_be_told_costs_the_neighbors_alone() -> None:
    class Broken(MemoryStore):
        def fetch(self, refs: Any) -> Any:
            raise UnprintableError

    assembler = ContextAssembler(config=unfiltered(), store=Broken([]))
    for made in (assembler.invoke([document("A", 3)]), await assembler.ainvoke([document("A", 3)])):
        assert [each.id for each in made] == ["A#3"]
        assert told(made)[0] == "store: no neighbors (UnprintableError: no message), the hits are kept without them"


def test_odd_documents_of_a_store_cost_no_other_neighbor() -> None:
    stored = [document("A", index) for index in range(9)]
    stored[2].metadata["lock"] = threading.Lock()
    made = ContextAssembler(config=unfiltered(), store=memory_store(stored)).invoke([stored[3]])
    assert made[0].metadata["chunk_ids"] == ["A#2", "A#3", "A#4"]


@pytest.mark.parametrize("query", [5, ["x"], ODD["raising"]()], ids=["number", "list", "raising"])
def test_a_query_that_is_no_text_is_an_error_that_shows_it(query: Any) -> None:
    with pytest.raises(InputError, match="query must be a string"):
        ContextAssembler().invoke({"documents": [document("A", 3)], "query": query})


def unfiltered() -> Any:
    from ctxassembly import AssemblyConfig

    return AssemblyConfig(neighbors="unfiltered")
