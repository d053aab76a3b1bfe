"""Our engines where LlamaIndex's own stood: their constructors, what wraps them, callbacks and prompts."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core import PromptTemplate, Settings, StorageContext, VectorStoreIndex
from llama_index.core.base.llms.types import ChatMessage

from ctxassembly import Chunk, ConfigError, MemoryIndex, RetrievalConfig
from llamaindex_ctxassembly import AnswerChatEngine, AnswerQueryEngine, ContextAssemblyPostprocessor, ContextRetriever
from llamaindex_samples import QUESTION, Answering, TextVectorStore, WordEmbedding, document, splitted

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
    assert engine.query("dye").source_nodes[0].text == "[1] Source: unknown\nDye."
    with pytest.raises(ConfigError, match=r"^similarity_top_k must be left out if retriever= is given, got 3$"):
        AnswerQueryEngine.from_args(index, retriever=retriever, similarity_top_k=3)
    for name in ("node_postprocessors", "filters", "similarity_topk"):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
            AnswerQueryEngine.from_args(index, **{name: None})
    with pytest.raises(ConfigError, match=r"^index must be a LlamaIndex index, got 'index'"):
        ContextAssemblyPostprocessor.from_index("index")  # type: ignore[arg-type]


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


def test_its_words_are_settings_and_no_prompt_templates(index: VectorStoreIndex) -> None:
    engine = AnswerQueryEngine.from_args(index, Answering())
    assert engine.get_prompts() == {}
    with pytest.raises(ValueError, match="prompts_dict must be empty"):
        engine.update_prompts({"response_synthesizer:text_qa_template": PromptTemplate("{context_str}")})
