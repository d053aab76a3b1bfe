"""`resolve` and `reader`: the citations of the responses of any engine, whole and streamed, sync and awaited."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.base.response.schema import Response
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.schema import NodeWithScore, TextNode

from ctxassembly import AssemblyConfig, Conversation, InputError
from llamaindex_ctxassembly import (
    CITATION_CONTEXT_PROMPT,
    CITATION_QA_TEMPLATE,
    CITATION_REFINE_TEMPLATE,
    AnswerChatEngine,
    AnswerQueryEngine,
    ContextAssemblyPostprocessor,
    citation_reader,
    resolve,
)
from llamaindex_samples import QUESTION, Answering, scored

# They are about other things: nobody here has a filter.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")


def engine_of(index: VectorStoreIndex, retriever: Any = None, **settings: Any) -> Any:
    labels = settings.pop("labels", None)
    config = settings.pop("config", AssemblyConfig(order="documents"))
    postprocessor = ContextAssemblyPostprocessor(
        docstore=index.docstore, conversation=labels and Conversation(labels=labels), config=config
    )
    given = {
        "llm": Answering(),
        "node_postprocessors": [postprocessor],
        "text_qa_template": CITATION_QA_TEMPLATE,
        "refine_template": CITATION_REFINE_TEMPLATE,
        **settings,
    }
    return index.as_query_engine(similarity_top_k=4, **given)


def told(resolved: Any) -> tuple[Any, ...]:
    sources = [citation.source for citation in resolved.citations]
    return resolved.text, sources, resolved.unknown, [citation.source for citation in resolved.unused]


SAID = Answering().says
TOLD = (SAID, ["tax.pdf", "dye.pdf"], ("7",), [])


async def test_whole_streamed_and_awaited_it_is_the_same(index: VectorStoreIndex) -> None:
    engine, streaming = engine_of(index), engine_of(index, streaming=True)
    whole = engine.query(QUESTION)
    assert told(resolve(whole)) == TOLD
    assert told(resolve(await engine.aquery(QUESTION))) == TOLD
    assert told(resolve(streaming.query(QUESTION))) == TOLD  # nobody has read it: it is read here
    read = streaming.query(QUESTION)
    assert str(read) == SAID
    assert told(resolve(read)) == TOLD
    awaited = await streaming.aquery(QUESTION)
    with pytest.raises(InputError, match=r"must be read first: write resolve\(await response.get_response\(\)\)"):
        resolve(awaited)
    assert told(resolve(await awaited.get_response())) == TOLD
    assert told(resolve(awaited)) == TOLD


async def test_citations_settle_as_an_answer_streams_in(index: VectorStoreIndex) -> None:
    streaming = engine_of(index, streaming=True)
    response = streaming.query(QUESTION)
    answer, given, settled = citation_reader(response, "renumber"), "", []
    for piece in response.response_gen:
        given += answer.feed(piece)
        settled.append(len(answer.resolved.citations))
    given += answer.close()
    assert settled[0] == 0
    assert sorted(set(settled)) == [0, 1, 2]
    assert (given, *told(answer.resolved)[1:]) == TOLD
    with pytest.raises(
        InputError, match=r"was read from response_gen and is not kept: feed the pieces to citation_reader"
    ):
        resolve(response)
    awaited = await streaming.aquery(QUESTION)
    answer = citation_reader(awaited)
    _ = [answer.feed(piece) async for piece in awaited.async_response_gen()]
    answer.close()
    assert told(answer.resolved) == TOLD


@pytest.mark.parametrize("mode", ["context", "condense_plus_context"])
async def test_a_chat_engine_s_response(index: VectorStoreIndex, mode: Any) -> None:
    chat = index.as_chat_engine(
        chat_mode=mode,
        memory=ChatMemoryBuffer.from_defaults(token_limit=8_000),  # the default leaves a database open
        llm=Answering(),
        similarity_top_k=4,
        node_postprocessors=[ContextAssemblyPostprocessor(docstore=index.docstore)],
        **{"context_prompt" if mode != "context" else "context_template": CITATION_CONTEXT_PROMPT},
    )
    assert told(resolve(chat.chat(QUESTION))) == TOLD
    chat.reset()
    assert told(resolve(await chat.achat(QUESTION))) == TOLD
    chat.reset()
    streamed = chat.stream_chat(QUESTION)
    answer = citation_reader(streamed)
    assert "".join(map(answer.feed, streamed.response_gen)) + answer.close() == SAID
    assert told(resolve(streamed)) == told(answer.resolved) == TOLD
    chat.reset()
    awaited = await chat.astream_chat(QUESTION)
    with pytest.raises(InputError, match="must be read first, to its end, by response_gen or async_response_gen"):
        resolve(awaited)
    _ = [piece async for piece in awaited.async_response_gen()]
    assert told(resolve(awaited)) == TOLD


async def test_our_own_engines_responses(index: VectorStoreIndex) -> None:
    postprocessor = ContextAssemblyPostprocessor(docstore=index.docstore)
    retriever = index.as_retriever(similarity_top_k=4)
    engine = AnswerQueryEngine(Answering(), retriever, postprocessor=postprocessor)
    streaming = AnswerQueryEngine(Answering(), retriever, postprocessor=postprocessor, streaming=True)
    assert told(resolve(engine.query(QUESTION))) == TOLD
    response = streaming.query(QUESTION)
    assert "".join(response.response_gen) == SAID
    assert told(resolve(response)) == TOLD
    awaited = await streaming.aquery(QUESTION)
    assert "".join([piece async for piece in awaited.response_gen]) == SAID
    assert told(resolve(awaited)) == TOLD
    chat = AnswerChatEngine(engine)
    assert told(resolve(chat.chat(QUESTION))) == TOLD
    chat.reset()
    streamed = chat.stream_chat(QUESTION)
    with pytest.raises(InputError, match="must be read first"):
        resolve(streamed)
    assert "".join(streamed.response_gen) == SAID
    assert told(resolve(streamed)) == TOLD


def test_it_comes_back_from_pickle_and_from_json_it_is_nobodys(index: VectorStoreIndex) -> None:
    response = engine_of(index).query(QUESTION)
    revived = pickle.loads(pickle.dumps(response))
    assert told(resolve(revived)) == TOLD
    before, after = resolve(response), resolve(revived)
    assert before.citations == after.citations
    assert before.marks == after.marks
    nodes = [json.loads(node.model_dump_json()) for node in response.source_nodes]
    read = [NodeWithScore(node=TextNode.from_dict(node["node"])) for node in nodes]
    for one in ({"response": response.response, "source_nodes": nodes}, Response(response.response, read)):
        with pytest.raises(InputError, match="must have the source nodes of a ContextAssemblyPostprocessor"):
            resolve(one)


@pytest.mark.parametrize(
    ("response", "error"),
    [
        ("Drink water [1].", "response must be what a query engine, chat engine or agent gave, got 'Drink water"),
        (None, "response must be what a query engine, chat engine or agent gave, got None"),
        (
            Response("Yes [1].", scored(TextNode(text="Not ours.", metadata={"file_name": "a.pdf"}))),
            "must have the source nodes of a ContextAssemblyPostprocessor, got .*: put it last into",
        ),
    ],
)
def test_what_is_not_ours_is_an_error(response: Any, error: str) -> None:
    for function in (resolve, citation_reader):
        with pytest.raises(InputError, match=error):
            function(response)


# CitationQueryEngine splits and numbers nodes again.
