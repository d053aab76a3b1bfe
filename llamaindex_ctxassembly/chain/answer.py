"""`AnswerQueryEngine`: a question in, an answer with true citations out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.base.response.schema import AsyncStreamingResponse, Response, StreamingResponse
from llama_index.core.callbacks import CallbackManager
from llama_index.core.prompts.mixin import PromptMixinType
from llama_index.core.schema import QueryBundle

from ctxassembly.chain.answer import Answer
from ctxassembly.errors import ConfigError
from ctxassembly.protocols import AnswerCache
from ctxassembly.settings.answering import AnswerConfig
from llamaindex_ctxassembly.chain.evidence import evidence_of
from llamaindex_ctxassembly.chain.run import Asked, Parts, Run
from llamaindex_ctxassembly.chain.streams import apieces_of, pieces_of
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
    dict_keys(['citations', 'quotes', 'trace', 'result'])

    A response has one source node per label, as `ContextRetriever` gives them, and in its metadata the citations that
    the answer uses, its quotes, the trace of all that led to it (plain data), and `result`, the engine's `Answer`. With
    `streaming=True`, the source nodes are there with the first piece, and the metadata after the last one.

    Each step is a span: understand, retrieve, assemble, answer. An answer is a `QuestionAnsweredEvent`.

    LlamaIndex has no fallbacks for LLMs. An `llm` of yours that asks another one may switch before its first token: the
    pieces given on can't be taken back.

    Args:
        llm: any LLM. One whose async methods would block the event loop, as `CustomLLM`'s do, is called in a thread. A
            mode's `answer_tokens` replaces its `max_tokens`, if it has that field.
        retriever: a `ContextRetriever`, which takes modes, filters and intents; or any retriever, whose nodes are
            assembled by `postprocessor`. A vector index' retriever takes the number of nodes and filters; others are
            refused filters.
        config: the settings.
        models: LLMs by mode, such as `{"escalated": other}`, in the place of `llm`.
        postprocessor: the assembly beside a retriever that has none.
        mode: the mode of `query` and `aquery`.
        streaming: True if `query` and `aquery` stream.
        cache: an `AnswerCache`, asked for questions that begin a conversation, or follow one without labels.

    Raises:
        ConfigError: an argument has another type, or a mode isn't one of `config`.
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
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(callback_manager)
        if not (config is None or isinstance(config, AnswerConfig)):
            raise ConfigError("config", "an AnswerConfig or None", config)
        config, models = config or AnswerConfig(), models or {}
        for name, model in {"llm": llm, **{f"models[{one!r}]": given for one, given in models.items()}}.items():
            if not isinstance(model, BaseLLM):
                raise ConfigError(name, "a LlamaIndex LLM", model)
        for one in (mode, *models):
            config.mode(one)
        if not (cache is None or (hasattr(cache, "get") and hasattr(cache, "set"))):
            raise ConfigError("cache", "an object with get(key) and set(key, entry)", cache)
        evidence = evidence_of(retriever, postprocessor)
        if cache is not None and evidence.labels is not None:
            raise ConfigError("cache", "None where there are labels=: a kept answer has the labels it had", cache)
        self._parts = Parts(llm, models, evidence, config, cache)
        self._mode, self._streaming = mode, streaming

    def answer(
        self,
        question: str,
        *,
        chat_history: Sequence[ChatMessage] | None = None,
        mode: str | None = None,
        filters: Any = None,
    ) -> Answer:
        """The engine's `Answer` to a question of a conversation, with the filters of this call."""
        *_, answer = self.run(question, chat_history, mode, filters).events()
        return cast(Answer, answer)

    async def aanswer(
        self,
        question: str,
        *,
        chat_history: Sequence[ChatMessage] | None = None,
        mode: str | None = None,
        filters: Any = None,
    ) -> Answer:
        """The same as `answer`, awaited."""
        return await self.run(question, chat_history, mode, filters).aanswer()

    def run(
        self,
        question: str,
        history: Any = None,
        mode: str | None = None,
        filters: Any = None,
        *,
        streamed: bool = False,
    ) -> Run:
        """One run, for a chat engine."""
        return Run(self._parts, Asked(question, history, mode or self._mode, filters), streamed=streamed)

    def _query(self, query_bundle: QueryBundle) -> Any:
        run = self.run(query_bundle.query_str, streamed=self._streaming)
        if self._streaming:
            return streamed_response(run)
        *_, answer = run.events()
        return response_of(run, cast(Answer, answer))

    async def _aquery(self, query_bundle: QueryBundle) -> Any:
        run = self.run(query_bundle.query_str, streamed=self._streaming)
        return await astreamed_response(run) if self._streaming else response_of(run, await run.aanswer())

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}


def response_of(run: Run, answer: Answer) -> Response:
    """The response with an answer."""
    return Response(answer.text, run.nodes, run.metadata)


def streamed_response(run: Run) -> StreamingResponse:
    """The response that streams."""
    metadata: dict[str, Any] = {}
    pieces = pieces_of(run.events(), str, lambda _: metadata.update(run.metadata))
    return StreamingResponse(pieces, run.nodes, metadata)


async def astreamed_response(run: Run) -> AsyncStreamingResponse:
    """The same as `streamed_response`, awaited."""
    metadata: dict[str, Any] = {}

    async def finish(_: Answer) -> None:
        metadata.update(run.metadata)

    return AsyncStreamingResponse(await apieces_of(run.aevents(), str, finish), run.nodes, metadata)
