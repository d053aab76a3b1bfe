"""What the stages that decide by size ask of a context in the making."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from ctxassembly.assembly.choosing.cut import Sentence
from ctxassembly.data.candidates import Candidate, LeftOut
from ctxassembly.data.pieces import Header

TYPICAL_CHARS_PER_TOKEN = 4.0
"""Of English prose: a first guess at how much fits. Nothing depends on it but time, and how much a model is asked."""
BestSentences = Callable[[Sequence[Candidate]], Sequence[Sentence]]
"""The sentences of candidates that may stand where not all of them fit, best first."""


class Scale(Protocol):
    """A context in the making, which can be weighed before something is taken."""

    token_count: int
    """Tokens of everything taken so far."""
    max_tokens: int

    @property
    def is_empty(self) -> bool:
        """Whether nothing is taken so far."""

    def fits(self, candidates: Sequence[Candidate], level: Header = ...) -> bool:
        """Whether the whole context stays within all limits if `candidates` are taken as well."""

    def may_fit(self, candidates: Sequence[Candidate]) -> bool:
        """False only if `candidates` are sure not to fit, which is found without counting."""

    def lengths(self, candidates: Iterable[Candidate]) -> Iterator[int]:
        """About how many characters each of `candidates` adds beside those before it."""

    def weigh(self, candidates: Sequence[Candidate], level: Header = ...) -> int:
        """The tokens of the whole context if `candidates` were taken as well."""

    def header_share(self, candidate: Candidate, level: Header) -> float:
        """What a header around `candidate` alone takes of the tokens that there may be, or of the characters."""

    def take(self, candidates: Sequence[Candidate]) -> None:
        """Take `candidates`."""

    def text_tokens(self, candidate: Candidate) -> int:
        """The tokens of the candidate's text alone."""


class Filled(NamedTuple):
    """What came of filling, by key; every other candidate was taken."""

    left_out: dict[int, LeftOut]
    shortened: dict[int, Candidate]
    """What was taken in place of a candidate that only fits in part."""
