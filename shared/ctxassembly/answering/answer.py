"""An answer with all that it rests on, and the events of one that is streamed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from ctxassembly.answering.requests import Exchange, ModelReply
from ctxassembly.citations.reader import Resolved, answer_begin
from ctxassembly.citations.references import Reference
from ctxassembly.citations.support import Quote
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.data.chunks import Hit, Span
from ctxassembly.data.citations import Citation
from ctxassembly.data.retrieval import QueryUnderstanding, Retrieved
from ctxassembly.serialization import to_plain
from ctxassembly.text.sentences import sentence_ends
from ctxassembly.tracing import Stages
from ctxassembly.wording.prompts import NOT_ENOUGH

_NON_SPACE, _LEADING_MARKER = re.compile(r"\S"), re.compile(r"\s*\[")


@dataclass(frozen=True, slots=True)
class Quality:
    """Counts over an answer and its citations.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> context = assemble([Hit(Chunk(name, name, f"Ask the {name}.")) for name in ("nurse", "surgeon")])
    >>> said = "Ask the nurse [1]. Or anybody [7]. It helps."
    >>> measure_quality(said, context.resolve(said, mode="keep"), context.check_quotes(said))
    Quality(sentences=3, labeled=0.3333333333333333, unknown_labels=1, quotes=0, quotes_not_found=0, unused=1)
    """

    sentences: int
    labeled: float | None
    """Share of the sentences with a label that the context has; None without sentences."""
    unknown_labels: int
    quotes: int
    quotes_not_found: int
    unused: int
    """Citations of the context that the answer doesn't use."""


def measure_quality(text: str, resolved: Resolved, quotes: Sequence[Quote]) -> Quality:
    """Return the quality of `text`, the answer as the model wrote it."""
    ends = [*sentence_ends(text), len(text)]
    first = answer_begin(text)
    spans = ((max(begin, first), end) for begin, end in pairwise([0, *ends]))
    sentences = [(begin, end) for begin, end in spans if text[begin:end].strip()]
    labeled_sentences = _labeled_sentences([mark.span[0] for mark in resolved.marks if mark.labels], text, sentences)
    return Quality(
        sentences=len(sentences),
        labeled=len(labeled_sentences) / len(sentences) if sentences else None,
        unknown_labels=len(resolved.unknown),
        quotes=len(quotes),
        quotes_not_found=sum(not quote.found for quote in quotes),
        unused=len(resolved.unused),
    )


def _labeled_sentences(marker_offsets: Sequence[int], text: str, sentences: Sequence[Span]) -> set[int]:
    """Return the indices of the sentences that the markers at `marker_offsets` (ascending) belong to.

    One after a full stop speaks for the sentence before, unless the answer puts markers first: "[1] says ... [2] says".
    """
    has_leading_marker = _LEADING_MARKER.match(text) is not None
    found: set[int] = set()
    sentence, text_start = -1, -1
    for offset in marker_offsets:
        while sentence < 0 or offset >= sentences[sentence][1]:
            sentence += 1
            first_character = _NON_SPACE.search(text, *sentences[sentence])
            text_start = first_character.start() if first_character else -1
        found.add(sentence - 1 if sentence and offset <= text_start and not has_leading_marker else sentence)
    return found


@dataclass(frozen=True, slots=True)
class AnswerStep:
    """One step of an answer chain and its cost.

    >>> AnswerStep("understand", "practical", 3.2, 210, 14).name
    'understand'
    """

    name: str
    """"understand", "retrieve", "assemble", "summarize" or "answer"; "recall" for an answer from the cache."""
    outcome: str
    """One line for a reader."""
    elapsed_ms: float = field(default=0.0, compare=False)
    tokens_in: int | None = None
    """Tokens that the model read; None if it doesn't say, or wasn't asked."""
    tokens_out: int | None = None


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Calls of models, and the tokens that they read and wrote.

    >>> usage = TokenUsage(calls=2, tokens_in=240, tokens_out=10)
    >>> usage.tokens_in + usage.tokens_out
    250
    """

    calls: int = 0
    """Calls whose tokens are known: some models don't report them."""
    tokens_in: int = 0
    tokens_out: int = 0
    elapsed_ms: float = field(default=0.0, compare=False, repr=False)
    """The time of all steps, searches included."""


def total_usage(answers: Iterable[Answer]) -> TokenUsage:
    """Return the totals over several answers, such as all of a conversation.

    >>> from ctxassembly import AnswerChain, Chunk, MemoryIndex, RetrievalConfig
    >>> from ctxassembly.answering import ModelReply
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> def model(request):
    ...     return ModelReply("In the morning [1].", tokens_in=120, tokens_out=5)
    >>> chain = AnswerChain.from_index(index, model, RetrievalConfig(strategy="keyword"))
    >>> total_usage(chain.answer("When is ferritin measured?") for _ in range(3))
    TokenUsage(calls=3, tokens_in=360, tokens_out=15)
    """
    steps = [step for answer in answers for step in answer.steps]
    known = [step for step in steps if step.tokens_in is not None or step.tokens_out is not None]
    return TokenUsage(
        calls=len(known),
        tokens_in=sum(step.tokens_in or 0 for step in known),
        tokens_out=sum(step.tokens_out or 0 for step in known),
        elapsed_ms=sum(step.elapsed_ms for step in steps),
    )


