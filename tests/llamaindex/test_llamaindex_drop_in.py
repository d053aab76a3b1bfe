"""Our engines where LlamaIndex's own stood: their constructors, what wraps them, callbacks and prompts."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core import PromptTemplate, Settings, StorageContext, VectorStoreIndex
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.query_engine import RouterQueryEngine, SubQuestionQueryEngine, TransformQueryEngine
from llama_index.core.schema import QueryBundle
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import QueryEngineTool

from ctxassembly import Chunk, ConfigError, Conversation, Labels, MemoryIndex, RetrievalConfig
from llamaindex_ctxassembly import (
    AnswerChatEngine,
    AnswerQueryEngine,
    ContextAssemblyPostprocessor,
    ContextRetriever,
    resolve,
)
from llamaindex_samples import QUESTION, Answering, Questions, TextVectorStore, WordEmbedding, document, splitted

# They are about other things: nobody here has a filter.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")


def test_from_an_index_neighbors_come_from_where_it_keeps_its_nodes() -> None:
    index = splitted(40)
    engine = AnswerQueryEngine.from_args(index, Answering(), similarity_top_k=1)
    [node] = engine.query("Where did the looms of the weavers stand?").source_nodes
    assert node.metadata["trace"]["chunks"] > node.metadata["trace"]["hits"] == 1
    vector_store = TextVectorStore()
    storage = StorageContext.from_defaults(vector_store=vector_store)
    stored = VectorStoreIndex(document(), storage_context=storage, embed_model=WordEmbedding())
    [node] = AnswerQueryEngine.from_args(stored, Answering(), similarity_top_k=1).query(QUESTION).source_nodes
    assert node.metadata["trace"]["chunks"] > node.metadata["trace"]["hits"] == 1
    postprocessor = ContextAssemblyPostprocessor()
    alone = AnswerQueryEngine.from_args(index, Answering(), postprocessor=postprocessor, similarity_top_k=1)
    assert alone.query(QUESTION).source_nodes[0].metadata["trace"]["chunks"] == 1


def test_from_an_index_it_takes_the_settings_of_the_class(
    index: VectorStoreIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Settings, "_llm", Answering(says="From settings [1]."))
    response: Any = AnswerQueryEngine.from_args(index, streaming=True, similarity_top_k=2).query(QUESTION)
    assert "".join(response.response_gen) == "From settings [1]."
    retriever = ContextRetriever(MemoryIndex([Chunk("a", "a", "Dye.", 0)]), config=RetrievalConfig(strategy="keyword"))
    engine = AnswerQueryEngine.from_args(index, retriever=retriever)
    assert engine.retriever is retriever
    assert engine.query("dye").source_nodes[0].text == "[1] Source: unknown\nDye."
    with pytest.raises(ConfigError, match=r"^similarity_top_k must be left out if retriever= is given, got 3$"):
        AnswerQueryEngine.from_args(index, retriever=retriever, similarity_top_k=3)
    with pytest.raises(ConfigError, match=r"^node_postprocessors must be left out: give the assembly as post"):
        AnswerQueryEngine.from_args(index, node_postprocessors=[ContextAssemblyPostprocessor()])
    with pytest.raises(ConfigError, match=r"^index must be a LlamaIndex index, got 'index'"):
        ContextAssemblyPostprocessor.from_index("index")  # type: ignore[arg-type]


async def test_what_is_retrieved_can_be_seen_without_an_answer(index: VectorStoreIndex) -> None:
    llm = Answering()
    engine = AnswerQueryEngine.from_args(index, llm, similarity_top_k=4)
    nodes = engine.retrieve(QueryBundle(QUESTION))
    assert [node.text for node in nodes] == [node.text for node in await engine.aretrieve(QueryBundle(QUESTION))]
    assert llm.prompts == []
    assert [node.text for node in engine.query(QUESTION).source_nodes] == [node.text for node in nodes]


async def test_a_conversation_from_defaults(index: VectorStoreIndex) -> None:
    before = [ChatMessage(content="Hello.", role="user"), ChatMessage(content="Hello!", role="assistant")]
    chat = AnswerChatEngine.from_defaults(
        index.as_retriever(similarity_top_k=4),
        Answering(),
        chat_history=before,
        postprocessor=ContextAssemblyPostprocessor.from_index(index),
    )
    first = chat.chat(QUESTION)
    second = await chat.achat(QUESTION)
    assert len(chat.chat_history) == 6
    labels = [[node.metadata["citation"]["label"] for node in one.source_nodes] for one in (first, second)]
    assert labels == [["1", "2"], ["1", "2"]]
    with pytest.raises(TypeError, match="max_tokens"):
        AnswerChatEngine.from_defaults(index.as_retriever(), Answering(), max_tokens=50)


def tool_of(index: VectorStoreIndex, name: str, labels: Labels | None = None) -> QueryEngineTool:
    postprocessor = ContextAssemblyPostprocessor.from_index(index, conversation=labels and Conversation(labels=labels))
    engine = AnswerQueryEngine.from_args(index, Answering(says="Yes."), postprocessor=postprocessor)
    return QueryEngineTool.from_defaults(engine, name=name, description=f"Who carried the {name}")


def test_under_a_router_a_transformation_and_sub_questions(index: VectorStoreIndex) -> None:
    selector = LLMSingleSelector.from_defaults(llm=Answering(says='[{"choice": 1, "reason": "the only one"}]'))
    router = RouterQueryEngine(selector, [tool_of(index, "dye")], llm=Answering())
    assert resolve(router.query(QUESTION)).unused
    engine = AnswerQueryEngine.from_args(index, Answering(), similarity_top_k=4)
    hyde = HyDEQueryTransform(llm=Answering(says="Smugglers."))
    assert len(resolve(TransformQueryEngine(engine, hyde).query(QUESTION)).citations) == 2
    labels = Labels()
    parts = SubQuestionQueryEngine.from_defaults(
        [tool_of(index, "dye", labels), tool_of(index, "tax", labels)],
        llm=Answering(says="Both [1][3]."),
        question_gen=Questions(),
        use_async=False,
        verbose=False,
    )
    assert [one.label for one in resolve(parts.query(QUESTION)).citations] == ["1", "3"]


def test_a_tool_s_output_is_the_response(index: VectorStoreIndex) -> None:
    output = tool_of(index, "dye").call(QUESTION)
    assert output.content == "Yes."
    assert resolve(output.raw_output).unused


async def test_callback_handlers_hear_of_the_query(index: VectorStoreIndex) -> None:
    handler = LlamaDebugHandler(print_trace_on_end=False)
    manager = CallbackManager([handler])
    engine = AnswerQueryEngine.from_args(index, Answering(), callback_manager=manager)
    engine.query(QUESTION)
    await engine.aquery(QUESTION)
    pairs = handler.get_event_pairs(CBEventType.QUERY)
    assert [begin.payload["query_str"] for begin, _ in pairs] == [QUESTION, QUESTION]  # type: ignore[index]
    assert all(str(end.payload["response"]) for _, end in pairs)  # type: ignore[index]


def test_its_words_are_settings_and_no_prompt_templates(index: VectorStoreIndex) -> None:
    engine = AnswerQueryEngine.from_args(index, Answering())
    assert engine.get_prompts() == {}
    with pytest.raises(ValueError, match="prompts_dict must be empty"):
        engine.update_prompts({"response_synthesizer:text_qa_template": PromptTemplate("{context_str}")})
