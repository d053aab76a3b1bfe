"""`AnswerChain`: a question in a conversation in, an answer with its citations out."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from ctxassembly.chain.answer import Answer, AnswerPiece
from ctxassembly.chain.call import Call
from ctxassembly.chain.flow import Flow, answer_flow
from ctxassembly.chain.reach import Hidden, Reach, reach
from ctxassembly.chain.requests import Exchange
from ctxassembly.chain.understand import understand_flow
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.conversations.labels import Labels
from ctxassembly.data.retrieval import Understanding
from ctxassembly.drivers.answering import Answering
from ctxassembly.drivers.run import arun, astream_run, run, stream_run
from ctxassembly.drivers.scorers import check_scorer
from ctxassembly.drivers.source import EvidenceSource, IndexSource
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import AnswerCache, AsyncScorer, ChatModel, Scorer
from ctxassembly.safe_repr import shown
from ctxassembly.user_warnings import Once

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
    return reach(source=Hidden(type(source).__name__))


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
