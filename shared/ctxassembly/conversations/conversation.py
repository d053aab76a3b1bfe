"""A conversation: the contexts that were sent, their labels, and what of them the model still sees.

It is a value: nothing in it changes, and it can be kept in a checkpoint. Messages are the only source of what the model
sees. Text that was trimmed, summarized or edited away is in no message, and is sent again when it is found again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ctxassembly.concurrency import lock
from ctxassembly.config.assembly import MAX_FIRST_LABEL
from ctxassembly.conversations.sent import SentContext, check_tools, merge_citations, warn_unread
from ctxassembly.data.citations import Citation, ContextData
from ctxassembly.data.validation import check_int, check_type
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.serialization import to_plain


@dataclass(frozen=True, slots=True)
class Conversation:
    """The contexts of a conversation. Assemble the next one with it: text isn't sent twice, and labels continue.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> chunks = [Chunk(f"gastro#{at}", "gastro", text, at) for at, text in enumerate(["Drink water.", "Then rest."])]
    >>> first = assemble([Hit(chunks[0])], conversation=Conversation())
    >>> print(assemble([Hit(chunk) for chunk in chunks], conversation=Conversation().after(first)))
    [2] Source: unknown
    [1] continues above
    Then rest.
    """

    sent: tuple[SentContext, ...] = ()
    """The contexts so far, in order."""
    next_label: int = 1
    """The first new label of the next context."""
    label_step: int = 1
    """The distance between its new labels. Contexts assembled in parallel take turns: see `shared`."""
    labels: Labels | None = field(default=None, compare=False)
    """The counter of new labels, for contexts that are assembled with the same conversation at the same time, such as
    by the engines of one question. It isn't in `to_dict`."""

    def __post_init__(self) -> None:
        # LangGraph restores an object by calling its class with the saved values: here the values of `to_dict`.
        if type(self.sent) is not tuple or not all(isinstance(one, SentContext) for one in self.sent):
            object.__setattr__(self, "sent", _load(self.sent))
        check_int("next_label", self.next_label, 1)
        check_int("label_step", self.label_step, 1, 1_000)
        if not (self.labels is None or isinstance(self.labels, Labels)):
            raise ConfigError("labels", "a Labels() or None", self.labels)

    @classmethod
    def from_messages(cls, messages: Any, tools: Collection[str] = ()) -> Conversation:
        """Return the conversation of `messages`: the messages of a LangGraph state, dicts, texts, or contexts.

        The messages of tools carry contexts as artifacts. They are known by their type, and after a checkpoint by the
        name of the tool: `tools` are these names, as in `resolve`. The model still sees a context that is whole in its
        own message, or in one of the system or the user. Labels stay, even if the text of their message is gone. A
        message that can't be read is skipped with a warning.

        Raises:
            ConfigError: `tools` is no list of names.
            InputError: there is something else among `messages`, or a dict that is no context.
        """
        from ctxassembly.conversations.sources import sent_in  # here, so that assembling alone loads no sources

        found = list(sent_in(messages, check_tools(tools)))
        sent = tuple(_without_conflicts(sent for sent, _ in found))
        return cls(sent, 1 + max((last for _, last in found), default=0)).seen_in(messages, tools)

    def seen_in(self, messages: Any, tools: Collection[str] = ()) -> Conversation:
        """Return the conversation without the text of contexts that `messages` no longer show. Its labels stay."""
        from ctxassembly.conversations.sources import shown_in

        is_shown = shown_in(messages, tools)
        return replace(self, sent=tuple(one if is_shown(one) else one.without_text() for one in self.sent))

    def after(self, context: ContextData) -> Conversation:
        """Return the conversation after `context` was sent.

        Raises:
            InputError: `context` is something else, such as its text.
        """
        if not isinstance(context, ContextData):
            raise InputError(f"context must be a Context, got {safe_repr(context)}")
        labels = [int(citation.label) for citation in context.citations]
        sent = SentContext(context.text, context.citations, context.provenance)
        next_label = max([self.next_label, *(label + 1 for label in labels)])
        return Conversation((*self.sent, sent) if labels else self.sent, next_label, labels=self.labels)

    def join(self, other: Conversation) -> Conversation:
        """Return the conversation with the contexts of `other`, whose new labels are above all of these."""
        new = [one for one in other.sent if one not in self.sent]
        return replace(self, sent=(*self.sent, *new), next_label=max(self.next_label, other.next_label))

    def shared(self, index: int, count: int) -> Conversation:
        """Return the conversation for the assembly at `index` of `count` that run at the same time.

        They share no new label: of two, the first has labels 1 3 5, the other 2 4 6. Afterwards
        `Conversation.from_messages` has them all.
        """
        return replace(self, next_label=self.next_label + index, label_step=count)

    @property
    def free_label(self) -> int:
        """The lowest label that no context of the conversation has."""
        return max(self.next_label, self.labels.next if self.labels else 1)

    @property
    def citations(self) -> tuple[Citation, ...]:
        """A citation for each label, with the chunks of all contexts that have it."""
        return merge_citations([citation for one in self.sent for citation in one.citations])

    def to_dict(self) -> dict[str, Any]:
        """Return the conversation as dicts, lists, strings and numbers: for JSON or a checkpoint."""
        return {
            "sent": [to_plain(one) for one in self.sent],
            "next_label": self.free_label,
            "label_step": self.label_step,
        }

    _asdict = to_dict
    """LangGraph writes this into a checkpoint."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Conversation:
        """Return the conversation that `to_dict` turned into `data`.

        Raises:
            InputError: `data` doesn't come from `to_dict`.
        """
        try:
            return cls(**data)
        except TypeError as error:
            raise InputError(f"a conversation must be as to_dict() gave it, got {safe_repr(data, 80)}") from error


class Labels:
    """The labels part of a `Conversation`: each context assembled with it takes the next ones.

    Contexts assembled one after the other have labels without a gap. Contexts assembled at the same time, in threads or
    on the event loop, never share a label, but a gap may be left between them. A copy counts together with its
    original.

    >>> from ctxassembly import Chunk, Conversation, Hit, assemble
    >>> conversation = Conversation(labels=Labels())
    >>> for name in ("before.pdf", "after.pdf"):
    ...     hits = [Hit(Chunk(name, name, "Drink water.", metadata={"source": name}))]
    ...     print(assemble(hits, conversation=conversation))
    [1] Source: before.pdf
    Drink water.
    [2] Source: after.pdf
    Drink water.
    """

    def __init__(self, first: int = 1) -> None:
        """`first` is the first label of the first context.

        Raises:
            ConfigError: `first` is no integer from 1 to 900,000.
        """
        check_int("first", first, 1, MAX_FIRST_LABEL)
        self._next = first
        self._lock = lock()

    @property
    def next(self) -> int:
        """The first label of the next context."""
        return self._next

    def reserve(self, count: int, least: int = 1) -> int:
        """Reserve `count` labels for one context, none of them below `least`, and return the first of them."""
        with self._lock:
            first = max(self._next, least)
            self._next = first + count
        return first

    def release(self, first: int, end: int) -> None:
        """Release the unused labels from `first` to before `end`; they are lost if others were reserved meanwhile."""
        with self._lock:
            if self._next == end:
                self._next = first

    def claim(self, labels: Sequence[int]) -> bool:
        """Reserve `labels`, which a kept answer has; return False if some of them may be another context's."""
        with self._lock:
            is_free = self._next <= min(labels, default=self._next)
            if is_free:
                self._next = max(self._next, *(label + 1 for label in labels))
        return is_free

    def __repr__(self) -> str:
        return f"Labels({self._next})"

    def __copy__(self) -> Labels:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Labels:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Labels, (self._next,)


