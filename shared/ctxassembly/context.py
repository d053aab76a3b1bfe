"""What comes out: the text that the model reads, and everything that its answer is measured by afterwards.

What is done with an answer loads when it is first asked for: who only assembles doesn't wait for it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from ctxassembly.data.assembled import Assembled
from ctxassembly.wording.formats import shows_labels

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from ctxassembly.answers.answer import AnswerReader, Mode, Resolved
    from ctxassembly.answers.quotes import Quote
    from ctxassembly.answers.references import Reference


@dataclass(frozen=True, slots=True)
class Context(Assembled):
    """What the language model reads, with the way back to its sources and the reasons for everything left out."""

    def __post_init__(self) -> None:
        # A checkpoint makes an object anew of what its constructor takes: here that is what `to_dict` gave.
        if isinstance(self.trace, Mapping):
            from ctxassembly.saving.saved import restored

            for name, value in restored({each.name: getattr(self, each.name) for each in fields(self)}).items():
                object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """All of it as dicts, lists, strings, numbers and None, for JSON, a cache or a graph's checkpoint.

        Other values in metadata stand as their `str`; vectors are left behind, and a function that counts tokens.
        """
        from ctxassembly.saving.saved import saved

        return saved(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | Context) -> Context:
        """The context of which `to_dict` gave `data`; of a context, itself.

        Raises:
            InputError: `data` is something else.
        """
        if isinstance(data, cls):
            return data
        from ctxassembly.saving.saved import restored

        return cls(**restored(data))  # type: ignore[arg-type]

    _asdict = to_dict
    """What LangGraph writes into a checkpoint in place of the object, whose parts it would have to know one by one."""

    @property
    def labelled(self) -> bool:
        """Whether a reader sees the labels."""
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
        """The messages to send, system and user, as dicts of `role` and `content`.

        `style` is "grounded", "strict" or "soft", as `system_prompt` describes them; `extra_rules`
        come last in the system message. `template` is the user message, with {context} and {question}.
        """
        from ctxassembly.wording.prompts import system_prompt, user_prompt

        system = system_prompt(
            style,
            form=self.format,
            language=self.language,
            supplement=bool(self.supplement),
            extra_rules=extra_rules,
        )
        user = user_prompt(
            self.text, question, language=self.language, extra_instructions=extra_instructions, template=template
        )
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]

    def resolve(self, answer: str, mode: Mode = "renumber") -> Resolved:
        """What `answer` cites; its text with the markers renumbered, kept or removed (for speech)."""
        from ctxassembly.answers.answer import resolve

        return resolve(answer, self.citations, labelled=self.labelled, mode=mode, texts=self._texts)

    def reader(self, mode: Mode = "keep") -> AnswerReader:
        """The same for an answer that comes in pieces: `feed` each, `close`, then ask `resolved`. Sync or async."""
        from ctxassembly.answers.answer import AnswerReader

        return AnswerReader(self.citations, labelled=self.labelled, mode=mode, texts=self._texts)

    def stream(self, pieces: Iterable[str], mode: Mode = "keep") -> Generator[str, None, Resolved]:
        """The answer's pieces as soon as they are settled; `yield from` gives what it cites."""
        from ctxassembly.answers.answer import stream

        return stream(pieces, self.reader(mode))

    def _texts(self) -> Iterator[str]:
        from ctxassembly.text.words import wording

        return (wording(each.text) for each in self.passages)

    def sources(self) -> tuple[Reference, ...]:
        """The documents in the context, in reading order, without labels: what a voice names."""
        from ctxassembly.answers.references import references

        return references(self.passages, self.keys)

    def check_quotes(self, answer: str) -> tuple[Quote, ...]:
        """Each quote of `answer`, and whether it stands in the source cited after it; without a citation, in any."""
        from ctxassembly.answers.quotes import check_quotes

        return check_quotes(answer, self.blocks, self.passages)

    def to_html(self) -> str:
        """A page of its own that shows what the model reads, where it comes from, what was left out and why.

        One file of HTML and CSS without scripts, below a megabyte; what has no room in it is counted. A notebook shows
        the same by itself, and so does a terminal through `rich.print(context)`.
        """
        from ctxassembly.inspect.page import page

        return page(self)

    def _repr_html_(self) -> str:
        from ctxassembly.inspect.page import view

        return view(self)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from ctxassembly.inspect.terminal import printed, shown

        yield from printed(shown(self), console, options)

    def __str__(self) -> str:
        return self.text

    def __copy__(self) -> Context:
        return replace(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Context:
        memo[id(self.encoding)] = self.encoding  # a model's own method: the model is not copied with it
        return Context(*(deepcopy(getattr(self, each.name), memo) for each in fields(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        if callable(self.encoding):  # a model's own method can seldom be pickled
            values["encoding"] = None
        return Context, tuple(values.values())
