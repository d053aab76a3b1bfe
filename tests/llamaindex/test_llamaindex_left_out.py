"""The tool for what was left out in LlamaIndex: the same text as in LangChain, in an agent, and for whom."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.schema import NodeWithScore
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

from ctxassembly import AssemblyConfig, Chunk, Conversation, Hit, Labels, MemoryStore, assemble
from ctxassembly.errors import ConfigError, InputError
from langchain_ctxassembly import ContextAssembler
from langchain_ctxassembly import left_out_tool as langchain_tool
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, left_out_tool, resolve
from llamaindex_samples import TEXTS, document

pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20"),  # of LlamaIndex's own agents
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince211"),
]

FIRST = AssemblyConfig(granularity="chunk", max_tokens=60)
OPEN = AssemblyConfig(neighbors="unfiltered", max_tokens=200)


def own_tool(context: Any, chunks: Any = None, **settings: Any) -> Any:
    store = MemoryStore(CHUNKS if chunks is None else chunks)
    settings = {"neighbors": "unfiltered", "config": AssemblyConfig(window=0), **settings}
    return left_out_tool(context, postprocessor=ContextAssemblyPostprocessor(store=store, **settings))


def chunk(tenant: str, index: int) -> Chunk:
    metadata = {"source": "valley.pdf", "page": index + 1, "tenant": tenant, "document_id": "A", "chunk_index": index}
    return Chunk(f"{tenant}-{index}", "A", f"{tenant}: {TEXTS[index]}", index, metadata=metadata)


CHUNKS = [chunk("ours", index) for index in range(len(TEXTS))]
CONTEXT = assemble([Hit(CHUNKS[index]) for index in (4, 0, 2, 6)], FIRST)
REQUESTS: list[dict[str, Any]] = [
    {"words": "who came back"},
    {"document": "valley"},
    {"page": "7"},
    {"label": "1"},
    {"label": "1", "words": "smugglers"},
    {"words": "zebra"},
    {},
]


@pytest.mark.parametrize("wanted", REQUESTS)
async def test_both_frameworks_give_the_same_text(wanted: dict[str, Any]) -> None:
    store = MemoryStore(CHUNKS)
    ours = left_out_tool(CONTEXT, postprocessor=ContextAssemblyPostprocessor(config=OPEN, store=store))
    theirs = langchain_tool(CONTEXT, assembler=ContextAssembler(config=OPEN, store=store)).invoke(wanted)
    assert ours.call(**wanted).content == theirs
    again = left_out_tool(CONTEXT, postprocessor=ContextAssemblyPostprocessor(config=OPEN, store=store))
    assert (await again.acall(**wanted)).content == theirs


def test_the_model_may_ask_by_words_document_page_and_label() -> None:
    described = own_tool(CONTEXT).metadata.to_openai_tool()["function"]
    assert described["name"] == "read_left_out"
    assert {name: "description" in one for name, one in described["parameters"]["properties"].items()} == {
        "words": True,
        "document": True,
        "page": True,
        "label": True,
    }


def test_documents_keep_their_labels_and_new_ones_count_on() -> None:
    others = [
        Hit(Chunk(f"{name}#0", name, f"The {name} of the weavers.", metadata={"source": f"{name}.pdf"}))
        for name in ("loom", "wool")
    ]
    context = assemble([Hit(CHUNKS[4]), Hit(CHUNKS[6]), *others], AssemblyConfig(granularity="chunk", max_tokens=25))
    stored = [*CHUNKS, *(one.chunk for one in others)]
    tool = own_tool(context, stored)
    texts = [tool.call(document=name).content for name in ("valley", "loom", "wool")]
    assert [text[:3] for text in (context.text, *texts)] == ["[1]", "[1]", "[2]", "[3]"]
    labels = Labels(8)
    own = own_tool(context, stored, conversation=Conversation(labels=labels))
    assert own.call(document="loom").content.startswith("[8] ")


@pytest.mark.parametrize("max_tokens", [1, 7, 30, 50, 100])
def test_the_budget_is_exact(max_tokens: int) -> None:
    config = AssemblyConfig(neighbors="unfiltered", max_tokens=max_tokens)
    tool = left_out_tool(CONTEXT, postprocessor=ContextAssemblyPostprocessor(config=config, store=MemoryStore(CHUNKS)))
    for wanted in ({"document": "valley"}, {"label": 1}):
        output = tool.call(**wanted)
        assert output.raw_output[0].node.metadata["trace"]["token_count"] <= max_tokens


async def test_an_agent_cites_what_it_asked_for() -> None:
    def respond(messages: Any, **_: Any) -> ChatMessage:
        if messages[-1].role.value == "tool":
            return ChatMessage(role="assistant", blocks=[TextBlock(text="They came back [1].")])
        call = ToolCallBlock(tool_call_id="1", tool_name="read_left_out", tool_kwargs={"words": "came back"})
        return ChatMessage(role="assistant", blocks=[call])

    llm = MockFunctionCallingLLM(response_generator=respond, is_chat_model=True)
    agent: Any = FunctionAgent(tools=[own_tool(CONTEXT)], llm=llm, streaming=False)
    output = await agent.run("Who came back?")
    assert output.tool_calls[0].tool_output.content.startswith("[1] Source: valley.pdf, page 7\n")
    assert [(one.label, one.page) for one in resolve(output).citations] == [("1", 7)]


@pytest.mark.parametrize("tenant", ["ours", "theirs"])
def test_what_is_around_a_label_obeys_the_filter(tenant: str) -> None:
    nodes = document()
    for index, node in enumerate(nodes):
        node.metadata["tenant"] = ("ours", "theirs")[index // 2 % 2]
    docstore = SimpleDocumentStore()
    docstore.add_documents(nodes)
    filters = MetadataFilters(filters=[MetadataFilter(key="tenant", value=tenant)])
    own = ContextAssemblyPostprocessor(docstore=docstore, filter=filters, config=AssemblyConfig(window=0))
    hit = next(node for node in nodes if node.metadata["tenant"] == tenant)
    found = left_out_tool(own.context([NodeWithScore(node=hit)]), postprocessor=own).call(label="1")
    [output] = found.raw_output
    near = [node for node in nodes[: nodes.index(hit) + 4] if node.metadata["tenant"] == tenant]
    assert output.node.metadata["chunk_ids"] == [node.node_id for node in near if node is not hit]
    assert len(near) == 2


def test_it_takes_the_dict_of_a_context_and_nothing_else() -> None:
    assert own_tool(CONTEXT.to_dict()).call(page="7").content == own_tool(CONTEXT).call(page="7").content
    with pytest.raises(InputError):
        own_tool({"text": "Drink."})
    with pytest.raises(ConfigError, match=r"^postprocessor must be a ContextAssemblyPostprocessor"):
        left_out_tool(CONTEXT, postprocessor=OPEN)  # type: ignore[arg-type]


@pytest.mark.parametrize("wanted", [{"words": "came back"}, {"document": "valley"}, {"label": "1"}, {}])
async def test_nothing_is_shown_as_it_was_kept(wanted: dict[str, str]) -> None:
    theirs = MetadataFilters(filters=[MetadataFilter(key="tenant", value="theirs")])
    roles = [theirs]
    forbidden = own_tool(CONTEXT, filter=lambda _: roles[-1])
    for tool in (forbidden, own_tool(CONTEXT, [])):  # of another tenant, and deleted
        assert tool.call(**wanted).content == "Nothing that was left out matches."
        assert (await tool.acall(**wanted)).content == "Nothing that was left out matches."
    roles.append(MetadataFilters(filters=[MetadataFilter(key="tenant", value="ours")]))
    assert "valley.pdf" in forbidden.call(**wanted).content


async def test_what_is_read_again_passes_the_transform_of_fetched_chunks() -> None:
    def masked(chunks: Any) -> list[Chunk]:
        return [replace(one, text="It was masked.") for one in chunks if one.id != "ours-6"]

    tool = own_tool(CONTEXT, transform_fetched=masked)
    [left_out] = {call.content for call in (tool.call(document="valley"), await tool.acall(document="valley"))}
    assert left_out.count("It was masked.") == 1
    assert not any(text in left_out for text in TEXTS)


async def test_a_store_that_fails_shows_nothing_and_says_so() -> None:
    class Down:
        def fetch(self, refs: Any) -> Any:
            raise ConnectionError("no route")

    tool = left_out_tool(CONTEXT, postprocessor=ContextAssemblyPostprocessor(store=Down()))
    for output in (tool.call(words="came back"), await tool.acall(words="came back")):
        assert output.content == "What was left out can't be read at the moment."


def test_without_a_store_to_ask_by_id_there_is_no_tool() -> None:
    with pytest.raises(ConfigError, match=r"finds chunks by their ids.*ContextAssemblyPostprocessor\(docstore"):
        left_out_tool(CONTEXT, postprocessor=ContextAssemblyPostprocessor())