@dataclass(slots=True)
class AnswerRecorder(Stages):
    """The steps so far, and the fallbacks taken."""

    steps: list[AnswerStep] = field(default_factory=list)

    def record_step(self, name: str, outcome: str, reply: ModelReply | None = None) -> None:
        """Note a step that ends now and began where the one before ended."""
        counts = (reply.tokens_in, reply.tokens_out) if reply else (None, None)
        self.steps.append(AnswerStep(name, outcome, self.lap(), *counts))


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, its citations, and every decision that led to it.

    >>> from ctxassembly import AnswerChain, Chunk, MemoryIndex, RetrievalConfig
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> keyword = RetrievalConfig(strategy="keyword")
    >>> chain = AnswerChain.from_index(index, lambda request: "In the morning [1].", keyword)
    >>> answer = chain.answer("When is ferritin measured?")
    >>> print(answer, [citation.document_id for citation in answer.citations], answer.quality.labeled)
    In the morning [1]. ['lab'] 1.0
    """

    question: str
    """The question as it was asked."""
    text: str
    """The answer; for a voice without labels."""
    mode: str
    understanding: QueryUnderstanding
    context: Context | None = None
    """The context that the model read, also for an answer that was refused; None if it wasn't asked."""
    resolved: Resolved | None = None
    """The citations that the text uses, and its markers; None if the text isn't the model's. Of a context that shows no
    labels, as for a voice, all citations are used."""
    quotes: tuple[Quote, ...] = ()
    """The quotes of the text, each looked up in its source."""
    quality: Quality | None = None
    hits: tuple[Hit, ...] = ()
    """The chunks before assembly, best first."""
    retrieved: Mapping[str, Retrieved] = field(default_factory=dict, hash=False)
    """The outcome of each search, by its name."""
    abstention_reason: str | None = None
    """The reason that the text isn't the model's: it wasn't asked, or its answer was refused; None otherwise."""
    unanswered: tuple[str, ...] = ()
    """Sub-questions that couldn't be searched for."""
    finish_reason: str | None = None
    """The reason that the model ended by, in the provider's words, such as "stop"."""
    steps: tuple[AnswerStep, ...] = ()
    notes: tuple[str, ...] = ()
    """Fallbacks taken, and a note if the answer was cut."""
    conversation: Conversation = field(default_factory=Conversation)
    """The conversation for the next question, with the labels of this answer's context."""

    @property
    def is_truncated(self) -> bool:
        """True if the model had no more room, so that the end of its answer is missing."""
        return ModelReply("", self.finish_reason).is_truncated

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The citations that the text uses, in order of first use; all of a context that shows no labels."""
        return self.resolved.citations if self.resolved else ()

    @property
    def sources(self) -> tuple[Reference, ...]:
        """The documents that the model read, for a voice to name."""
        return self.context.sources() if self.context else ()

    @property
    def exchange(self) -> Exchange:
        """This question and answer, for the history of the next one, with the documents that it cited."""
        cited = dict.fromkeys(citation.document_id for citation in self.citations)
        return Exchange(self.question, self.text, tuple(cited))

    def to_dict(self) -> dict[str, Any]:
        """Return the answer and its trace as dicts, lists, strings and numbers: for JSON, a log or a table."""
        return {
            "question": self.question,
            "answer": self.text,
            "mode": self.mode,
            "understanding": to_plain(self.understanding),
            "context": self.context.to_dict() if self.context else None,
            "citations": [to_plain(citation) for citation in self.citations],
            "unknown_labels": list(self.resolved.unknown) if self.resolved else [],
            "quotes": [to_plain(quote) for quote in self.quotes],
            "quality": to_plain(self.quality) if self.quality else None,
            "hits": [{"chunk_id": hit.chunk.id, "score": hit.score} for hit in self.hits],
            "retrieval": {name: to_plain(found.trace) for name, found in self.retrieved.items()},
            "abstained": self.abstention_reason,
            "unanswered": list(self.unanswered),
            "finish": self.finish_reason,
            "is_truncated": self.is_truncated,
            "steps": [to_plain(step) for step in self.steps],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        return self.text


MIN_LABELED = 0.5
"""The least share of sentences with a label. An introduction and a closing sentence need none."""


def find_weakness(answer: Answer) -> str | None:
    """Return what is weak about `answer`; None if nothing is.

    >>> from ctxassembly import AnswerChain, Chunk, MemoryIndex, RetrievalConfig
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> chain = AnswerChain.from_index(index, lambda request: "In the morning.", RetrievalConfig(strategy="keyword"))
    >>> find_weakness(chain.answer("When is ferritin measured?")), find_weakness(chain.answer("xyzzy"))
    ('0 of 1 sentences have a label', 'retrieval: nothing usable was found')
    """
    if answer.abstention_reason is not None or answer.quality is None:
        return answer.abstention_reason
    if any(sentence in answer.text for sentence in NOT_ENOUGH.values()):
        return "the context doesn't suffice"
    quality = answer.quality
    if quality.unknown_labels or quality.quotes_not_found:
        return f"{quality.unknown_labels:,} unknown labels, {quality.quotes_not_found:,} quotes not found"
    has_labels = answer.context is not None and answer.context.has_labels
    if has_labels and quality.labeled is not None and quality.labeled < MIN_LABELED:
        return f"{round(quality.labeled * quality.sentences):,} of {quality.sentences:,} sentences have a label"
    return None


def strength(answer: Answer) -> tuple[bool, bool, float]:
    """Return a key by which the better of two answers sorts higher: it answers, has no weakness, has more labels."""
    labeled = answer.quality.labeled if answer.quality else None
    return answer.abstention_reason is None, find_weakness(answer) is None, labeled or 0.0


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """A piece of an answer that no later piece changes.

    >>> AnswerPiece("Until two hours before [1].", ("1",)).labels
    ('1',)
    """

    text: str
    labels: tuple[str, ...] = ()
    """The labels of the context in it."""
