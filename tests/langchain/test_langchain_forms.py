"""A context as documents, as search results and as the output of a tool."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from pydantic import BaseModel, ValidationError

from ctxassembly import AssemblyConfig, Context, MemoryIndex, RetrievalConfig
from ctxassembly.errors import InputError
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    ContextRetriever,
    answer_chain,
    context_node,
    context_tool,
    to_documents,
    to_messages,
    to_search_results,
    to_tool_output,
    understanding_chain,
)
from langchain_samples import document, documents, memory_store

CORPUS = documents("A", "B")
HITS = [document("A", 2, score=0.9), document("B", 5)]
GIVEN = {"documents": HITS, "query": "the falcon", "supplement": "Facts."}
FORMS: dict[str, Any] = {
    "documents": to_documents,
    "search results": to_search_results,
    "messages": lambda context: to_messages(context, "Why?"),
    "tool output": to_tool_output,
}


def assembler(**options: Any) -> ContextAssembler:
    config = AssemblyConfig(neighbors="unfiltered", **options)
    return ContextAssembler(config=config, store=memory_store(CORPUS))


def test_the_documents_are_those_of_the_assembler() -> None:
    made = assembler()
    context = made.as_context().invoke(GIVEN)
    found = to_documents(context)
    expected = made.invoke(GIVEN)
    for one in (*found, *expected):
        one.metadata.get("trace", {}).pop("stages", None)  # has times
    assert [one.page_content for one in found] == [one.page_content for one in expected]
    assert [one.id for one in found] == ["B#5", "A#2", "supplement"]
    assert [one.metadata.keys() for one in found] == [one.metadata.keys() for one in expected]
    assert [one.metadata["citation"] for one in found[:2]] == [one.metadata["citation"] for one in expected[:2]]
    assert "\n\n".join(one.page_content for one in found) == context.text


@pytest.mark.parametrize("form", FORMS)
def test_a_context_out_of_a_checkpoint_has_the_same_forms(form: str) -> None:
    context = assembler().as_context().invoke(GIVEN)
    kept = json.loads(json.dumps(context.to_dict()))
    assert FORMS[form](Context.from_dict(kept)) == FORMS[form](context)
    assert FORMS[form](kept) == FORMS[form](context)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("given", [None, "text", HITS, {"context": 1}])
def test_what_is_no_context_is_refused(form: str, given: Any) -> None:
    with pytest.raises(InputError, match=r"context must be a Context, got .*as_context\(\).* gives one"):
        FORMS[form](given)


# Search results


def test_a_search_result_has_a_text_block_for_each_chunk() -> None:
    context = assembler().as_context().invoke({"documents": HITS, "supplement": "Facts."})
    first, second, last = to_search_results(context)
    assert (first["type"], first["title"], first["source"]) == ("search_result", "A.pdf", "A.pdf")
    assert [len(one["content"]) for one in (first, second, last)] == [3, 3, 1]
    assert all(part["type"] == "text" for part in first["content"])
    assert [one["citations"] for one in (first, second, last)] == 3 * [{"enabled": True}]
    assert last["content"] == [{"type": "text", "text": "Facts."}]
    assert "".join(part["text"] for part in first["content"]) == context.passages[0].text


# The output of a tool


@pytest.mark.parametrize("content", ["text", "search_results"])
async def test_a_tool_gives_both_content_and_artifact(content: Any) -> None:
    retriever = ContextAssemblyRetriever(retriever=RunnableLambda(lambda query: HITS), assembler=assembler())

    @tool(response_format="content_and_artifact")
    def search(query: str) -> Any:
        """Searches."""
        return to_tool_output(retriever.context(query), content=content)

    call = {"name": "search", "args": {"query": "the falcon"}, "id": "1", "type": "tool_call"}
    for message in (search.invoke(call), await search.ainvoke(call)):
        context = Context.from_dict(message.artifact)
        assert context.query == "the falcon"
        assert message.content == (context.text if content == "text" else to_search_results(context))
        assert message.artifact == json.loads(json.dumps(message.artifact))


@pytest.mark.parametrize("content", ["text", "search_results"])
def test_an_empty_context_says_so_to_the_model(content: Any) -> None:
    context = ContextAssembler(config=AssemblyConfig(language="nl")).as_context().invoke([])
    read, artifact = to_tool_output(context, content=content)
    assert read == "(Er zijn geen documenten gevonden.)"
    assert Context.from_dict(artifact) == context


CHAINS: dict[str, Any] = {
    "assembler": lambda: RunnableLambda(lambda _: HITS) | assembler(),
    "retriever": lambda: ContextAssemblyRetriever(retriever=RunnableLambda(lambda _: HITS), assembler=assembler()),
    "context": lambda: RunnableLambda(lambda _: HITS) | assembler().as_context(),
}


@pytest.mark.parametrize("name", CHAINS)
async def test_what_is_written_as_text_is_the_text_of_the_context(name: str) -> None:
    expected = assembler().as_context().invoke({"documents": HITS, "query": "Wann?"} if name == "retriever" else HITS)
    chain = CHAINS[name]() | str
    assert chain.invoke("Wann?") == await chain.ainvoke("Wann?") == "".join(chain.stream("Wann?")) == expected.text
    prompt = {"context": CHAINS[name]()} | ChatPromptTemplate.from_template("Lies dies:\n{context}")
    assert prompt.invoke("Wann?").to_string() == f"Human: Lies dies:\n{expected.text}"


RUNNABLES: dict[str, Any] = {
    **CHAINS,
    "context alone": lambda: assembler().as_context(),
    "context with a config": lambda: assembler().as_context(config={"tags": ["ours"]}),
    "context retriever": lambda: ContextRetriever(MemoryIndex([]), config=RetrievalConfig(strategy="keyword")),
    "answer chain": lambda: answer_chain(FakeListChatModel(responses=["Ja."]), CHAINS["retriever"]()),
    "understanding chain": lambda: understanding_chain(FakeListChatModel(responses=["Ja."])),
    "node": lambda: context_node(assembler()),
    "tool": lambda: context_tool(CHAINS["retriever"](), "search", "Searches."),
}


@pytest.mark.parametrize("name", RUNNABLES)
def test_every_runnable_has_schemas(name: str) -> None:
    runnable = RUNNABLES[name]()
    for schema in (runnable.get_input_jsonschema(), runnable.get_output_jsonschema()):
        assert isinstance(schema["title"], str)
    assert json.dumps(runnable.get_graph().to_json(with_schemas=True))  # as LangServe and the studio read it


def test_a_context_is_a_type_of_a_model() -> None:
    class State(BaseModel):
        context: Context

    context = assembler().as_context().invoke(HITS)
    assert State(context=context).context is context
    with pytest.raises(ValidationError):
        State.model_validate({"context": "[1] Source: gastro.pdf"})
    assert State.model_json_schema()["properties"]["context"] == {"title": "Context", "type": "object"}
