"""`AnswerChain`: a question in a conversation in, an answer with its citations out."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol, cast

from ctxassembly.answering.answer import Answer, AnswerPiece
from ctxassembly.answering.cache_key import Hidden, Reach, reach, reach_over
from ctxassembly.answering.call import Call
from ctxassembly.answering.pipeline import Flow, answer_flow
from ctxassembly.answering.requests import Assemble, Exchange, Readmit, Search
from ctxassembly.answering.search import agreeing, as_stored, passing, refs_of
from ctxassembly.answering.understand import understand_flow
from ctxassembly.concurrency import in_thread
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.context import Context
from ctxassembly.conversations.labels import Labels
from ctxassembly.data.chunks import Hit
from ctxassembly.data.filters import as_predicate, combined
from ctxassembly.data.retrieval import Understanding
from ctxassembly.data.trace import StageBegan, StageEnded
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import AnswerCache, AsyncScorer, ChatModel, Scorer
from ctxassembly.retrieval.search import Question
from ctxassembly.retrieved import Retrieved
from ctxassembly.runtime.answer_services import Answering
from ctxassembly.runtime.assemble import aassemble, assemble
from ctxassembly.runtime.driver import arun, arun_watched, astream_run, run, run_watched, stream_run
from ctxassembly.runtime.retrieve import aretrieve, retrieve
from ctxassembly.runtime.scorers import check_scorer
from ctxassembly.safe_repr import shown
from ctxassembly.user_warnings import Once


class EvidenceSource(Protocol):
    """What an answer chain searches with and assembles by. It may have `asearch` and `aassemble`, too.

    With `readmit(request)` it says which chunks of a conversation a call may read; without it they have to agree with
    a hit, as neighbours have to where the filter can't be seen. With `reach(filter)` it says what a call may read;
    without it no answer is cached.
    """

    def search(self, request: Search) -> Retrieved:
        """The hits for one search."""

    def assemble(self, request: Assemble) -> Context:
        """The context of the hits of all searches."""


@dataclass(frozen=True, slots=True)
class IndexSource:
    """An `EvidenceSource` over an index."""

    index: Any
    retrieval: RetrievalConfig
    assembly: AssemblyConfig
    labels: Labels | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    """The other arguments of `retrieve`."""
    scorer: Any = None
    """The scorer of the assembly."""

    def search(self, request: Search) -> Retrieved:
        """The hits for one search. It is a stage of its own: several may be under way at once."""
        on_stage = self.given.get("on_stage")
        return self._search(request) if on_stage is None else run_watched(_stage(request), self._search, on_stage)

    async def asearch(self, request: Search) -> Retrieved:
        """The same, awaited."""
        on_stage = self.given.get("on_stage")
        if on_stage is None:
            return await self._asearch(request)
        return await arun_watched(_stage(request), self._asearch, on_stage)

    def assemble(self, request: Assemble) -> Context:
        """The context, with neighbours from the index if it has them, held to the filter."""
        return assemble(request.hits, self.assembly, store=self._store(request), **self._assembled(request))

    async def aassemble(self, request: Assemble) -> Context:
        """The same, awaited."""
        store = self._store(request)
        return await aassemble(request.hits, self.assembly, store=store, **self._assembled(request))

    def readmit(self, request: Readmit) -> tuple[Hit, ...]:
        """Those of the chunks cited before that are in the index, and pass every filter of the call, as it has them."""
        store, cited = self._looked_up(request), self._readable(request)
        return as_stored(cited, store.fetch(refs_of(cited))) if hasattr(store, "fetch") else cited

    async def areadmit(self, request: Readmit) -> tuple[Hit, ...]:
        """The same, awaited."""
        store, cited = self._looked_up(request), self._readable(request)
        if store is None:
            return cited
        return as_stored(
            cited, await (store.afetch if hasattr(store, "afetch") else in_thread(store.fetch))(refs_of(cited))
        )

    def reach(self, filter: Any) -> Reach:
        """What a call with `filter` may read."""
        given = self.given.get("channels") or {}
        channels = {name: Hidden(f"channels[{name!r}]", one) for name, one in given.items()}
        return reach_over(self.index, filter, self.assembly, channels)

    def _looked_up(self, request: Readmit) -> Any:
        """The index held to the filter, if it can be, and can be asked for a chunk by its id."""
        return self._store(request) if hasattr(self.index, "under") else None

    def _readable(self, request: Readmit) -> tuple[Hit, ...]:
        """The same as far as it is known without asking: channels, or an index without `under`, may filter, too."""
        cited, channels = request.cited, self.given.get("channels")
        if self._looked_up(request) is None:
            conditions = (request.filter, *(getattr(self.index, "filters", None) or ()))
            cited = passing(cited, [as_predicate(condition) for condition in conditions])
        elif not channels:
            return cited
        return cited if self.assembly.neighbours == "unfiltered" else agreeing(cited, request.found, self.assembly)

    def _search(self, request: Search) -> Retrieved:
        return retrieve(narrowed(request), in_mode(self.retrieval, request), index=self.index, **self._given(request))

    async def _asearch(self, request: Search) -> Retrieved:
        given = self._given(request)
        return await aretrieve(narrowed(request), in_mode(self.retrieval, request), index=self.index, **given)

    def _given(self, request: Search) -> dict[str, Any]:
        return {**self.given, **({} if request.mode.rerank else {"rerankers": ()})}

    def _store(self, request: Assemble | Readmit) -> Any:
        if not (hasattr(self.index, "fetch") or hasattr(self.index, "afetch")):
            return None
        return self.index.under(request.filter) if hasattr(self.index, "under") else self.index

    def _assembled(self, request: Assemble) -> dict[str, Any]:
        return {"query": request.query, "supplement": request.supplement, "labels": self.labels, "scorer": self.scorer}


def _stage(request: Search) -> Generator[Search | StageBegan | StageEnded, Any, Retrieved]:
    """`request` as a stage, with the steps of its retrieval within."""
    yield StageBegan("retrieve", {"search": request.name, "query": request.question.meant})
    found: Retrieved = yield request
    yield StageEnded("retrieve", {"chunks": len(found.found), "queries": found.trace.round_trips})
    return found


def narrowed(request: Search) -> Question:
    """The question of a search, its filter narrowed by what the model inferred."""
    question, inferred = request.question, request.narrowed
    given: Any = as_predicate(inferred) if callable(question.filter) and inferred else inferred
    allowed = "a mapping or a function, where a model may narrow it (filter_fields)"
    return replace(question, filter=combined(question.filter, given, "filter", allowed, culprit=question.filter))


def in_mode(config: RetrievalConfig, request: Search) -> RetrievalConfig:
    """The settings of retrieval for one search: those of the mode in the place of its own."""
    mode = request.mode
    limit = mode.kept or config.limit
    candidates = mode.candidates or config.candidates
    similarity = config.min_similarity if mode.min_similarity is None else mode.min_similarity
    return replace(
        config,
        limit=limit,
        candidates=None if candidates is None else max(candidates, limit),
        rerank_candidates=mode.candidates or config.rerank_candidates,
        min_similarity=similarity,
        strategy="keyword" if request.by_words and config.strategy == "hybrid" else config.strategy,
    )


REMEDY = (
    "Write filters as mappings, which can be compared, or say AssemblyConfig(neighbours='unfiltered') if every caller "
    "may read everything"
)


@dataclass(frozen=True, slots=True)
class AnswerChain:
    """Answers questions from what `source` finds, in the words of `model`. It keeps nothing between calls.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> def model(request):
    ...     return "In the morning [1]."
    >>> chain = AnswerChain.over(index, model, RetrievalConfig(strategy="keyword"))
    >>> first = chain.answer("When is ferritin measured?")
    >>> first.text, first.citations[0].document_id, first.finish
    ('In the morning [1].', 'lab', None)
    >>> [type(event).__name__ for event in chain.stream("When is ferritin measured?")]
    ['AnswerPiece', 'Answer']
    >>> chain.answer("asdkjh qwe zzzz").abstained
    'retrieval: nothing usable was found'

    Any number of conversations may use it at the same time.
    """

    model: ChatModel
    """A function from a request to its reply, or an object as `ChatModel` describes it."""
    source: EvidenceSource
    """What searches and assembles."""
    config: AnswerConfig = field(default_factory=AnswerConfig)
    cache: AnswerCache | None = None
    """Where answers are kept, by the question as it was rewritten. Not for a source with the labels of a conversation:
    an answer that is kept has the labels it had."""

    _warned: Once = field(default_factory=Once, init=False, repr=False, compare=False)
    """The warning given."""

    def __post_init__(self) -> None:
        if not isinstance(self.config, AnswerConfig):
            raise InputError(f"config must be an AnswerConfig, got {shown(self.config)}")
        if self.cache is not None and not (hasattr(self.cache, "get") and hasattr(self.cache, "set")):
            raise InputError(f"cache must have get(key) and set(key, entry), got {shown(self.cache)}")
        if self.cache is not None and getattr(self.source, "labels", None) is not None:
            raise ConfigError(
                "cache", "None where the source has labels=: a kept answer has the labels it had", self.cache
            )

    @classmethod
    def over(
        cls,
        index: Any,
        model: ChatModel,
        retrieval: RetrievalConfig | None = None,
        assembly: AssemblyConfig | None = None,
        config: AnswerConfig | None = None,
        *,
        labels: Labels | None = None,
        cache: AnswerCache | None = None,
        scorer: AsyncScorer | Scorer | None = None,
        **given: Any,
    ) -> AnswerChain:
        """The chain over `index`. `given` is what `retrieve` takes besides: `embed`, `taxonomy`, `rerankers` and so on.

        `labels` are those of one conversation, so that no label of it means two sources. `scorer` is what `assemble`
        takes.
        """
        check_scorer(scorer)
        retrieval, assembly = retrieval or RetrievalConfig(), assembly or AssemblyConfig()
        source = IndexSource(index, retrieval, assembly, labels, given, scorer)
        return cls(model, source, config or AnswerConfig(), cache)

    def answer(
        self, question: str, *, history: Sequence[Exchange] = (), mode: str = "normal", filter: Any = None
    ) -> Answer:
        """The answer to `question`.

        Args:
            question: the user's question.
            history: the conversation so far, oldest first; `Answer.exchange` is the next one.
            mode: "normal", "full", "escalated", or another of `config.modes`.
            filter: what chunks have to satisfy, as the index reads it. It holds in every search and for neighbours.

        Raises:
            AnswerError: the model failed, or said nothing.
            ConfigError: the mode is unknown, or retrieval lacks what its strategy needs.
            InputError: an argument has the wrong type, or can only be awaited.
            SearchError: no search answered.
        """
        *_, answer = self._events(question, history, mode, filter)
        return cast(Answer, answer)

    async def aanswer(
        self, question: str, *, history: Sequence[Exchange] = (), mode: str = "normal", filter: Any = None
    ) -> Answer:
        """The same as `answer`, awaited."""
        answer: Any = None
        async for answer in self._awaited_events(question, history, mode, filter):  # noqa: B007 - the last one counts
            pass
        return cast(Answer, answer)

    def stream(
        self, question: str, *, history: Sequence[Exchange] = (), mode: str = "normal", filter: Any = None
    ) -> Iterator[AnswerPiece | Answer]:
        """The pieces of the answer as they settle, then the answer itself. Arguments and errors as with `answer`.

        An error after the first piece means that there is no answer: the pieces given on are half of one.
        """
        return self._events(question, history, mode, filter, streamed=True)

    def astream(
        self, question: str, *, history: Sequence[Exchange] = (), mode: str = "normal", filter: Any = None
    ) -> AsyncIterator[AnswerPiece | Answer]:
        """The same as `stream`, awaited."""
        return self._awaited_events(question, history, mode, filter, streamed=True)

    def _events(self, *call: Any, streamed: bool = False) -> Iterator[AnswerPiece | Answer]:
        with Answering(self.model, self.source, self.config, self.cache) as asking:
            yield from stream_run(self._flow(*call, streamed=streamed), asking.ask, AnswerPiece)

    async def _awaited_events(self, *call: Any, streamed: bool = False) -> AsyncIterator[AnswerPiece | Answer]:
        async with Answering(self.model, self.source, self.config, self.cache) as asking:
            async for event in astream_run(self._flow(*call, streamed=streamed), asking.aask, AnswerPiece):
                yield event

    def _flow(self, question: str, history: Sequence[Exchange], mode: str, filter: Any, *, streamed: bool) -> Flow:
        found = reach_of(self.source, filter).warn(self._warned, REMEDY) if self.cache is not None else None
        call = Call(checked(question), checked_history(history), mode, filter, today(), streamed, found)
        return answer_flow(call, self.config, time.perf_counter)


def reach_of(source: Any, filter: Any) -> Reach:
    """What a call with `filter` may read of `source`; one that doesn't say it may filter by itself."""
    if hasattr(source, "reach"):
        found: Reach = source.reach(filter)
        return found
    return reach(source=Hidden(type(source).__name__, source))


