"""Groups set into blocks of text for one config: joined, divided into labels, arranged, written, measured.

It knows what is the same for every selection: the config, how two chunks meet, what a group has been found to take. So
all the layouts of one assembly share one typesetter, and what it found out for one it needn't find out for the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from ctxassembly.assembly.rendering.excerpt import Line, lines_of
from ctxassembly.assembly.rendering.groups import (
    Group,
    Page,
    Run,
    Size,
    Sized,
    best_of,
    by_merit,
    in_reading_order,
    joined,
    labels_of,
    runs_of,
)
from ctxassembly.assembly.rendering.join import Stretch, find_joint
from ctxassembly.assembly.rendering.order import arrange
from ctxassembly.assembly.rendering.render import MARKER, SEPARATORS, Renderer
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import Candidate, Header, Joint, Label, Part, Piece
from ctxassembly.data.chunks import Chunk
from ctxassembly.tokens.counter import Counter, Measured, at_least
from ctxassembly.wording.formats import shows_labels

# Sizes of groups, each counted apart from the others, so that a try counts only what it changes.
#
# Why counts add up. An additive encoding never merges across certain places, such as a line break before a letter
# (`tokens/counter.py`). Two of them are always at hand: the break before each header, and the one inside each marker
# "[...]" between two passages. Cut there, a context is a row of portions, and its count is the sum of theirs:
#
#     header | passage | marker, first half >< marker, second half | passage | separator >< header | ...
#     '------------------ portion ----------''----------------- portion -----------------''-- ...
#
# So a group's size is a sum over its stretches, and a context's a sum over its groups. A candidate that joins a
# document changes one or two stretches: their portions are counted anew, the others keep their numbers.
#
# Three things depend on more than their portion, and each has its rule:
#
# - The label's number depends on all groups before it. A number of up to three digits is one token wherever it stands,
#   so portions are counted with the label 1, and `digits` adds what longer numbers take, from their number alone.
# - The header may name the page of a passage further down. It is written anew only if pages or the best chunk change.
# - The last separator is not written. `Sized.separator` has what it takes, to be taken off for the last group.
#
# A portion that begins with white space or "/" would merge with the break before it: it is `loose`, and with one such
# portion the whole context is rendered and counted instead.


DIGITS_OF_A_TOKEN = 3
"""Digits of a number that make one token, in each of the encodings whose counts add up."""
LEAST_OF_PAGES = 12
"""The most tokens that a header may lose when a page joins those it names: two numbers between which a gap closes."""
MARKER_TOKENS = 2
"""The fewest tokens of a marker, whatever stands after it."""
NOTHING = Size()


class Sizes:
    """Measures groups for one config."""

    def __init__(self, config: AssemblyConfig, counter: Counter, renderer: Renderer) -> None:
        self._counter = counter
        self._renderer = renderer
        self._cite = config.cite
        self._order = config.order if config.enabled else "documents"
        self._labelled = shows_labels(config.format)
        self._first_label, self._label_step = config.first_label, config.label_step
        marker = counter.measure(MARKER)
        self._marker_begun = counter.measure(marker.head)
        self._marker_ended = counter.measure(marker.tail or "")
        self._separator = counter.measure(SEPARATORS[config.separator])
        self._footer = ""

    def digits(self, labels: int) -> tuple[int, int]:
        """The tokens and the characters by which the numbers of so many labels exceed one digit each."""
        first, step = self._first_label, self._label_step
        last = first + (labels - 1) * step
        tokens = characters = 0
        least, length = 10, 1
        while self._labelled and last >= least:
            more = (last - max(least, first)) // step + 1
            characters += more
            tokens += more if length % DIGITS_OF_A_TOKEN == 0 else 0
            least, length = least * 10, length + 1
        return tokens, characters

    def gain(self, candidate: Candidate, sized: Sized) -> int:
        """The most tokens that a group may lose when `candidate` comes between two markers, its own text apart."""
        new = set(self._renderer.particulars.pages_of(candidate.chunk)).difference(sized.pages)
        return LEAST_OF_PAGES * len(new) - MARKER_TOKENS

    def separator(self, label: Label) -> int:
        """The tokens that go if nothing comes after the block of a label."""
        return self._of_labels(label.passages[-1], "")[1]

    def sized(self, group: Group, summary: str, *, exact: bool = True) -> Sized:
        """The size of `group`. If it needn't be `exact`, its header may be that from before, which lacks a page."""
        if group.sized is None or (exact and not group.sized.exact):
            group.sized = self._sized(group, summary, exact=exact)
        return group.sized

    def _sized(self, group: Group, summary: str, *, exact: bool) -> Sized:
        stretches = group.stretches
        if any(not stretch.passage for stretch in group.changed[1]):  # nothing but blanks: it has no portion
            return Sized(Size(loose=1), NOTHING, 0, 0, "", stretches[0].candidates[0], (), True)
        before = group.before.sized if group.before else None
        if before is not None and before.whole.loose:
            before = None
        first, last = stretches[0], stretches[-1]
        best, pages, lead, exact = self._lead(group, before, summary, exact=exact)
        whole, separator = self._size(last, lead if first is last else None, ends=True)
        middle = NOTHING
        if first is not last:
            middle = self._middle(group, before)
            whole = whole.plus(self._size(first, lead, ends=False)[0]).plus(middle)
        settled = whole.tokens - max(separator, 0)
        return Sized(whole, middle, separator, settled, lead, best, pages, exact)

    def _middle(self, group: Group, before: Sized | None) -> Size:
        """The size of all stretches but the first and the last; of a changed group only the changes are looked at."""
        now = group.stretches
        if group.before is None or before is None:
            return _sum([self._size(stretch, None, ends=False)[0] for stretch in now[1:-1]])
        # A stretch beside the changed ones may have become the first or the last one, or be so no longer.
        then = group.before.stretches
        begin, behind = max(group.begin - 1, 0), len(then) - min(group.end + 1, len(then))
        gone = then[max(begin, 1) : len(then) - max(behind, 1)]
        come = now[max(begin, 1) : len(now) - max(behind, 1)]
        middle = before.middle
        for stretch in gone:
            middle = middle.less(self._size(stretch, None, ends=False)[0])
        for stretch in come:
            middle = middle.plus(self._size(stretch, None, ends=False)[0])
        return middle

    def _lead(
        self, group: Group, before: Sized | None, summary: str, *, exact: bool
    ) -> tuple[Candidate, tuple[Page, ...], str, bool]:
        """The best candidate, the pages, the text before the first passage, and True if that names all pages.

        Where each label has a header of its own, that text is the summary, which belongs below the first one.
        """
        if self._cite != "document":
            return group.stretches[0].candidates[0], (), summary, True
        if before is None or group.before is None:
            best, pages = _best_of(group.stretches), self._all_pages(group.stretches)
        else:
            gone, come = group.changed
            best = _best_of(come)
            if not any(_best(stretch) is before.best for stretch in gone):
                best = min(before.best, best, key=lambda candidate: (*by_merit(candidate), candidate.position))
            elif by_merit(best) > by_merit(before.best):
                best = _best_of(group.stretches)
            pages = self._pages(group, before, gone, come)
            if best is before.best and group.stretches[0] is group.before.stretches[0]:
                if pages == before.pages:
                    return best, pages, before.lead, True
                if not exact and set(before.pages) < set(pages):
                    return best, pages, before.lead, False
        label = Label([group.stretches[0].passage], best, summary)
        # The footer is the same below whatever header.
        header, self._footer = self._renderer.around(1, label, pages=pages)
        return best, pages, _text(self._renderer.above(header, label)), True

    def _pages(self, group: Group, before: Sized, gone: Sequence[Stretch], come: Sequence[Stretch]) -> tuple[Page, ...]:
        there, less, more = set(before.pages), set(self._all_pages(gone)), set(self._all_pages(come))
        if more <= there and less <= more and all(isinstance(page, int) for page in more):
            return before.pages
        if less <= more and all(isinstance(page, int) for page in there | more):
            return tuple(sorted(there | more, key=int))
        return self._all_pages(group.stretches)  # pages that are no numbers stand in the order of the text

    def _all_pages(self, stretches: Iterable[Stretch]) -> tuple[Page, ...]:
        return self._renderer.particulars.pages(
            piece.candidate.chunk for stretch in stretches for piece in stretch.passage
        )

    def _size(self, stretch: Stretch, lead: str | None, *, ends: bool) -> tuple[Size, int]:
        """The size of `stretch`, after a marker or after `lead`, before a marker or at the end of the block.

        Also the tokens of it that go if nothing comes after the separator.
        """
        if self._cite != "document":
            lead, ends = lead or "", True
        key = (lead, ends)
        if key not in stretch.known:
            if self._cite == "document":
                size, separator = self._of_block(stretch.passage, lead, ends=ends)
            else:
                size, separator = self._of_labels(stretch.passage, lead or "")
            if len({piece.candidate.key for piece in stretch.passage}) != len(stretch.candidates):
                size = size._replace(mixed=1)
            stretch.known[key] = size, separator
        known: tuple[Size, int] = stretch.known[key]
        return known

    def _of_block(self, passage: tuple[Piece, ...], lead: str | None, *, ends: bool) -> tuple[Size, int]:
        before = self._marker_ended if lead is None else self._counter.measure(lead)
        after = self._renderer.below(self._footer, passage) if ends else None
        return self._portion(before, passage, after)

    def _of_labels(self, passage: tuple[Piece, ...], summary: str) -> tuple[Size, int]:
        whole, separator = Size(), 0
        for label in labels_of([passage], self._cite, self._order):
            header, footer = self._renderer.around(1, label)
            lead = self._renderer.above(header, label._replace(summary="" if whole.labels else summary))
            after = self._renderer.below(footer, label.passages[-1])
            size, separator = self._portion(self._counter.measure(_text(lead)), label.passages[-1], after)
            whole = whole.plus(size)
        return whole, separator

    def _portion(self, before: Measured, passage: Sequence[Piece], after: Sequence[Part] | None) -> tuple[Size, int]:
        """The size from one cut to the next: in a marker, or behind the parts `after` the last passage of a block."""
        counter, begins = self._counter, not before.characters
        parts = self._renderer.passage(passage, begins=begins)
        pieces = [counter.measure(part.text) for part in parts]
        verbatim = sum([piece.inner for part, piece in zip(parts, pieces, strict=True) if part.candidate is not None])
        # A text that begins with these merges with the line break before it.
        loose = begins and (not parts or parts[0].text[0] == "/" or parts[0].text[0].isspace())
        if after is None:
            whole = counter.chain((before, *pieces, self._marker_begun))
            return Size(counter.tokens(whole), whole.characters, 0, verbatim, int(loose)), 0
        bare = counter.chain((before, *pieces, *(counter.measure(part.text) for part in after)))
        whole = counter.chain((bare, self._separator))
        tokens = counter.tokens(whole)
        return Size(tokens, whole.characters, 1, verbatim, int(loose)), tokens - counter.tokens(bare)


def _best(stretch: Stretch) -> Candidate:
    if "best" not in stretch.known:
        stretch.known["best"] = best_of([stretch.passage])
    best: Candidate = stretch.known["best"]
    return best


def _best_of(stretches: Sequence[Stretch]) -> Candidate:
    return min(map(_best, stretches), key=by_merit) if len(stretches) > 1 else _best(stretches[0])


def _sum(sizes: Sequence[Size]) -> Size:
    return Size(*map(sum, zip(*sizes, strict=True))) if sizes else NOTHING


def _text(parts: Iterable[Part]) -> str:
    return "".join([part.text for part in parts])


_EMPTY = Measured("", 0, None, 0)


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
        self.opening = self.closing = _EMPTY
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
