"""`AnswerChain`: a question in a conversation in, an answer with its citations out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from ctxassembly.answering.answer import Answer, AnswerPiece
from ctxassembly.answering.cache import CacheScope
from ctxassembly.answering.requests import AnswerCall, Exchange
from ctxassembly.answering.understand import understand_flow
from ctxassembly.assembly.arguments import settings_of
from ctxassembly.assembly.call import System
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.conversations.conversation import Conversation, given_conversation
from ctxassembly.data.retrieval import QueryUnderstanding
from ctxassembly.errors import InputError
from ctxassembly.protocols import AnswerCache, AsyncScorer, ChatModel, Scorer
from ctxassembly.runtime.answer_run import AnswerRun, AskedModel, ChainParts, check_cache, check_chat_model, today
from ctxassembly.runtime.driver import adrive, drive
from ctxassembly.runtime.evidence import Evidence, index_evidence
from ctxassembly.runtime.retrieve import prepare_search
from ctxassembly.runtime.scorers import check_scorer
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tokens.counter import counter_for


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
    source: Evidence
    """What searches and assembles, as `from_index` makes it."""
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
        if not isinstance(self.source, Evidence):
            raise InputError(f"source must be as AnswerChain.from_index makes it, got {safe_repr(self.source)}")
        check_cache(self.cache, self.cache_scope)

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
        source = index_evidence(index, retrieval, assembly, scorer, retrieve_arguments)
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
        parts = ChainParts(self.model, self.config, self.cache, self.cache_scope)
        call = AnswerCall(
            check_question(question),
            check_history(history),
            mode,
            filter,
            is_streamed=is_streamed,
            conversation=given_conversation(conversation) or Conversation(),
        )
        return AnswerRun(parts, self.source, call)


def understand(
    question: str, config: AnswerConfig | None = None, *, model: ChatModel, history: Sequence[Exchange] = ()
) -> QueryUnderstanding:
    """Run only the step before retrieval: intent, rewriting and sub-questions, as `config` enables them.

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
