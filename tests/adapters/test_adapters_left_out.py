"""The tool for what was left out: what it reads, its labels, its budget, and for whom."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

import langchain_ctxassembly
import llamaindex_ctxassembly
from adapter_doors import DOORS, Door
from ctxassembly import AssemblyConfig, Chunk, FilterNotSeenWarning, Hit, MemoryStore, assemble
from ctxassembly.errors import ConfigError, InputError, StoreError

WORDS = ("weavers", "looms", "wool", "dyers", "taxes", "smugglers", "markets", "bridges")
ALONE = AssemblyConfig(neighbors="unfiltered", window=0, cite="document")
NOTHING = "Nothing that was left out matches."


def chunk(index: int, tenant: str = "ours", document: str = "valley") -> Chunk:
    text = f"{tenant}: the {WORDS[index]} are told of in paragraph {index} of the report."
    metadata = {"source": f"{document}.pdf", "page": index + 1, "tenant": tenant}
    return Chunk(f"{tenant}-{document}-{index}", document, text, index, metadata=metadata)


CHUNKS = [chunk(index) for index in range(len(WORDS))]
CONTEXT = assemble(
    [Hit(CHUNKS[index]) for index in (4, 0, 2, 6)], AssemblyConfig(granularity="chunk", max_tokens=60, cite="document")
)


class Down:
    def fetch(self, refs: Any) -> Any:
        raise ConnectionError("no route")


@dataclass(frozen=True)
class Tool:
    """The tool of one adapter."""

    door: Door
    own: Any

    def read(self, **wanted: Any) -> tuple[str, dict[str, Any] | None]:
        """Return what a model reads, and the trace if there is a context."""
        if self.door.is_langchain:
            call: Any = {"name": "read_left_out", "args": wanted, "id": "1", "type": "tool_call"}
            message = asyncio.run(self.own.ainvoke(call)) if self.door.is_async else self.own.invoke(call)
            return message.text, None if message.artifact is None else message.artifact["trace"]
        output = asyncio.run(self.own.acall(**wanted)) if self.door.is_async else self.own.call(**wanted)
        nodes = output.raw_output
        return output.content, nodes[0].metadata["trace"] if isinstance(nodes, list) and nodes else None


def tool_of(door: Door, context: Any, made: Any) -> Tool:
    if door.is_langchain:
        return Tool(door, langchain_ctxassembly.left_out_tool(context, assembler=made))
    return Tool(door, llamaindex_ctxassembly.left_out_tool(context, postprocessor=made))


def tool(door: Door, store: Any = None, context: Any = CONTEXT, **settings: Any) -> Tool:
    store = MemoryStore(CHUNKS) if store is None else store
    return tool_of(door, context, door.make(**{"store": store, "config": ALONE, **settings}))


def indexes(text: str) -> list[int]:
    return [index for index, word in enumerate(WORDS) if f"the {word} are" in text]


def of_tenant(door: Door, name: str) -> Any:
    if door.is_langchain:
        return lambda found: found.metadata["tenant"] == name
    return MetadataFilters(filters=[MetadataFilter(key="tenant", value=name)])


def test_the_context_has_room_for_two() -> None:
    assert sorted(indexes(CONTEXT.text)) == [0, 4]


def test_the_model_may_ask_by_words_document_and_label(door: Door) -> None:
    own = tool(door).own
    described = convert_to_openai_tool(own) if door.is_langchain else own.metadata.to_openai_tool()
    parameters = described["function"]["parameters"]
    assert described["function"]["name"] == "read_left_out"
    assert {name: "description" in one for name, one in parameters["properties"].items()} == dict.fromkeys(
        ("words", "document", "label"), True
    )
    assert not parameters.get("required")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"words": "smugglers or wool"}, [2]),  # what was searched for, and not all that is stored
        ({"document": "valley"}, [2, 6]),
        ({"label": 1}, [1, 2, 3, 5, 6, 7]),  # a number, as models write it; without the text of the label
        ({"words": "zebra"}, []),
        ({"document": "C.pdf"}, []),
        ({"label": "9"}, []),
        ({}, []),
    ],
)
def test_a_request_reads_what_matches_it_with_the_same_text_in_both(
    door: Door, wanted: dict[str, Any], expected: list[int]
) -> None:
    text, trace = tool(door).read(**wanted)
    assert indexes(text) == expected
    assert text == tool(DOORS["LangChain, called"]).read(**wanted)[0]
    assert tool(door, context=CONTEXT.to_dict()).read(**wanted)[0] == text
    if expected:
        assert text.startswith("[1] Source: valley.pdf")  # the document keeps its label
    else:
        assert trace is None
        assert text == f"{NOTHING if wanted else ''} Left out and available: valley.pdf, pages 3, 7".strip()


def test_what_is_around_a_label_is_near_it(door: Door) -> None:
    context = assemble([Hit(CHUNKS[0]), Hit(CHUNKS[7])], AssemblyConfig(granularity="chunk", max_tokens=30))
    assert indexes(context.text) == [0]
    assert indexes(tool(door, context=context).read(label="1")[0]) == [1, 2, 3]


def test_a_chunk_of_which_only_a_part_was_read_is_left_out_too(door: Door) -> None:
    rules = Chunk("a", "a", " ".join(f"Rule {number} asks for {word}." for number, word in enumerate(WORDS * 4)))
    context = assemble([Hit(rules)], AssemblyConfig(max_tokens=30, language="nl"), query="wool")
    own = tool(door, MemoryStore([rules]), context)
    assert "asks for taxes" in own.read(words="taxes")[0]
    assert own.read(words="zebra")[0].startswith("Niets van wat")  # in the language of the context


def test_documents_keep_their_labels_and_new_ones_count_on(door: Door) -> None:
    others = [chunk(0, document=name) for name in ("loom", "wool")]
    config = AssemblyConfig(granularity="chunk", max_tokens=25, cite="document")
    context = assemble([Hit(CHUNKS[4]), Hit(CHUNKS[6]), *map(Hit, others)], config)
    own = tool(door, MemoryStore([*CHUNKS, *others]), context)
    labels = [own.read(document=name)[0][:3] for name in ("valley", "loom", "wool")]
    # LangChain's tool by itself has no state: in an agent the messages have it.
    assert labels == ["[1]", "[2]", "[2]" if door.is_langchain else "[3]"]


@pytest.mark.parametrize("max_tokens", [1, 7, 30, 50, 100, 1_000])
def test_the_budget_is_exact(door: Door, max_tokens: int) -> None:
    config = AssemblyConfig(neighbors="unfiltered", max_tokens=max_tokens)
    for wanted in ({"document": "valley"}, {"label": "1"}, {"words": "wool"}):
        _, trace = tool(door, config=config).read(**wanted)
        assert trace is not None
        assert trace["token_count"] <= max_tokens == trace["max_tokens"]


@pytest.mark.parametrize("wanted", [{"words": "wool"}, {"document": "valley"}, {"label": "1"}, {}])
def test_nothing_is_shown_as_it_was_kept(door: Door, wanted: dict[str, str]) -> None:
    assert "valley.pdf" in tool(door, filter=of_tenant(door, "ours")).read(**wanted)[0]
    for forbidden in (tool(door, filter=of_tenant(door, "theirs")), tool(door, MemoryStore([]))):
        assert forbidden.read(**wanted)[0] == NOTHING


@pytest.mark.parametrize("tenant", ["ours", "theirs"])
@pytest.mark.parametrize("is_told", [True, False])
def test_what_is_around_a_label_is_its_tenants(door: Door, tenant: str, is_told: bool) -> None:
    chunks = [chunk(index, ("ours", "theirs")[index // 2 % 2]) for index in range(len(WORDS))]
    hit = next(one for one in chunks if one.metadata["tenant"] == tenant)
    settings = {"filter": of_tenant(door, tenant)} if is_told else {}
    own = tool(door, MemoryStore(chunks), assemble([Hit(hit)]), config=AssemblyConfig(window=0), **settings)
    if is_told:
        text, _ = own.read(label="1")
    else:
        with pytest.warns(FilterNotSeenWarning):
            text, _ = own.read(label="1")
    near = [one for one in chunks[: chunks.index(hit) + 4] if one.metadata["tenant"] == tenant and one is not hit]
    assert indexes(text) == [one.index for one in near]


def test_what_is_read_again_passes_the_transform_of_fetched_chunks(door: Door) -> None:
    def masked(chunks: Sequence[Chunk]) -> list[Chunk]:
        return [replace(one, text="It was masked.") for one in chunks if one.index != 6]

    text, _ = tool(door, transform_fetched=masked).read(document="valley")
    assert text.count("It was masked.") == 1
    assert indexes(text) == []


def test_a_store_that_fails_shows_nothing_and_says_so(door: Door) -> None:
    text, trace = tool(door, Down()).read(words="wool")
    assert text == "What was left out can't be read at the moment."
    if door.is_langchain:  # LlamaIndex has the trace in an event
        assert trace is not None
        assert "store: nothing read of what was left out (ConnectionError: no route)" in str(trace["notes"])
    strict = tool(door, Down(), config=AssemblyConfig(on_store_error="raise"))
    with pytest.raises(StoreError, match="what was left out could not be read: ConnectionError"):
        strict.read(words="wool")


@pytest.mark.parametrize("wanted", [{}, {"document": "valley"}])
def test_neighbors_that_have_to_be_filtered_need_a_filter_here_too(door: Door, wanted: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="neighbors='filtered' needs the filter of the search"):
        tool(door, neighbors="filtered").read(**wanted)


def test_wrong_arguments_are_errors(door: Door) -> None:
    class NoIds(Down):
        finds_ids = False

    with pytest.raises(ConfigError, match=r"^(assembler|postprocessor) must be a Context"):
        tool_of(door, CONTEXT, ALONE)
    with pytest.raises(InputError):
        tool(door, context={"text": "Drink."})
    for made in (door.make(), door.make(store=NoIds())):
        with pytest.raises(ConfigError, match="a store that finds chunks by their ids"):
            tool_of(door, CONTEXT, made)
