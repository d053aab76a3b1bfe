"""The draft of a context: what is selected, how it would be rendered, and what that would cost.

It is where joining, ordering, rendering and counting meet, so that the budget weighs exactly what is written in the
end. Where counts add up, a try costs what it changes: the passages that it touches are joined, rendered and counted,
all others keep their counts. Elsewhere all is written and counted: by an encoding that promises nothing, below the
headers of a function of the caller's, and with less than a full header.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ctxassembly.assembly.rendering.excerpt import Line, lines_of
from ctxassembly.assembly.rendering.groups import (
    MANY,
    Group,
    Run,
    Size,
    Sized,
    added_texts,
    by_merit,
    in_reading_order,
    joined,
    runs_of,
)
from ctxassembly.assembly.rendering.join import find_joint
from ctxassembly.assembly.rendering.order import arrange
from ctxassembly.assembly.rendering.render import SEPARATORS, Renderer
from ctxassembly.assembly.rendering.sizes import LEAST_OF_PAGES, Sizes
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.pieces import Header, Joint, Label, Part
from ctxassembly.settings.config import AssemblyConfig
from ctxassembly.tokens.counter import Counter, Measured
from ctxassembly.tokens.lower_bound import LONGEST_TOKEN

NOTHING = Measured("", 0, None, 0)


class Layout:
    """The selected candidates, grouped by document and in the configured order, and their rendered cost.

    A `supplement` stands before or after all of them and is in every count, but in no label.
    """

    def __init__(
        self, config: AssemblyConfig, counter: Counter, summaries: Mapping[str, str], supplement: Sequence[Part] = ()
    ) -> None:
        self._config = config
        self._order = config.order if config.enabled else "documents"
        # Labels that keep together: those of a document, unless each is ordered on its own.
        self._together = self._order == "documents" or config.cite == "document"
        self._counter = counter
        self._summaries = summaries
        self._renderer = Renderer(config)
        self.particulars = self._renderer.particulars
        self._separator = counter.measure(SEPARATORS[config.separator])
        # By the identity of chunks, which are surely alive: they belong to the candidates that may be taken.
        self._joints: dict[tuple[int, int, bool], Joint | None] = {}
        self._groups: dict[object, Group] = {}
        self._last: Group | None = None
        self._taken: set[int] = set()
        self._ordered: list[Run] | None = []
        self._supplement = counter.chain(counter.measure(part.text) for part in supplement)
        self._opening = self._closing = NOTHING
        if supplement and config.supplement_position == "before":
            self._opening = counter.chain((self._supplement, self._separator))
        elif supplement:
            self._closing = counter.chain((self._separator, self._supplement))
        self._last_try: _Try | None = None
        self.max_tokens = config.token_limit
        self._longest = self.max_tokens * LONGEST_TOKEN if counter.additive else math.inf
        # What a function of the caller's writes may depend on its label, a summary on the passage that leads.
        scattered = summaries and not self._together
        self._sizes = Sizes(config, counter, self._renderer)
        self._adds_up = counter.additive and not callable(config.format) and not scattered
        self._foreseeable = self._adds_up and not (summaries and self._order != "documents")
        # What all groups take, each with a separator after it, and the tokens of it that stay whatever joins others.
        self._total, self._settled = Size(), 0
        self._max_characters = config.max_characters or math.inf
        self.token_count = counter.tokens(self._supplement)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is selected so far."""
        return not self._groups

    def may_fit(self, candidates: Sequence[Candidate]) -> bool:
        """False only if `candidates` are sure not to fit, which is found without rendering anything.

        What stands keeps its tokens, but for those around the text of the documents that `candidates` join.
        """
        if any(each.is_too_much for each in candidates):
            return False
        if not self._foreseeable or self._total.loose:
            return True
        room, texts = self.max_tokens - self._supplement.inner - self._settled, []
        for key, new in self._by_group(candidates).items():
            group = self._groups.get(key)
            sized = group.sized if group else None
            # Of fewer passages what doesn't fit is counted for the trace, from here on it is estimated.
            if group and sized and len(group.stretches) > MANY and self._stands_alone(new, group, sized):
                room += self._sizes.gain(new[0], sized)
                texts.append(new[0].text)
                continue
            room += sized.settled - sized.whole.verbatim if sized else 0
            if sized is None or not sized.whole.mixed:
                texts += added_texts(new, group.around(new) if group else (), self._joint)
        return not self._counter.exceed(texts, room)

    def _stands_alone(self, new: Sequence[Candidate], group: Group, sized: Sized) -> bool:
        """Whether `new` would be one passage more among many, and change nothing else but the pages in the header."""
        if len(new) > 1 or self._config.cite != "document":
            return False
        (each,) = new
        if self._order == "document_order" or each.kept is not None or by_merit(each) < by_merit(sized.best):
            return False
        return (each.rank, each.distance) > group.relevance and group.has_gap_for(each, self._joint)

    def lengths(self, candidates: Iterable[Candidate]) -> Iterator[int]:
        """About how many characters each of `candidates` adds beside those before it: not what it shares with them."""
        there: dict[tuple[str, int], Candidate] = {}
        for each in candidates:
            document_id, at = each.chunk.document_id, each.position
            before, after = there.get((document_id, at - 1)), there.get((document_id, at + 1))
            there[document_id, at] = each
            length = len(each.text)
            if before and (met := self._joint(before.chunk, each.chunk, True)):
                length -= met.shared
            if after and (met := self._joint(each.chunk, after.chunk, True)):
                length -= met.shared
            yield max(length, 0)

    def text_tokens(self, candidate: Candidate) -> int:
        """The tokens of the candidate's text alone; estimated where even its beginning is too much."""
        return self._counter.about(candidate.text, self.max_tokens)

    def fits(self, candidates: Sequence[Candidate], level: Header = Header.FULL) -> bool:
        """Whether the whole context keeps within `max_tokens` and `max_characters` if `candidates` join it."""
        long = any(len(each.chunk.text) > self._longest or each.read_from is not None for each in candidates)
        if (long or len(candidates) > MANY) and not self.may_fit(candidates):
            return False
        tried = self._try(candidates, level, exact=False)
        return tried.tokens <= self.max_tokens and tried.characters <= self._max_characters

    def weigh(self, candidates: Sequence[Candidate], level: Header = Header.FULL) -> int:
        """The tokens of the whole context if `candidates` joined what is selected."""
        return self._try(candidates, level).tokens

    def holds(self, candidate: Candidate) -> bool:
        """Whether `candidate` was selected."""
        return candidate.key in self._taken

    def take(self, candidates: Sequence[Candidate]) -> None:
        """Select `candidates`."""
        self._taken.update([each.key for each in candidates])
        tried = self._try(candidates, Header.FULL)
        self._last_try = self._ordered = None
        self.token_count = tried.tokens
        if self._adds_up:
            before = [self._sized(self._groups[key]) for key in tried.changed if key in self._groups]
            now = [self._sized(group) for group in tried.changed.values()]
            self._total = _exchanged(self._total, before, now)
            self._settled += sum(each.settled for each in now) - sum(each.settled for each in before)
        if tried.changed:
            self._last = self._last_of(tried.changed)
        for group in tried.changed.values():
            group.before = None
        self._groups |= tried.changed

    def lines(self, candidates: Iterable[Candidate]) -> Iterator[Line]:
        """The text that `candidates` make document by document, in the order of the documents' first candidates."""
        for each in self._by_group(candidates).values():
            yield from lines_of(sorted(each, key=in_reading_order), self._joint)

    def labels(self) -> list[Label]:
        """What the labels stand for, from the first one on."""
        return [label for run in self._standing() for label in run.labelled(leads=run.leads)]

    def blocks(self, level: Header = Header.FULL) -> list[list[Part]]:
        """The parts of each label's block."""
        return [block for run in self._standing() for block in self._blocks(run, run.first_label, run.leads, level)]

    def header_share(self, candidate: Candidate, level: Header) -> float:
        """What header, summary and footer around `candidate` alone take of the tokens, or of the characters if more."""
        whole, bare = self._try([candidate], level), self._try([candidate], Header.NONE)
        tokens, characters = whole.tokens - bare.tokens, whole.characters - bare.characters
        return max(tokens / self.max_tokens, characters / self._max_characters)

    def _try(self, candidates: Sequence[Candidate], level: Header, *, exact: bool = True) -> _Try:
        """What the whole context would be with `candidates`. The last try with full headers is remembered.

        If it needn't be `exact`, it may leave out of the header a page that joins what doesn't fit anyway.
        """
        if self._last_try is not None and self._last_try.candidates is candidates and level is Header.FULL:
            return self._last_try
        changed = self._changed(candidates)
        tried: _Try | None = None
        if self._adds_up and level is Header.FULL:
            if not exact and len(candidates) == 1 and len(*(group.stretches for group in changed.values())) > MANY:
                tried = self._added_up(candidates, changed, exact=False)
            if tried is None or tried.tokens - LEAST_OF_PAGES <= self.max_tokens:
                tried = self._added_up(candidates, changed, exact=True)
        if tried is None:
            whole = self._measured_with(changed, level)
            tried = _Try(candidates, changed, self._counter.tokens(whole), whole.characters)
        if level is Header.FULL:
            self._last_try = tried
        return tried

    def _added_up(self, candidates: Sequence[Candidate], changed: dict[object, Group], *, exact: bool) -> _Try | None:
        """The try as a sum of what all groups take; None if something of it can't be counted apart."""
        before = [self._sized(self._groups[key]) for key in changed if key in self._groups]
        now = [self._sized(group, exact=exact) for group in changed.values()]
        total = _exchanged(self._total, before, now)
        if total.loose or not total.labels:
            return None
        tokens, characters = self._sizes.digits(total.labels)
        tokens += total.tokens
        characters += total.characters
        if self._closing.characters:
            beside = self._supplement
        else:
            beside = self._opening
            tokens -= self._last_separator(changed)
            characters -= self._separator.characters
        return _Try(candidates, changed, tokens + self._counter.tokens(beside), characters + beside.characters)

    def _sized(self, group: Group, *, exact: bool = True) -> Sized:
        return self._sizes.sized(group, self._summaries.get(group.document_id, ""), exact=exact)

    def _by_group(self, candidates: Iterable[Candidate]) -> dict[object, list[Candidate]]:
        """`candidates` by the key of the group that they would join or make."""
        members: dict[object, list[Candidate]] = {}
        for candidate in candidates:
            # Passed through, every hit is a group of its own: nothing is joined and the order stays.
            key: object = candidate.chunk.document_id if self._config.enabled else candidate.rank
            members.setdefault(key, []).append(candidate)
        return members

    def _changed(self, candidates: Iterable[Candidate]) -> dict[object, Group]:
        """The groups that `candidates` would make or change, by their key."""
        return {
            key: joined(key, self._groups.get(key), sorted(new, key=in_reading_order), self._joint)
            for key, new in self._by_group(candidates).items()
        }

    def _runs(self, group: Group) -> list[Run]:
        if group.runs is None:
            group.runs = runs_of(
                group,
                cite=self._config.cite,
                order=self._order,
                together=self._together,
                summary=self._summaries.get(group.document_id, ""),
                source_of=self._source_of,
            )
        return group.runs

    def _source_of(self, candidates: Sequence[Candidate]) -> tuple[str, int | str | None]:
        """The source of a document's `candidates` and their first page, where they are ordered by that."""
        if self._order != "document_order":
            return "", None
        pages = (self.particulars.number(candidate.chunk, "page") for candidate in candidates)
        page = next((page for page in pages if page is not None), None)
        return self.particulars.source(candidates[0].chunk), page

    def _joint(self, first: Chunk, second: Chunk, adjacent: bool) -> Joint | None:
        key = (id(first), id(second), adjacent)
        if key not in self._joints:
            config = self._config
            self._joints[key] = find_joint(first, second, adjacent, config.min_overlap_chars, config.max_overlap_chars)
        return self._joints[key]

    def _arranged(self, groups: Mapping[object, Group]) -> list[tuple[Run, int, bool]]:
        """The runs as they are read, each with its first label and whether it is the first of its document."""
        runs = [run for group in groups.values() for run in self._runs(group)]
        label, led = self._config.first_label, set()
        arranged = []
        for run in arrange(runs, self._order, lambda run: run.place):
            arranged.append((run, label, self._together or run.place.document_id not in led))
            led.add(run.place.document_id)
            label += len(run.labels)
        return arranged

    def _standing(self) -> list[Run]:
        """What is selected, as it is read."""
        if self._ordered is None:
            self._ordered = []
            for run, label, leads in self._arranged(self._groups):
                run.first_label, run.leads = label, leads
                self._ordered.append(run)
        return self._ordered

    def _last_separator(self, changed: Mapping[object, Group]) -> int:
        """The tokens by which a separator after all blocks would lengthen them."""
        if self._order == "documents":
            return self._sized(self._last_of(changed)).separator
        run = self._arranged({**self._groups, **changed})[-1][0]
        if not self._together:
            return self._sizes.separator(run.labels[-1])
        key = run.place.document_id
        return self._sized(changed[key] if key in changed else self._groups[key]).separator

    def _last_of(self, changed: Mapping[object, Group]) -> Group:
        """The group that comes last in the order of documents."""
        last = self._last
        if last is not None and last.key in changed and changed[last.key].place < last.place:
            return max([*{**self._groups, **changed}.values()], key=_place)
        others = [] if last is None or last.key in changed else [last]
        return max([*changed.values(), *others], key=_place)

    def _measured_with(self, changed: Mapping[object, Group], level: Header) -> Measured:
        pieces: list[Measured] = []
        for run, label, leads in self._arranged({**self._groups, **changed}):
            pieces += (self._separator, self._measured(run, label, leads=leads, level=level))
        if not pieces:
            return self._supplement
        return self._counter.chain((self._opening, *pieces[1:], self._closing))

    def _measured(self, run: Run, first_label: int, *, leads: bool, level: Header) -> Measured:
        key = (first_label, leads, level)
        if key not in run.measured:
            counter = self._counter
            pieces: list[Measured] = []
            for block in self._blocks(run, first_label, leads, level):
                pieces.append(self._separator)
                pieces += [counter.measure(part.text) for part in block]
            run.measured[key] = counter.chain(pieces[1:])
        return run.measured[key]

    def _blocks(self, run: Run, label: int, leads: bool, level: Header) -> list[list[Part]]:
        """Its blocks, as they are measured and then written: mostly the same ones."""
        key = (label, leads, level)
        if run.written is None or run.written[0] != key:
            labels = run.labelled(leads=leads)
            blocks = [self._renderer.block(label + step, each, level) for step, each in enumerate(labels)]
            run.written = key, blocks
        return run.written[1]


def _place(group: Group) -> tuple[tuple[int, int], str, int]:
    return group.place


def _exchanged(total: Size, gone: Iterable[Sized], come: Iterable[Sized]) -> Size:
    for each in gone:
        total = total.less(each.whole)
    for each in come:
        total = total.plus(each.whole)
    return total


class _Try(NamedTuple):
    """A selection with `candidates` added: the groups that change, and the size of the whole context."""

    candidates: Sequence[Candidate]
    changed: dict[object, Group]
    tokens: int
    characters: int
