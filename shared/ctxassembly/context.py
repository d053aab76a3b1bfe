"""The assembled context with its methods: prompt a model, resolve its answer, inspect, save.

A method imports the modules it needs when it is first called, so that assembling alone stays fast to load.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from ctxassembly.data.citations import ContextData
from ctxassembly.serialization import dump_context, load_context
from ctxassembly.wording.formats import shows_labels

if TYPE_CHECKING:
    from ctxassembly.citations.reader import AnswerReader, Mode, Resolved
    from ctxassembly.citations.references import Reference
    from ctxassembly.citations.support import Quote, Support
    from ctxassembly.data.retrieval import Retrieved
    from ctxassembly.views.evidence import Evidence
    from ctxassembly.views.page import View


class ContextDict(dict[str, Any]):
    """A context as `Context.to_dict` gives it: a dict to all others, known here by its type.

    The artifact of any tool may have the keys of a context. A checkpoint writes a plain dict, which is known by the
    name of the tool that the caller gives.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Context(ContextData):
    """The text that the language model reads, with its sources and the reason for every chunk left out.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> said = "Drink water until two hours before."
    >>> context = assemble([Hit(Chunk("gastro#0", "gastro", said, 0, metadata={"source": "gastro.pdf"}))])
    >>> print(context.text)
    [1] Source: gastro.pdf
    Drink water until two hours before.
    >>> context.resolve("Until two hours before [1].").citations[0].source
    'gastro.pdf'
    >>> Context.from_dict(context.to_dict()) == context
    True
    """

    def __post_init__(self) -> None:
        # LangGraph restores an object by calling its class with the saved values: here the values of `to_dict`.
        if isinstance(self.trace, Mapping):
            for name, value in load_context({field.name: getattr(self, field.name) for field in fields(self)}).items():
                object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """Return the context as dicts, lists, strings, numbers and None: for JSON, a cache or a checkpoint of a graph.

        Metadata values of other types become their `str`. Vectors are left out, and so is a function that counts
        tokens.
        """
        return ContextDict(dump_context(self))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | Context) -> Context:
        """Return the context that `to_dict` turned into `data`. A context is returned as it is.

        Raises:
            InputError: `data` doesn't come from `to_dict`.
        """
        if isinstance(data, cls):
            return data
        return cls(**load_context(data))  # type: ignore[arg-type]

    _asdict = to_dict
    """LangGraph writes this into a checkpoint. The object itself would need each of its classes registered there."""

    @property
    def has_labels(self) -> bool:
        """True if a reader sees the labels."""
        return shows_labels(self.format)

    def to_messages(
        self,
        question: str,
        style: str = "grounded",
        extra_instructions: str | None = None,
        *,
        extra_rules: Sequence[str] = (),
        template: str | None = None,
    ) -> list[dict[str, str]]:
        """Return the system and the user message to send, as dicts with `role` and `content`.

        Args:
            question: the user's question.
            style: "grounded", "strict" or "soft", as `system_prompt` describes them.
            extra_instructions: text for the user message.
            extra_rules: rules that come last in the system message.
            template: the user message, with {context} and {question}.
        """
        from ctxassembly.wording.prompts import system_prompt, user_prompt

        system = system_prompt(
            style, form=self.format, language=self.language, supplement=bool(self.supplement), extra_rules=extra_rules
        )
        user = user_prompt(
            self.text, question, language=self.language, extra_instructions=extra_instructions, template=template
        )
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]

    def resolve(self, answer: str, mode: Mode = "renumber") -> Resolved:
        """Return the citations that `answer` uses, and its text with markers renumbered, kept or removed.

        Labels of earlier contexts of the conversation are found, too.
        """
        return self.reader(mode).read(answer)

    def reader(self, mode: Mode = "keep") -> AnswerReader:
        """Return a reader for an answer in pieces: `feed` each, `close`, then read `resolved`. Sync or async."""
        from ctxassembly.citations.reader import AnswerReader

        return AnswerReader(
            self.citations,
            has_labels=self.has_labels,
            mode=mode,
            texts=self._passage_texts,
            earlier=self.earlier_citations,
        )

    def stream(self, pieces: Iterable[str], mode: Mode = "keep") -> Generator[str, None, Resolved]:
        """Yield the text of an answer as it settles; the value of `yield from` is the resolved answer."""
        return self.reader(mode).stream(pieces)

    def _passage_texts(self) -> Iterator[str]:
        from ctxassembly.text.words import normalize_wording

        return (normalize_wording(passage.text) for passage in self.passages)

    def sources(self) -> tuple[Reference, ...]:
        """Return the documents in the context, in reading order and without labels, to be named in a spoken answer."""
        from ctxassembly.citations.references import list_references

        return list_references(self.passages, self.keys)

    def check_quotes(self, answer: str) -> tuple[Quote, ...]:
        """Return the quotes of `answer`, each looked up in the source cited after it; without a citation, in all."""
        from ctxassembly.citations.support import check_quotes

        return check_quotes(answer, self.blocks, self.passages)

    def check_support(self, answer: str) -> tuple[Support, ...]:
        """Return for each sentence of `answer` the score and the label of the passage that supports it best.

        The score is the share of its content words that the passage has.
        """
        from ctxassembly.citations.support import check_support

        return check_support(answer, self.blocks, self.passages)

    def to_html(self, *, evidence: Sequence[Evidence] = (), retrieved: Retrieved | None = None) -> str:
        """Return a page that shows the text for the model, its sources, and the chunks left out with their reasons.

        With `retrieved`, the retrieval that found the hits, it also shows how each was found: its rank in each channel
        and the factors on its score. A context of a `ContextRetriever` has that already.

        It is one file of HTML and CSS without scripts, below a megabyte; parts without room there are counted. A
        notebook shows the same for a context by itself.

        `evidence` is what the model should read: texts, or spans of a document as (id, start, end). The page marks each
        piece, and says whether it is read, was lost (and why), or wasn't retrieved.

        Raises:
            InputError: a piece of evidence is neither a text nor a span.
        """
        return self.view(evidence=evidence, retrieved=retrieved).to_html()

    def view(self, *, evidence: Sequence[Evidence] = (), retrieved: Retrieved | None = None) -> View:
        """Return the same for a notebook, as the last line of a cell.

        >>> from ctxassembly import Chunk, assemble, Hit
        >>> context = assemble([Hit(Chunk("gastro#0", "gastro", "Drink water."))])
        >>> [(one.text, one.share_read) for one in context.view(evidence=["drink water", "Eat nothing."]).evidence]
        [('drink water', 1.0), ('Eat nothing.', 0.0)]

        Raises:
            InputError: a piece of evidence is neither a text nor a span.
        """
        from ctxassembly.views.page import View

        return View(self if retrieved is None else replace(self, retrieved=retrieved), evidence)

    def _repr_html_(self) -> str:
        return self.view()._repr_html_()

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> dict[str, Any]:
        """Return what pydantic checks a field of this type by, in a graph's state or the schema of a chain."""
        return {"type": "is-instance", "cls": cls}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        return {"title": cls.__name__, "type": "object"}

    def __str__(self) -> str:
        return self.text

    def __copy__(self) -> Context:
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Context:
        memo[id(self.encoding)] = self.encoding  # a method of a model would copy the model with it
        return Context(*(deepcopy(getattr(self, field.name), memo) for field in fields(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        if callable(self.encoding):  # the method of a model can seldom be pickled
            values["encoding"] = None
        return Context, tuple(values.values())
