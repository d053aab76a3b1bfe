"""Groups set into blocks of text for one config: joined, divided into labels, arranged, written, measured.

It knows what is the same for every selection: the config, how two chunks meet, what a group has been found to take. So
all the layouts of one assembly share one typesetter, and what it found out for one it needn't find out for the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from ctxassembly.assembly.rendering.excerpt import Line, lines_of
from ctxassembly.assembly.rendering.groups import Group, Run, Sized, in_reading_order, joined, runs_of
from ctxassembly.assembly.rendering.join import find_joint
from ctxassembly.assembly.rendering.order import arrange
from ctxassembly.assembly.rendering.render import SEPARATORS, Renderer
from ctxassembly.assembly.rendering.sizes import Sizes
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import Candidate, Header, Joint, Label, Part, Piece
from ctxassembly.data.chunks import Chunk
from ctxassembly.tokens.counter import Counter, Measured, at_least

NOTHING = Measured("", 0, None, 0)


class Arranged(NamedTuple):
    """A run of labels where it is read."""

    run: Run
    first_label: int
    leads: bool
    """True for the first run of its document, which has the page summary."""

    @property
    def labelled(self) -> Sequence[Label]:
        """Its labels as they are written here."""
        return self.run.labelled(leads=self.leads)


class Typesetter:
    """Joins, arranges, writes and measures groups for one config.

    `summaries` has the page summaries by document id; a `supplement` stands before or after all blocks.
    """

    def __init__(
        self, config: AssemblyConfig, counter: Counter, summaries: Mapping[str, str], supplement: Sequence[Part] = ()
    ) -> None:
        self.config = config
        self.counter = counter
        self.order = config.order if config.enabled else "documents"
        self.together = self.order == "documents" or config.cite == "document"
        """True if the labels of a document keep together; else each is ordered on its own."""
        self.renderer = Renderer(config)
        self.sizes = Sizes(config, counter, self.renderer)
        self.separator = counter.measure(SEPARATORS[config.separator])
        self._summaries = summaries
        # By the identity of chunks, which are surely alive: they belong to the candidates that may be selected.
        self._joints: dict[tuple[int, int, bool], Joint | None] = {}
        self.supplement = counter.chain(counter.measure(part.text) for part in supplement)
        self.opening = self.closing = NOTHING
        if supplement and config.supplement_position == "before":
            self.opening = counter.chain((self.supplement, self.separator))
        elif supplement:
            self.closing = counter.chain((self.separator, self.supplement))
        # What a function of the caller's writes may depend on its label, a summary on the passage that leads.
        scattered = summaries and not self.together
        self.adds_up = bool(counter.additive and not callable(config.format) and not scattered)
        """True if groups can be measured apart and their sizes added up."""
        self.is_foreseeable = self.adds_up and not (summaries and self.order != "documents")
        """True if a lower bound of what candidates add is known without writing them."""

    def by_group(self, candidates: Iterable[Candidate]) -> dict[object, list[Candidate]]:
        """`candidates` by the key of the group that they would join or make."""
        members: dict[object, list[Candidate]] = {}
        for candidate in candidates:
            # Passed through, every hit is a group of its own: nothing is joined and the order stays.
            key: object = candidate.chunk.document_id if self.config.enabled else candidate.rank
            members.setdefault(key, []).append(candidate)
        return members

    def changed(self, groups: Mapping[object, Group], candidates: Iterable[Candidate]) -> dict[object, Group]:
        """The groups that `candidates` would make or change in `groups`, by their key."""
        return {
            key: joined(key, groups.get(key), sorted(new, key=in_reading_order), self.joint)
            for key, new in self.by_group(candidates).items()
        }

    def joint(self, first: Chunk, second: Chunk, adjacent: bool) -> Joint | None:
        """The joint at which `second` continues `first`; None if there is a gap between them."""
        key = (id(first), id(second), adjacent)
        if key not in self._joints:
            config = self.config
            self._joints[key] = find_joint(first, second, adjacent, config.min_overlap_chars, config.max_overlap_chars)
        return self._joints[key]

    def lines(self, candidates: Iterable[Candidate]) -> Iterator[Line]:
        """The text that `candidates` make document by document, in the order of the documents' first candidates."""
        for members in self.by_group(candidates).values():
            yield from lines_of(sorted(members, key=in_reading_order), self.joint)

    def lengths(self, candidates: Iterable[Candidate]) -> Iterator[int]:
        """About how many characters each of `candidates` adds beside those before it, without what it shares."""
        known: dict[tuple[str, int], Candidate] = {}
        for candidate in candidates:
            document_id, position = candidate.chunk.document_id, candidate.position
            before, after = known.get((document_id, position - 1)), known.get((document_id, position + 1))
            known[document_id, position] = candidate
            length = len(candidate.text)
            if before and (met := self.joint(before.chunk, candidate.chunk, True)):
                length -= met.shared
            if after and (met := self.joint(candidate.chunk, after.chunk, True)):
                length -= met.shared
            yield max(length, 0)

    def tokens_above(self, candidate: Candidate) -> int:
        """The tokens of what is written above the text of `candidate`, if it stands below a label of its own."""
        whole = Piece(candidate, 0, len(candidate.chunk.text), "")
        label = Label([(whole,)], candidate, self._summaries.get(candidate.chunk.document_id, ""))
        above = self.renderer.above(self.renderer.around(1, label)[0], label)
        return sum(self.counter.count(part.text) for part in above)

    def least_above(self, candidate: Candidate) -> int:
        """A lower bound on the tokens of its header, if `candidate` stands below a label of its own."""
        pages = self.renderer.particulars.pages([candidate.chunk])
        header, _ = self.renderer.around(1, Label([], candidate, ""), pages=pages)
        known = self.counter.measure(header)
        # Its last token may merge with the text.
        return self.counter.count(known.head) + known.inner + max(at_least(known.tail) - 1, 0) if known.tail else 0

    def sized(self, group: Group, *, exact: bool = True) -> Sized:
        """The size of `group`; if it needn't be `exact`, its header may lack a page that it gets."""
        return self.sizes.sized(group, self._summaries.get(group.document_id, ""), exact=exact)

    def arranged(self, groups: Iterable[Group]) -> list[Arranged]:
        """The runs of all `groups` as they are read."""
        runs = [run for group in groups for run in self._runs(group)]
        label, led = self.config.first_label, set()
        arranged = []
        for run in arrange(runs, self.order, lambda run: run.place):
            arranged.append(Arranged(run, label, self.together or run.place.document_id not in led))
            led.add(run.place.document_id)
            label += len(run.labels) * self.config.label_step
        return arranged

    def measured(self, groups: Iterable[Group], level: Header) -> Measured:
        """All `groups` written and measured as a whole, with the supplement beside them."""
        pieces: list[Measured] = []
        for arranged in self.arranged(groups):
            pieces += (self.separator, self._measured(arranged, level))
        if not pieces:
            return self.supplement
        return self.counter.chain((self.opening, *pieces[1:], self.closing))

    def blocks(self, arranged: Arranged, level: Header) -> list[list[Part]]:
        """The blocks of a run, as they are measured and then written: mostly the same ones."""
        run, label, leads = arranged
        key = (label, leads, level)
        if run.written is None or run.written[0] != key:
            numbers = count(label, self.config.label_step)
            blocks = [self.renderer.block(next(numbers), parts, level) for parts in arranged.labelled]
            run.written = key, blocks
        return run.written[1]

    def _measured(self, arranged: Arranged, level: Header) -> Measured:
        run, label, leads = arranged
        key = (label, leads, level)
        if key not in run.measured:
            counter = self.counter
            pieces: list[Measured] = []
            for block in self.blocks(arranged, level):
                pieces.append(self.separator)
                pieces += [counter.measure(part.text) for part in block]
            run.measured[key] = counter.chain(pieces[1:])
        return run.measured[key]

    def _runs(self, group: Group) -> list[Run]:
        if group.runs is None:
            group.runs = runs_of(
                group,
                cite=self.config.cite,
                order=self.order,
                together=self.together,
                summary=self._summaries.get(group.document_id, ""),
                source_of=self._source_of,
            )
        return group.runs

    def _source_of(self, candidates: Sequence[Candidate]) -> tuple[str, int | str | None]:
        """The source of a document's `candidates` and their first page, where they are ordered by that."""
        if self.order != "document_order":
            return "", None
        particulars = self.renderer.particulars
        pages = (particulars.number(candidate.chunk, "page") for candidate in candidates)
        page = next((page for page in pages if page is not None), None)
        return particulars.source(candidates[0].chunk), page