def given_conversation(given: Conversation | None) -> Conversation | None:
    """Return the `conversation` of a call, if it is one, or None.

    Raises:
        InputError: it is something else.
    """
    check_type("conversation", given, Conversation)
    return given


def _load(sent: Any) -> tuple[SentContext, ...]:
    try:
        return tuple(one if isinstance(one, SentContext) else SentContext.from_dict(one) for one in sent)
    except Exception as error:  # broken data can raise anything
        raise InputError(f"a conversation must be as to_dict() gave it, got {safe_repr(sent, 80)}") from error


def _without_conflicts(contexts: Iterable[SentContext]) -> Iterator[SentContext]:
    """Yield `contexts` without those whose label another one has given to another source, and warn of these."""
    known: dict[str, tuple[str, str]] = {}
    for sent in contexts:
        labels = {citation.label: (citation.document_id, citation.source) for citation in sent.citations}
        if any(known.get(label, source) != source for label, source in labels.items()):
            warn_unread(f"other sources have its labels {safe_repr([*labels], 80)}")
        else:
            known |= labels
            yield sent


@dataclass(slots=True)
class ReservedLabels:
    """The labels that a context may use. The one value here that changes: those that it doesn't use are released."""

    first: int
    end: int = 0
    labels: Labels | None = None
    """The counter of contexts that are assembled at the same time; None if there is none."""
    used: int = 0

    def use(self, citations: Iterable[Citation]) -> None:
        """Keep the labels of `citations`."""
        if self.labels is not None:
            self.used = max([self.first, *(int(citation.label) + 1 for citation in citations)])

    def release(self) -> None:
        """Give back all others."""
        if self.labels is not None:
            self.labels.release(self.used or self.first, self.end)


def reserve_labels(conversation: Conversation | None, least: int, most: int) -> ReservedLabels:
    """Return the labels for a context that has at `most` so many, none of them below `least`.

    A header is longer by its number, so that is needed before the context is made.
    """
    if conversation is None:
        return ReservedLabels(least)
    first = max(least, conversation.next_label)
    if conversation.labels is None:
        return ReservedLabels(first)
    first = conversation.labels.reserve(most, first)
    return ReservedLabels(first, first + most, conversation.labels)
