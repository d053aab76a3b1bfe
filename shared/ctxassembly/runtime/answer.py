"""`AnswerChain`: a question in a conversation in, an answer with its citations out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from ctxassembly.answering.answer import Answer, AnswerPiece
from ctxassembly.answering.cache import CacheScope
from ctxassembly.answering.requests import AnswerCall, Assemble, Exchange, Search
from ctxassembly.answering.understand import understand_flow
from ctxassembly.assembly.arguments import settings_of
from ctxassembly.assembly.call import System
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation, given_conversation
from ctxassembly.data.filters import as_predicate, combine_filters, is_filter
from ctxassembly.data.retrieval import QueryUnderstanding
from ctxassembly.data.trace import StageBegan, StageEnded
from ctxassembly.errors import InputError
from ctxassembly.protocols import AnswerCache, AsyncScorer, ChatModel, Scorer
from ctxassembly.retrieval.search import Question
from ctxassembly.retrieved import Retrieved
from ctxassembly.runtime.answer_run import AnswerRun, AskedModel, ChainParts, check_cache, check_chat_model, today
from ctxassembly.runtime.assemble import aassemble, assemble
from ctxassembly.runtime.driver import Port, adrive, drive, stage_ports
from ctxassembly.runtime.retrieve import aretrieve, prepare_search, retrieve
from ctxassembly.runtime.scorers import check_scorer
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tokens.counter import counter_for


@dataclass(frozen=True, slots=True)
class IndexEvidence:
    """What an answer chain over an index searches with and assembles by."""

    index: Any
    retrieval: RetrievalConfig
    assembly: AssemblyConfig | System
    extra_arguments: Mapping[str, Any] = field(default_factory=dict)
    """The other arguments of `retrieve`."""
    scorer: Any = None
    """The scorer of the assembly."""

    def search(self, request: Search) -> Retrieved:
        """Return the hits for one search, as a stage if stages are observed: several searches may run at once."""
        on_stage = self.extra_arguments.get("on_stage")
        ports = {Search: Port(self._search), **stage_ports(on_stage, needs_sync=True)}
        return drive(_search_flow(request, is_observed=on_stage is not None), ports)

    async def asearch(self, request: Search) -> Retrieved:
        """Async version of `search`."""
        on_stage = self.extra_arguments.get("on_stage")
        ports = {Search: Port(None, self._asearch), **stage_ports(on_stage, needs_sync=False)}
        return await adrive(_search_flow(request, is_observed=on_stage is not None), ports)

    def assemble(self, request: Assemble) -> Context:
        """Return the context, with neighbors from the index if it has them, under the call's filter."""
        config, store = request.limit_config(self.assembly), self.store(request.filter)
        return assemble(request.hits, config, store=store, **self._assemble_arguments(request))

    async def aassemble(self, request: Assemble) -> Context:
        """Async version of `assemble`."""
        config, store = request.limit_config(self.assembly), self.store(request.filter)
        return await aassemble(request.hits, config, store=store, **self._assemble_arguments(request))

    def store(self, filter: Any) -> Any:
        """Return the index as the store of neighbors under the filter of a call.

        None if it has no chunks to fetch, or can't be held to the filter.
        """
        if not (hasattr(self.index, "fetch") or hasattr(self.index, "afetch")):
            return None
        if not is_filter(filter):
            return self.index
        return self.index.with_filter(filter) if hasattr(self.index, "with_filter") else None

    @property
    def reads_whole_store(self) -> bool:
        """True if the search reads the index alone: a channel may filter in a way of its own."""
        return not self.extra_arguments.get("channels")

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that the evidence for a call depends on, but the index: for the key of a cached answer."""
        own = {"retrieval": self.retrieval, "assembly": self.assembly, "scorer": self.scorer}
        return own | {name: one for name, one in self.extra_arguments.items() if name != "on_stage"}

    @property
    def filters(self) -> tuple[Any, ...]:
        """The filters of the index."""
        return getattr(self.index, "filters", None) or ()

    def _search(self, request: Search) -> Retrieved:
        return retrieve(
            narrow_question(request),
            apply_mode(self.retrieval, request),
            index=self.index,
            **self._search_arguments(request),
        )

    async def _asearch(self, request: Search) -> Retrieved:
        given = self._search_arguments(request)
        return await aretrieve(narrow_question(request), apply_mode(self.retrieval, request), index=self.index, **given)

    def _search_arguments(self, request: Search) -> dict[str, Any]:
        return {**self.extra_arguments, **({} if request.mode.rerank else {"rerankers": ()})}

    def _assemble_arguments(self, request: Assemble) -> dict[str, Any]:
        return {
            "query": request.query,
            "supplement": request.supplement,
            "conversation": request.conversation,
            "scorer": self.scorer,
        }


def _search_flow(request: Search, *, is_observed: bool) -> Generator[Search | StageBegan | StageEnded, Any, Retrieved]:
    """Return the reply to `request`, as a stage with the steps of its retrieval within."""
    if is_observed:
        yield StageBegan("retrieve", {"search": request.name, "query": request.question.effective_query})
    found: Retrieved = yield request
    if is_observed:
        yield StageEnded("retrieve", {"chunks": len(found.chunks), "queries": found.trace.round_trips})
    return found


def narrow_question(request: Search) -> Question:
    """Return the question of a search, its filter narrowed by the conditions that the model inferred."""
    question, inferred = request.question, request.inferred_filter
    condition: Any = as_predicate(inferred) if callable(question.filter) and inferred else inferred
    allowed = "a mapping or a function, where a model may narrow it (filter_fields)"
    combined = combine_filters(question.filter, condition, "filter", allowed, culprit=question.filter)
    return replace(question, filter=combined)


def apply_mode(config: RetrievalConfig, request: Search) -> RetrievalConfig:
    """Return the retrieval settings for one search: of each setting of its mode and of `config` the wider one."""
    mode = request.mode
    limit = max(mode.limit or 0, config.limit)
    candidates = config.candidates
    if mode.candidates or candidates:
        candidates = max(mode.candidates or 0, config.candidates_per_channel, limit)
    floors = (config.min_similarity, mode.min_similarity)
    return replace(
        config,
        limit=limit,
        candidates=candidates,
        rerank_candidates=config.rerank_candidates and max(mode.candidates or 0, config.rerank_candidates),
        min_similarity=config.min_similarity if None in floors else min(floors),  # type: ignore[type-var]
        strategy="keyword" if request.is_keyword_only and config.strategy == "hybrid" else config.strategy,
    )


@dataclass(frozen=True, slots=True)
class AnswerChain:
    """Answers questions from what `source` finds, in the words of `model`. It keeps nothing between calls.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> def model(request):
    ...     return "In the morning [1]."
    >>> chain = AnswerChain.from_index(index, model, RetrievalConfig(strategy="keyword"))
    >>> first = chain.answer("When is ferritin measured?")
    >>> first.text, first.citations[0].document_id, first.finish_reason
    ('In the morning [1].', 'lab', None)
    >>> [type(event).__name__ for event in chain.stream("When is ferritin measured?")]
    ['AnswerPiece', 'Answer']
    >>> chain.answer("asdkjh qwe zzzz").abstention_reason
    'retrieval: nothing usable was found'

    Any number of conversations may use it at the same time.
    """

    model: ChatModel
    """A function from a request to its reply, or an object as `ChatModel` describes it."""
    source: IndexEvidence
    """What searches and assembles. With a cache it has `settings`, too: what its evidence depends on, as plain data. If
    it has `assembly`, an AssemblyConfig, refusals are in its language, and the whole prompt is held to the window of
    its TokenBudget."""
    config: AnswerConfig = field(default_factory=AnswerConfig)
    cache: AnswerCache | None = None
    """The cache of answers. It is used only while the conversation has no labels, since a cached answer keeps its
    own."""
    cache_scope: CacheScope | None = None
    """Who may share cached answers: a value, or a function from a `ScopeCall` to one. If it returns None, the answer is
    neither read from the cache nor kept."""

    def __post_init__(self) -> None:
        if not isinstance(self.config, AnswerConfig):
            raise InputError(f"config must be an AnswerConfig, got {safe_repr(self.config)}")
        check_chat_model(self.model)
        check_cache(self.cache, self.cache_scope)
        if self.cache is not None and not hasattr(self.source, "settings"):
            kind = type(self.source).__name__
            raise InputError(f"{kind} has no settings, on which a kept answer depends: add them, or leave out cache=")

    @classmethod
    def from_index(
        cls,
        index: Any,
        model: ChatModel,
        retrieval: RetrievalConfig | None = None,
        assembly: AssemblyConfig | System | None = None,
        config: AnswerConfig | None = None,
        *,
        cache: AnswerCache | None = None,
        cache_scope: CacheScope | None = None,
        scorer: AsyncScorer | Scorer | None = None,
        **retrieve_arguments: Any,
    ) -> AnswerChain:
        """Return the chain over `index`. `retrieve_arguments` are further arguments of `retrieve`, such as `embed`.

        `scorer` is what `assemble` takes.
        """
        check_scorer(scorer)
        retrieval, *_ = prepare_search(retrieval, index=index, **retrieve_arguments)
        assembly = assembly or AssemblyConfig()
        counter_for(settings_of(assembly).encoding)  # a missing vocabulary is an error now
        source = IndexEvidence(index, retrieval, assembly, retrieve_arguments, scorer)
        return cls(model, source, config or AnswerConfig(), cache, cache_scope)

    def answer(
        self,
        question: str,
        *,
        history: Sequence[Exchange] = (),
        conversation: Conversation | None = None,
        mode: str = "normal",
        filter: Any = None,
    ) -> Answer:
        """Return the answer to `question`.

        Args:
            question: the user's question.
            history: the questions and answers so far, oldest first; `Answer.exchange` is the next one.
            conversation: the labels so far, so that none refers to two sources; `Answer.conversation` is the next one.
            mode: "normal", "full", "escalated", or another of `config.modes`.
            filter: the filter that hits and neighbors must pass, in the form of the index.

        Raises:
            AnswerError: the model failed, or returned nothing.
            ConfigError: the mode is unknown, or retrieval lacks what its strategy needs.
            InputError: an argument has the wrong type, or can only be awaited.
            StoreError: no search answered.
        """
        return self._start_run(question, history, conversation, mode, filter).answer()

    async def aanswer(
        self,
        question: str,
        *,
        history: Sequence[Exchange] = (),
        conversation: Conversation | None = None,
        mode: str = "normal",
        filter: Any = None,
    ) -> Answer:
        """Async version of `answer`."""
        return await self._start_run(question, history, conversation, mode, filter).aanswer()

    def stream(
        self,
        question: str,
        *,
        history: Sequence[Exchange] = (),
        conversation: Conversation | None = None,
        mode: str = "normal",
        filter: Any = None,
    ) -> Iterator[AnswerPiece | Answer]:
        """Yield the pieces of the answer as they settle, then the answer itself. Arguments and errors as for `answer`.

        If an error follows the first piece, there is no answer: the pieces so far are incomplete.
        """
        yield from self._start_run(question, history, conversation, mode, filter, is_streamed=True).events()

    async def astream(
        self,
        question: str,
        *,
        history: Sequence[Exchange] = (),
        conversation: Conversation | None = None,
        mode: str = "normal",
        filter: Any = None,
    ) -> AsyncIterator[AnswerPiece | Answer]:
        """Async version of `stream`."""
        run = self._start_run(question, history, conversation, mode, filter, is_streamed=True)
        async with aclosing(run.aevents()) as events:
            async for event in events:
                yield event

    def _start_run(
        self,
        question: str,
        history: Sequence[Exchange],
        conversation: Conversation | None,
        mode: str,
        filter: Any,
        *,
        is_streamed: bool = False,
    ) -> AnswerRun:
        parts = ChainParts(self.model, self.source, self.config, self.cache, self.cache_scope)
        call = AnswerCall(
            check_question(question),
            check_history(history),
            mode,
            filter,
            is_streamed=is_streamed,
            conversation=given_conversation(conversation) or Conversation(),
        )
        return AnswerRun(parts, call)


def understand(
    question: str, config: AnswerConfig | None = None, *, model: ChatModel, history: Sequence[Exchange] = ()
) -> QueryUnderstanding:
    """Run only the step before retrieval: intent, rewriting, filters and sub-questions, as `config` enables them.

    >>> from ctxassembly.answering import AnswerConfig, Intent
    >>> config = AnswerConfig(intents=(Intent("practical", "Parking."), Intent("care", "Treatments.")))
    >>> def model(request):
    ...     return '{"intent": "practical", "confidence": 0.9}'
    >>> understand("Is parking free?", config, model=model).intent
    'practical'
    """
    config = config or AnswerConfig()
    flow = understand_flow(check_question(question), check_history(history), config, today())
    return drive(flow, AskedModel(model).ports)[0]


async def aunderstand(
    question: str, config: AnswerConfig | None = None, *, model: ChatModel, history: Sequence[Exchange] = ()
) -> QueryUnderstanding:
    """Async version of `understand`.

    >>> import asyncio
    >>> asyncio.run(aunderstand("Is parking free?", model=lambda request: "{}")).rewritten is None
    True
    """
    config = config or AnswerConfig()
    flow = understand_flow(check_question(question), check_history(history), config, today())
    return (await adrive(flow, AskedModel(model).ports))[0]


def check_question(question: Any) -> str:
    """Return `question` if it is a string.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(question, str):
        raise InputError(f"question must be a string, got {safe_repr(question)}")
    return question


def check_history(history: Any) -> tuple[Exchange, ...]:
    """Return `history` as a tuple.

    Raises:
        InputError: there is something else than an Exchange in it.
    """
    if not isinstance(history, (list, tuple)) or not all(isinstance(one, Exchange) for one in history):
        raise InputError(f"history must be a sequence of Exchange, got {safe_repr(history)}")
    return tuple(history)