def understand(
    question: str, config: AnswerConfig | None = None, *, model: ChatModel, history: Sequence[Exchange] = ()
) -> Understanding:
    """The step before retrieval alone: intent, rewriting, filters and sub-questions, as far as `config` asks for them.

    >>> from ctxassembly import AnswerConfig, Intent
    >>> config = AnswerConfig(intents=(Intent("practical", "Parking."), Intent("care", "Treatments.")))
    >>> def model(request):
    ...     return '{"intent": "practical", "confidence": 0.9}'
    >>> understand("Is parking free?", config, model=model).intent
    'practical'
    """
    config = config or AnswerConfig()
    flow = understand_flow(checked(question), checked_history(history), config, today())
    return run(flow, Answering(model, None, config).ask)[0]


async def aunderstand(
    question: str, config: AnswerConfig | None = None, *, model: ChatModel, history: Sequence[Exchange] = ()
) -> Understanding:
    """The same as `understand`, awaited.

    >>> import asyncio
    >>> asyncio.run(aunderstand("Is parking free?", model=lambda request: "{}"))
    Understanding(intent=None, confidence=None, rewritten=None, keywords=(), filter={}, sub_questions=(), notes=())
    """
    config = config or AnswerConfig()
    flow = understand_flow(checked(question), checked_history(history), config, today())
    return (await arun(flow, Answering(model, None, config).aask))[0]


def today() -> str:
    """The date, for words like "this year" in a question."""
    return datetime.now().astimezone().date().isoformat()


def checked(question: Any) -> str:
    """`question`, if it is a text.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(question, str):
        raise InputError(f"question must be a string, got {shown(question)}")
    return question


def checked_history(history: Any) -> tuple[Exchange, ...]:
    """`history` as a tuple.

    Raises:
        InputError: there is something else than an Exchange in it.
    """
    if not isinstance(history, (list, tuple)) or not all(isinstance(one, Exchange) for one in history):
        raise InputError(f"history must be a sequence of Exchange, got {shown(history)}")
    return tuple(history)
