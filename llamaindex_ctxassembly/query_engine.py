"""`AnswerQueryEngine`: a question in, an answer with true citations out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core import Settings
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.base.response.schema import AsyncStreamingResponse, Response, StreamingResponse
from llama_index.core.indices.base import BaseIndex
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.schema import QueryBundle

from ctxassembly.answering.answer import Answer
from ctxassembly.answering.cache import CacheScope
from ctxassembly.answering.requests import AnswerCall
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.conversations.conversation import Conversation, given_conversation
from ctxassembly.errors import ConfigError
from ctxassembly.protocols import AnswerCache
from ctxassembly.runtime.answer import check_question
from ctxassembly.runtime.answer_run import ChainParts, check_answer_config, check_cache
from llamaindex_ctxassembly.answer_run import (
    EngineRun,
    conversation_of,
    exchanges_of,
    filtered_postprocessor,
    messages_of,
    postprocessor_of,
)
from llamaindex_ctxassembly.context_retriever import ContextRetriever
from llamaindex_ctxassembly.models import check_kind, wrap_llm
from llamaindex_ctxassembly.postprocessor import ContextAssemblyPostprocessor


class AnswerQueryEngine(BaseQueryEngine):
    """Answers a question from what `retriever` finds, in the words of `llm`.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> from llama_index.core.llms import MockLLM
    >>> from llamaindex_ctxassembly import ContextRetriever
    >>> leaflet = {"file_name": "lab.pdf"}
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0, metadata=leaflet)])
    >>> retriever = ContextRetriever(index, config=RetrievalConfig(strategy="keyword"))
    >>> response = AnswerQueryEngine(MockLLM(), retriever).query("When is ferritin measured?")
    >>> print(response.source_nodes[0].text)
    [1] Source: lab.pdf
    Ferritin is measured in the morning.
    >>> response.metadata.keys()
    dict_keys(['citations', 'quotes', 'trace', 'conversation', 'result'])

    A response has one source node per label, as `ContextRetriever` gives them, and in its metadata the citations that
    the answer uses, its quotes, the trace (plain data), and `result`, the engine's `Answer`. With `streaming=True`, the
    source nodes are there with the first piece, and the metadata after the last one.

    Each step is a span: understand, retrieve, assemble, answer, and by option summarize. Below them are the searches of
    a `ContextRetriever`, its steps, and the stages of the assembly. An answer is a `QuestionAnsweredEvent`.

    LlamaIndex has no fallbacks for LLMs. If your `llm` falls back to another one, it can do so only before its first
    token, since streamed pieces can't be taken back.

    Args:
        llm: any LLM. One whose async methods would block the event loop, as `CustomLLM`'s do, is called in a thread. A
            mode's `answer_tokens` replaces its `max_tokens`, if it has that field.
        retriever: a `ContextRetriever`, which takes modes, filters and intents; or any retriever, whose nodes are
            assembled by `postprocessor`. A `VectorIndexRetriever` takes the filters of a call, and neighbors must pass
            its own filters, too. Another class is refused filters, and neighbors pass the filter of `postprocessor`
            alone.
        config: the settings.
        models: LLMs by mode, such as `{"escalated": other}`, used instead of `llm`.
        postprocessor: the assembly for a retriever that has none.
        mode: the mode of `query` and `aquery`.
        streaming: True if `query` and `aquery` stream.
        cache: an `AnswerCache`, used as long as a conversation has no labels. It needs a `cache_scope`.
        cache_scope: who may share cached answers: a value that JSON can write, or a function from a `ScopeCall` to one;
            if it returns None, the answer is neither read from the cache nor kept. A retriever other than a
            `ContextRetriever` counts by its class, `similarity_top_k` and filters: what else it searches by, and where,
            is for the scope to tell.

    Raises:
        ConfigError: an argument has another type, a mode isn't one of `config`, `cache` has no `cache_scope`, or the
            filters of the retriever can't be translated for the store of the postprocessor.
    """

    def __init__(
        self,
        llm: BaseLLM,
        retriever: BaseRetriever,
        config: AnswerConfig | None = None,
        *,
        models: Mapping[str, BaseLLM] | None = None,
        postprocessor: ContextAssemblyPostprocessor | None = None,
        mode: str = "normal",
        streaming: bool = False,
        cache: AnswerCache | None = None,
        cache_scope: CacheScope | None = None,
    ) -> None:
        super().__init__(None)
        config, models = check_answer_config(config), models or {}
        check_kind("llm", llm, BaseLLM, "a LlamaIndex LLM")
        for name, model in models.items():
            check_kind(f"models[{name!r}]", model, BaseLLM, "a LlamaIndex LLM")
        for name in (mode, *models):
            config.mode(name)
        self._retriever, self._assembly = retriever, postprocessor_of(retriever, postprocessor)
        check_cache(cache, cache_scope)
        self._parts = ChainParts(wrap_llm(llm, models), config, cache, cache_scope)
        self._mode, self._streaming = mode, streaming
        filtered_postprocessor(retriever, self._assembly, None)  # filters that can't be translated are an error now

    @classmethod
    def from_args(
        cls,
        index: BaseIndex[Any],
        llm: BaseLLM | None = None,
        *,
        retriever: BaseRetriever | None = None,
        postprocessor: ContextAssemblyPostprocessor | None = None,
        similarity_top_k: int | None = None,
        **settings: Any,
    ) -> AnswerQueryEngine:
        """Return the engine over an index, as CitationQueryEngine has it.

        >>> from llama_index.core import Document, MockEmbedding, VectorStoreIndex
        >>> from llama_index.core.llms import MockLLM
        >>> leaflet = Document(text="Ferritin is measured in the morning.", metadata={"file_name": "lab.pdf"})
        >>> index = VectorStoreIndex.from_documents([leaflet], embed_model=MockEmbedding(embed_dim=4))
        >>> engine = AnswerQueryEngine.from_args(index, MockLLM(), similarity_top_k=3)
        >>> engine.query("When is ferritin measured?").source_nodes[0].metadata["citation"]["source"]
        'lab.pdf'

        Args:
            index: the index; neighbors come from where it keeps its nodes, unless `postprocessor` says otherwise.
            llm: the LLM; None means `Settings.llm`.
            retriever: your own retriever, such as `index.as_retriever(filters=...)`.
            postprocessor: the assembly.
            similarity_top_k: the number of chunks to retrieve.
            settings: the class's own parameters.

        Raises:
            ConfigError: `index` is something else, or both `similarity_top_k` and `retriever` are given, or as the
                class says.
        """
        if postprocessor is None and not isinstance(retriever, ContextRetriever):
            postprocessor = ContextAssemblyPostprocessor.from_index(index)
        if retriever is None:
            limit = {} if similarity_top_k is None else {"similarity_top_k": similarity_top_k}
            retriever = index.as_retriever(**limit)
        elif similarity_top_k is not None:
            raise ConfigError("similarity_top_k", "left out if retriever= is given", similarity_top_k)
        return cls(llm or Settings.llm, retriever, postprocessor=postprocessor, **settings)

    def answer(
        self,
        question: str,
        *,
        chat_history: Sequence[ChatMessage] | None = None,
        conversation: Conversation | None = None,
        mode: str | None = None,
        filters: Any = None,
    ) -> Answer:
        """Return the engine's `Answer` to a question of a conversation, with the filters of this call."""
        return self.start_run(question, chat_history, mode, filters, conversation=conversation).answer()

    async def aanswer(
        self,
        question: str,
        *,
        chat_history: Sequence[ChatMessage] | None = None,
        conversation: Conversation | None = None,
        mode: str | None = None,
        filters: Any = None,
    ) -> Answer:
        """Async version of `answer`."""
        return await self.start_run(question, chat_history, mode, filters, conversation=conversation).aanswer()

    def start_run(
        self,
        question: str,
        history: Any = None,
        mode: str | None = None,
        filters: Any = None,
        *,
        conversation: Conversation | None = None,
        is_streamed: bool = False,
    ) -> EngineRun:
        """Start a run, also for a chat engine.

        Without a `conversation` it is the postprocessor's, with what `history` carries.
        """
        messages = messages_of(history)
        own: Conversation = self._assembly.conversation or Conversation()
        call = AnswerCall(
            check_question(question),
            exchanges_of(messages),
            mode or self._mode,
            filters,
            is_streamed=is_streamed,
            conversation=given_conversation(conversation) or own.join(conversation_of(messages)),
            background="\n\n".join(one.content or "" for one in messages if one.role == MessageRole.SYSTEM),
        )
        return EngineRun(self._parts, self._retriever, self._assembly, call)

    def _query(self, query_bundle: QueryBundle) -> Any:
        run = self.start_run(query_bundle.query_str, is_streamed=self._streaming)
        if self._streaming:
            return StreamingResponse(run.pieces(), run.nodes, run.metadata)
        return Response(run.answer().text, run.nodes, run.metadata)

    async def _aquery(self, query_bundle: QueryBundle) -> Any:
        run = self.start_run(query_bundle.query_str, is_streamed=self._streaming)
        if self._streaming:
            return AsyncStreamingResponse(await run.apieces(), run.nodes, run.metadata)
        return Response((await run.aanswer()).text, run.nodes, run.metadata)

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}

    def _update_prompts(self, prompts_dict: PromptDictType) -> None:
        if prompts_dict:
            allowed = "empty: the prompt is made from config=AnswerConfig(style=..., template=..., extra_rules=...)"
            raise ConfigError("prompts_dict", allowed, sorted(prompts_dict))
