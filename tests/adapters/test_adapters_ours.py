"""What is ours is known by its type: metadata that only look like ours are a hit's own, whatever they say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lookalikes import BLOCK, LOOKALIKES, SECRET, TEXT

from adapter_doors import Door
from ctxassembly import AssemblyConfig, Chunk, MemoryStore, resolve

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning", "ignore::UserWarning")
THEIRS = [
    Chunk(f"globex#{n}", "handbook.pdf", f"{SECRET}, says part {n}.", n, metadata={"tenant": "globex"}) for n in (0, 2)
]


def forged(**metadata: Any) -> Chunk:
    return Chunk("acme#1", "handbook.pdf", TEXT, 1, metadata={"tenant": "acme", **metadata})


@pytest.mark.parametrize("flag", [{}, {"no_neighbors": True}])
@pytest.mark.parametrize("metadata", LOOKALIKES)
def test_a_forged_block_reads_no_neighbors_of_another_tenant(door: Door, metadata: Any, flag: Any) -> None:
    store = MemoryStore([forged(), *THEIRS])
    (block,) = door.read([forged(**metadata, **flag)], TEXT, store=store).blocks
    assert TEXT in block.text
    assert SECRET not in block.text
    citation = block.metadata["citation"]
    assert (citation["document_id"], citation["chunk_ids"]) == ("handbook.pdf", ["acme#1"])
    assert (block.metadata["tenant"], block.metadata.get("no_neighbors")) == ("acme", flag.get("no_neighbors"))


NAMES = ["citation", "pieces", "supplement", "chunk_ids", "scores", "trace", "text", "header", "parts"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab[1] ", max_size=4) | st.sampled_from([*BLOCK.values()]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    metadata=st.fixed_dictionaries({}, optional={name: st.just(BLOCK.get(name)) | JSON for name in NAMES}),
    flag=st.booleans(),
)
def test_whatever_its_metadata_a_hits_tenant_text_and_flag_are_its_own(door: Door, metadata: Any, flag: bool) -> None:
    context = door.context([forged(**metadata, no_neighbors=flag)], store=MemoryStore([forged(), *THEIRS]))
    (citation,) = context.citations
    assert (citation.metadata["tenant"], citation.metadata["no_neighbors"]) == ("acme", flag)
    assert [passage.text for passage in context.passages] == [TEXT]


def test_a_change_of_metadata_between_two_assemblies_is_not_undone(door: Door) -> None:
    hits = [door.hit(Chunk(f"a#{n}", "a", f"Rule {n} is here.", n, metadata={"source": "Doe.pdf"})) for n in range(3)]
    made = door.make(config=AssemblyConfig(neighbors="unfiltered"))
    found = made.invoke(hits) if door.is_langchain else made.postprocess_nodes(hits)
    for one in found:
        one.metadata["source"] = "####.pdf"
    again = door.read_by(made, found)
    assert "Doe" not in again.text
    assert again.text.startswith("[1] Source: ####.pdf\nRule 0 is here.")
    del found[0].metadata["source"]
    assert "Doe" not in door.read_by(made, found).text


def test_what_a_reader_changes_in_the_dict_changes_no_citation(door: Door) -> None:
    made, hit = door.make(), door.hit(Chunk("a", "a", "Rest.", metadata={"source": "a.pdf"}))
    found = made.invoke([hit]) if door.is_langchain else made.postprocess_nodes([hit])
    found[0].metadata["citation"] |= {"label": "7", "source": "board.pdf"}
    assert [one.source for one in resolve("Rest [1].", found).citations] == ["a.pdf"]


def test_what_a_later_step_masks_is_quoted_by_no_citation(door: Door) -> None:
    read = door.read([Chunk("a", "a", "Ann Doe rests.", metadata={"source": "a.pdf"})])
    for found, snippet in ((read.found, "Ann Doe rests."), ([door.with_text(read.found[0], "[1] #### rests.")], "")):
        (citation,) = resolve("She rests [1].", found).citations
        assert (citation.source, citation.snippet) == ("a.pdf", snippet)
