"""The draft of a context: the candidates that are selected, and what it costs to select more.

Joining, ordering, rendering and counting meet here, so that the budget weighs exactly what is written in the end.

A layout is a value. Whoever chooses asks it (`fits`, `weigh`) as often as needed, gets another one from `plus`, and
hands that back: no layout that somebody else holds changes below their hands. Two layouts share all groups that don't
differ, so another one costs no more than the groups that change.

A question is answered in one of three ways, the cheapest that will do:

1. `may_fit` foresees: a lower bound of the tokens that candidates add, without joining or rendering anything.
2. Where counts add up, the groups that change are joined, rendered and counted, and exchanged in the sum of all
   (`sizes.py`). So a try costs what it changes, not what stands: without a query, 1,000 hits take a fifth of the time
   that the straightforward assembler takes (`tests/bench/README.md`).
3. Elsewhere all is rendered and counted: with an encoding that promises nothing, below the headers of a function of the
   caller's, and with less than a full header.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from ctxassembly.assembly.rendering.excerpt import Line
from ctxassembly.assembly.rendering.groups import MANY, Group, Size, Sized, added_texts, by_merit
from ctxassembly.assembly.rendering.measure import LEAST_OF_PAGES, NOTHING, Arranged, Typesetter
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import Candidate, Header, Label, Part
from ctxassembly.tokens.counter import LONGEST_TOKEN, Counter
from ctxassembly.wording.metadata_labels import Particulars


class Try(NamedTuple):
    """A layout with `candidates` besides: the groups that change, and the size of the whole context."""

    candidates: Sequence[Candidate]
    changed: Mapping[object, Group]
    tokens: int
    characters: int


@dataclass(frozen=True, eq=False)
class Layout:
    """The selected candidates, grouped by document and in the configured order, and their rendered cost.

    A supplement stands before or after all of them and is in every count, but in no label.
    """

    typesetter: Typesetter
    token_count: int
    """Tokens of the whole context."""
    groups: Mapping[object, Group] = field(default_factory=dict)
    last: Group | None = None
    """The group that comes last in the order of documents."""
    total: Size = NOTHING
    """The sum of the sizes of all groups, each with a separator after it, where counts add up."""
    settled: int = 0
    """The tokens of it that stay whatever joins others."""
    last_tries: dict[bool, Try] = field(default_factory=dict, init=False)
    """The last try with full headers that fits, and the last one that doesn't: candidates that fit are mostly selected
    next. A cache, no part of the value."""

    @property
    def max_tokens(self) -> int:
        """The token budget."""
        return self.typesetter.config.token_limit

    @property
    def particulars(self) -> Particulars:
        """Reads the metadata that headers name."""
        return self.typesetter.renderer.particulars

    @property
    def is_empty(self) -> bool:
        """True if nothing is selected."""
        return not self.groups

    def holds(self, candidate: Candidate) -> bool:
        """True if `candidate`, or a part of it, is selected."""
        return candidate.key in self._keys

    def text_tokens(self, candidate: Candidate) -> int:
        """The tokens of the candidate's text alone; estimated where even its beginning is too much."""
        return self.typesetter.counter.about(candidate.text, self.max_tokens)

    def chars_per_token(self, candidate: Candidate) -> float:
        """The characters of a token in the text of `candidate`: of the best one, it is a guess for the others."""
        return len(candidate.text) / max(self.text_tokens(candidate), 1)

    def tokens_above(self, candidate: Candidate) -> int:
        """The tokens of what is written above the text of `candidate`, if it stands below a label of its own."""
        return self.typesetter.tokens_above(candidate)

    def lengths(self, candidates: Iterable[Candidate]) -> Iterator[int]:
        """About how many characters each of `candidates` adds beside those before it, without what it shares."""
        return self.typesetter.lengths(candidates)

    def lines(self, candidates: Iterable[Candidate]) -> Iterator[Line]:
        """The text that `candidates` make document by document, in the order of the documents' first candidates."""
        return self.typesetter.lines(candidates)

    def labels(self) -> list[Label]:
        """The labels, from the first one on."""
        return [label for arranged in self._arranged for label in arranged.labelled]

    @cached_property
    def written(self) -> frozenset[int]:
        """The keys of the candidates with text of their own; the text of all others is a part of theirs."""
        pieces = (piece for label in self.labels() for passage in label.passages for piece in passage)
        return frozenset(piece.candidate.key for piece in pieces)

    def blocks(self, level: Header = Header.FULL) -> list[list[Part]]:
        """The parts of each label's block."""
        return [block for arranged in self._arranged for block in self.typesetter.blocks(arranged, level)]

    def may_fit(self, candidates: Sequence[Candidate], level: Header = Header.FULL) -> bool:
        """False only if `candidates` are sure not to fit, which is found without rendering anything.

        What stands keeps its tokens, but for those around the text of the documents that `candidates` join.
        """
        typesetter = self.typesetter
        for candidate in candidates:
            if candidate.is_too_much:
                return False
        if not typesetter.is_foreseeable or self.total.loose:
            return True
        room, texts, apart = self._room, list[str](), []
        for key, new in typesetter.by_group(candidates).items():
            group = self.groups.get(key)
            if group is None or group.sized is None:
                apart.append(new)
                if len(candidates) == 1 and new[0].kept is not None and level is Header.FULL:
                    # Most beginnings that don't fit lack room for another header; of whole chunks the text alone tells.
                    room -= typesetter.least_above(new[0]) + self._separators
                continue
            freed, added = self._foreseen(group, group.sized, new)
            room += freed
            texts += added
        # Of many documents the first few are mostly too much already: the others needn't be looked at.
        others = (text for new in apart for text in added_texts(new, (), typesetter.joint))
        return not typesetter.counter.exceed(chain(texts, others), room)

    def fits(self, candidates: Sequence[Candidate], level: Header = Header.FULL) -> bool:
        """True if the whole context keeps within `max_tokens` and `max_characters` with `candidates` besides."""
        longest = self.max_tokens * LONGEST_TOKEN if self.typesetter.counter.additive else math.inf
        long = any(len(candidate.chunk.text) > longest or candidate.read_from is not None for candidate in candidates)
        # A part of a chunk is one of several tries: mostly the first words tell that it is too long.
        is_part = len(candidates) == 1 and candidates[0].kept is not None and level is Header.FULL
        if (long or is_part or len(candidates) > MANY) and not self.may_fit(candidates, level):
            return False
        tried = self._try(candidates, level, exact=False)
        return tried.tokens <= self.max_tokens and tried.characters <= self.max_characters

    def weigh(self, candidates: Sequence[Candidate], level: Header = Header.FULL) -> int:
        """The tokens of the whole context with `candidates` besides."""
        return self._try(candidates, level).tokens

    def header_share(self, candidate: Candidate, level: Header) -> float:
        """The share of the tokens that is written around `candidate` alone; of the characters if that is more."""
        whole, bare = self._try([candidate], level), self._try([candidate], Header.NONE)
        tokens, characters = whole.tokens - bare.tokens, whole.characters - bare.characters
        return max(tokens / self.max_tokens, characters / self.max_characters)

    def plus(self, candidates: Sequence[Candidate]) -> Layout:
        """The layout with `candidates` selected besides, whether they fit or not."""
        tried = self._try(candidates, Header.FULL)
        total, settled = self.total, self.settled
        if self.typesetter.adds_up:
            gone, come = self._exchange(tried.changed, exact=True)
            total = _exchanged(total, gone, come)
            settled += sum(group.settled for group in come) - sum(group.settled for group in gone)
        last = self._last_with(tried.changed) if tried.changed else self.last
        for group in tried.changed.values():
            group.before = None  # it is measured; a chain of all former groups would keep them alive
        return Layout(self.typesetter, tried.tokens, {**self.groups, **tried.changed}, last, total, settled)

    @cached_property
    def _room(self) -> int:
        """The tokens that are left beside what stays, whatever joins."""
        return self.max_tokens - self.typesetter.supplement.inner - self.settled

    @cached_property
    def _separators(self) -> int:
        """The tokens of separators that stay if another group joins: of all that stand but one."""
        if not self.typesetter.together:
            return 0
        longest = max([0, *(self.typesetter.sized(group).separator for group in self.groups.values())])
        return self.total.tokens - self.settled - longest

    @cached_property
    def _keys(self) -> frozenset[int]:
        return frozenset(candidate.key for group in self.groups.values() for candidate in group.candidates)

    @cached_property
    def _arranged(self) -> list[Arranged]:
        return self.typesetter.arranged(self.groups.values())

    @property
    def max_characters(self) -> float:
        """The budget in characters; infinite if there is none."""
        return self.typesetter.config.max_characters or math.inf

    def _foreseen(self, group: Group, sized: Sized, new: Sequence[Candidate]) -> tuple[int, list[str]]:
        """The most tokens that `new` may free in the `group` that they join, and texts that they are sure to add."""
        typesetter = self.typesetter
        # Of fewer passages what doesn't fit is counted for the trace, from here on it is estimated.
        if len(group.stretches) > MANY and self._stands_alone(new, group, sized):
            return typesetter.sizes.gain(new[0], sized), [new[0].text]
        added = [] if sized.whole.mixed else added_texts(new, group.around(new), typesetter.joint)
        return sized.settled - sized.whole.verbatim, added

    def _stands_alone(self, new: Sequence[Candidate], group: Group, sized: Sized) -> bool:
        """True if `new` would be one passage more among many, and change nothing else but the pages in the header."""
        if len(new) > 1 or self.typesetter.config.cite != "document":
            return False
        (candidate,) = new
        if (
            self.typesetter.order == "document_order"
            or candidate.kept is not None
            or by_merit(candidate) < by_merit(sized.best)
        ):
            return False
        is_later = (candidate.rank, candidate.distance) > group.relevance
        return is_later and group.has_gap_for(candidate, self.typesetter.joint)

    def _try(self, candidates: Sequence[Candidate], level: Header, *, exact: bool = True) -> Try:
        """The size of the whole context with `candidates`.

        If it needn't be `exact`, the header may lack a page of a candidate that doesn't fit anyway.
        """
        if level is Header.FULL:
            for before in self.last_tries.values():
                if before.candidates is candidates:
                    return before
        typesetter = self.typesetter
        changed = typesetter.changed(self.groups, candidates)
        tried = self._summed(candidates, changed, exact=exact) if level is Header.FULL else None
        if tried is None:
            whole = typesetter.measured({**self.groups, **changed}.values(), level)
            tried = Try(candidates, changed, typesetter.counter.tokens(whole), whole.characters)
        if level is Header.FULL:
            self.last_tries[tried.tokens <= self.max_tokens] = tried
        return tried

    def _summed(self, candidates: Sequence[Candidate], changed: Mapping[object, Group], *, exact: bool) -> Try | None:
        """The try as a sum of what all groups take; None if something of it can't be counted apart."""
        if not self.typesetter.adds_up:
            return None
        if not exact and len(candidates) == 1 and len(next(iter(changed.values())).stretches) > MANY:
            tried = self._sum(candidates, changed, exact=False)
            pages = len(self.typesetter.renderer.particulars.pages_of(candidates[0].chunk))
            if tried is not None and tried.tokens - LEAST_OF_PAGES * pages > self.max_tokens:
                return tried
        return self._sum(candidates, changed, exact=True)

    def _sum(self, candidates: Sequence[Candidate], changed: Mapping[object, Group], *, exact: bool) -> Try | None:
        typesetter = self.typesetter
        total = _exchanged(self.total, *self._exchange(changed, exact=exact))
        if total.loose or not total.labels:
            return None
        tokens, characters = typesetter.sizes.digits(total.labels)
        tokens += total.tokens
        characters += total.characters
        if typesetter.closing.characters:
            beside = typesetter.supplement
        else:  # nothing comes after the last separator
            beside = typesetter.opening
            tokens -= self._last_separator(changed)
            characters -= typesetter.separator.characters
        tokens += typesetter.counter.tokens(beside)
        return Try(candidates, changed, tokens, characters + beside.characters)

    def _exchange(self, changed: Mapping[object, Group], *, exact: bool) -> tuple[list[Sized], list[Sized]]:
        """The sizes of the groups that `changed` stand in for, and their own."""
        sized = self.typesetter.sized
        gone = [sized(self.groups[key]) for key in changed if key in self.groups]
        return gone, [sized(group, exact=exact) for group in changed.values()]

    def _last_separator(self, changed: Mapping[object, Group]) -> int:
        """The tokens by which a separator after all blocks would lengthen them."""
        typesetter = self.typesetter
        if typesetter.order == "documents":
            return typesetter.sized(self._last_with(changed)).separator
        run = typesetter.arranged({**self.groups, **changed}.values())[-1].run
        if not typesetter.together:
            return typesetter.sizes.separator(run.labels[-1])
        key = run.place.document_id
        return typesetter.sized(changed[key] if key in changed else self.groups[key]).separator

    def _last_with(self, changed: Mapping[object, Group]) -> Group:
        """The group that comes last in the order of documents once `changed` stand."""
        last = self.last
        if last is not None and last.key in changed and changed[last.key].place < last.place:
            return max([*{**self.groups, **changed}.values()], key=_place)
        others = [] if last is None or last.key in changed else [last]
        return max([*changed.values(), *others], key=_place)


def empty_layout(
    config: AssemblyConfig, counter: Counter, summaries: Mapping[str, str], supplement: Sequence[Part] = ()
) -> Layout:
    """The layout of nothing but a `supplement`; `summaries` has the page summaries by document id."""
    typesetter = Typesetter(config, counter, summaries, supplement)
    return Layout(typesetter, counter.tokens(typesetter.supplement))


def _place(group: Group) -> tuple[tuple[int, int], str, int]:
    return group.place


def _exchanged(total: Size, gone: Iterable[Sized], come: Iterable[Sized]) -> Size:
    for sized in gone:
        total = total.less(sized.whole)
    for sized in come:
        total = total.plus(sized.whole)
    return total
