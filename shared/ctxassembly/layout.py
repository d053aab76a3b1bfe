"""The draft of a context: what is selected, how it would be rendered, and what that would cost.

It is where joining, ordering, rendering and counting meet, so that the budget weighs exactly what is written in the
end. In the order of documents a try costs the rendering of the documents that it touches: the others keep their counts.
In the others it costs adding up the counts of all, and the rendering of those whose number changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ctxassembly.config import AssemblyConfig
from ctxassembly.context import LABELLED
from ctxassembly.excerpt import Line, lines_of
from ctxassembly.groups import Group, Run, added_texts, grouped, in_reading_order
from ctxassembly.join import find_joint
from ctxassembly.lower_bound import LONGEST_TOKEN
from ctxassembly.order import arrange
from ctxassembly.render import SEPARATOR, Renderer
from ctxassembly.tokens import Counter, Measured
from ctxassembly.types import Candidate, Chunk, Header, Joint, Label, Part

NOTHING = Measured("", 0, None, 0)
LABELS_OF_A_TOKEN = 999
"""The highest label that is a single token; with more of them a label that moves up may cost less."""


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
        self._separator = counter.measure(SEPARATOR)
        # Keyed by identity: whoever owns the candidates keeps the chunks alive as long as the layout.
        self._joints: dict[tuple[int, int, bool], Joint | None] = {}
        self._groups: dict[object, Group] = {}
        self._ordered: list[Run] = []
        self._surrounded = self._ordered
        self._supplement = counter.chain(counter.measure(part.text) for part in supplement)
        self._opening = self._closing = NOTHING
        if supplement and config.supplement_position == "before":
            self._opening = counter.chain((self._supplement, self._separator))
        elif supplement:
            self._closing = counter.chain((self._separator, self._supplement))
        self._all_before = self._opening
        self._last_try: _Try | None = None
        self.max_tokens = config.token_limit
        self._longest = self.max_tokens * LONGEST_TOKEN if counter.additive else math.inf
        # What a function of the caller's writes may depend on its label, a summary on the passage that leads.
        altering = callable(config.format) or (summaries and self._order != "documents")
        self._foreseeable = counter.additive and not altering
        # The tokens that stay whatever joins other documents.
        self._settled = self._supplement.inner
        self._max_characters = config.max_characters or math.inf
        self.token_count = counter.tokens(self._supplement)

    def may_fit(self, candidates: Sequence[Candidate]) -> bool:
        """False only if `candidates` are sure not to fit, which is found without rendering anything.

        What stands keeps its tokens, but for those around the text of the documents that `candidates` join.
        """
        if not self._foreseeable:
            return True
        room, texts = self.max_tokens - self._settled, []
        for key, new in self._by_group(candidates).items():
            group = self._groups.get(key)
            room += group.settled - group.verbatim if group else 0
            if group is None or group.simple:
                texts += added_texts(new, group.candidates if group else (), self._joint)
        return not self._counter.exceed(texts, room)

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
        """The tokens of the candidate's text alone."""
        return self._counter.tokens(self._counter.measure(candidate.text))

    def fits(self, candidates: Sequence[Candidate], level: Header = Header.FULL) -> bool:
        """Whether the whole context keeps within `max_tokens` and `max_characters` if `candidates` join it."""
        if any(len(each.chunk.text) > self._longest for each in candidates) and not self.may_fit(candidates):
            return False
        tried = self._try(candidates, level)
        return tried.tokens <= self.max_tokens and tried.characters <= self._max_characters

    def weigh(self, candidates: Sequence[Candidate], level: Header = Header.FULL) -> int:
        """The tokens of the whole context if `candidates` joined what is selected."""
        return self._try(candidates, level).tokens

    def take(self, candidates: Sequence[Candidate]) -> None:
        """Select `candidates`."""
        tried, self._last_try = self._try(candidates, Header.FULL), None
        self.token_count = tried.tokens
        before = sum(self._groups[key].settled for key in tried.changed if key in self._groups)
        self._groups |= tried.changed
        self._ordered = []
        for run, label, leads in self._arranged(self._groups):
            run.first_label, run.leads = label, leads
            self._ordered.append(run)
        for group in tried.changed.values():
            group.settle(self._tokens_anywhere)
        self._settled += sum(group.settled for group in tried.changed.values()) - before
        self._foreseeable &= sum(len(run.labels) for run in self._ordered) <= LABELS_OF_A_TOKEN

    def lines(self, candidates: Iterable[Candidate]) -> Iterator[Line]:
        """The text that `candidates` make document by document, in the order of the documents' first candidates."""
        for each in self._by_group(candidates).values():
            yield from lines_of(sorted(each, key=in_reading_order), self._joint)

    def labels(self) -> list[Label]:
        """What the labels 1, 2, ... stand for."""
        return [label for run in self._ordered for label in run.labelled(leads=run.leads)]

    def blocks(self, level: Header = Header.FULL) -> list[list[Part]]:
        """The parts of each label's block."""
        return [block for run in self._ordered for block in self._blocks(run, run.first_label, run.leads, level)]

    def header_share(self, candidate: Candidate, level: Header) -> float:
        """What header, summary and footer around `candidate` alone take of the tokens, or of the characters if more."""
        whole, bare = self._try([candidate], level), self._try([candidate], Header.NONE)
        tokens, characters = whole.tokens - bare.tokens, whole.characters - bare.characters
        return max(tokens / self.max_tokens, characters / self._max_characters)

    def _try(self, candidates: Sequence[Candidate], level: Header) -> _Try:
        """What the whole context would be with `candidates`. The last try with full headers is remembered."""
        if self._last_try is not None and self._last_try.candidates is candidates and level is Header.FULL:
            return self._last_try
        changed = self._changed(candidates)
        whole = self._measured_with(changed, level)
        tried = _Try(candidates, changed, self._counter.tokens(whole), whole.characters)
        if level is Header.FULL:
            self._last_try = tried
        return tried

    def _tokens_anywhere(self, block: Measured) -> int:
        """What `block` has at least, wherever it stands: last, or before another one.

        A label after a separator is a safe place. Without labels the text itself begins there.
        """
        if self._config.format not in LABELLED:
            return block.inner
        counter = self._counter
        return min(counter.tokens(block), counter.tokens(counter.chain((block, self._separator))))

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
        changed = {}
        for key, new in self._by_group(candidates).items():
            before = self._groups[key].candidates if key in self._groups else []
            changed[key] = self._group(sorted([*before, *new], key=in_reading_order))
        return changed

    def _group(self, candidates: list[Candidate]) -> Group:
        config = self._config
        return grouped(
            candidates,
            self._joint,
            cite=config.cite,
            together=self._together,
            summary=self._summaries.get(candidates[0].chunk.document_id, ""),
            source_of=self._source_of,
        )

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
        runs = [run for group in groups.values() for run in group.runs]
        label, led = 1, set()
        arranged = []
        for run in arrange(runs, self._order, lambda run: run.place):
            arranged.append((run, label, self._together or run.place.document_id not in led))
            led.add(run.place.document_id)
            label += len(run.labels)
        return arranged

    def _measured_with(self, changed: Mapping[object, Group], level: Header) -> Measured:
        chain = self._counter.chain
        if len(changed) == 1 and level is Header.FULL and self._order == "documents":
            self._measure_surroundings()
            ((key, group),) = changed.items()
            ((new,), last) = group.runs, self._ordered[-1] if self._ordered else None
            if key not in self._groups:
                if last is not None and new.place.relevance > last.place.relevance:
                    measured = self._measured(new, last.first_label + len(last.labels), leads=True, level=level)
                    return chain((self._all_before, measured, self._closing))
            else:
                (old,) = self._groups[key].runs
                if (old.place.relevance, len(old.labels)) == (new.place.relevance, len(new.labels)):
                    measured = self._measured(new, old.first_label, leads=True, level=level)
                    return chain((old.before, measured, old.after))
        pieces: list[Measured] = []
        for run, label, leads in self._arranged({**self._groups, **changed}):
            pieces += (self._separator, self._measured(run, label, leads=leads, level=level))
        if not pieces:
            return self._supplement
        return chain((self._opening, *pieces[1:], self._closing))

    def _measure_surroundings(self) -> None:
        """Measure what stands before and after each run, so that a try needs to measure only what it changes."""
        if self._surrounded is self._ordered:
            return
        self._surrounded = self._ordered
        chain, separator = self._counter.chain, self._separator
        before, after = self._opening, self._closing
        for run in self._ordered:
            run.before = before
            measured = self._measured(run, run.first_label, leads=run.leads, level=Header.FULL)
            before = chain((before, measured, separator))
        self._all_before = before
        for run in reversed(self._ordered):
            run.after = after
            measured = self._measured(run, run.first_label, leads=run.leads, level=Header.FULL)
            after = chain((separator, measured, after))

    def _measured(self, run: Run, first_label: int, *, leads: bool, level: Header) -> Measured:
        key = (first_label, leads, level)
        if key not in run.measured:
            counter = self._counter
            pieces: list[Measured] = []
            run.verbatim = 0
            for block in self._blocks(run, first_label, leads, level):
                pieces.append(self._separator)
                for part in block:
                    piece = counter.measure(part.text)
                    pieces.append(piece)
                    if part.candidate is not None:
                        run.verbatim += piece.inner
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


class _Try(NamedTuple):
    """A selection with `candidates` added: the groups that change, and the size of the whole context."""

    candidates: Sequence[Candidate]
    changed: dict[object, Group]
    tokens: int
    characters: int
