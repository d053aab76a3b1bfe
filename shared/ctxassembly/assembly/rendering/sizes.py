"""Sizes of groups, each counted apart from the others, so that a try counts only what it changes.

Why counts add up. An additive encoding never merges across certain places, such as a line break before a letter
(`tokens/counter.py`). Two of them are always at hand: the break before each header, and the one inside each marker
"[...]" between two passages. Cut there, a context is a row of portions, and its count is the sum of theirs:

    header | passage | marker, first half >< marker, second half | passage | separator >< header | ...
    '------------------ portion ----------''----------------- portion -----------------''-- ...

So a group's size is a sum over its stretches, and a context's a sum over its groups. A candidate that joins a document
changes one or two stretches: their portions are counted anew, the others keep their numbers.

Three things depend on more than their portion, and each has its rule:

- The label's number depends on all groups before it. A number of up to three digits is one token wherever it stands,
  so portions are counted with the label 1, and `digits` adds what longer numbers take, from their number alone.
- The header may name the page of a passage further down. It is written anew only if pages or the best chunk change.
- The last separator is not written. `Sized.separator` has what it takes, to be taken off for the last group.

A portion that begins with white space or "/" would merge with the break before it: it is `loose`, and with one such
portion the whole context is rendered and counted instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ctxassembly.assembly.rendering.groups import Group, Page, Size, Sized, best_of, by_merit, labels_of
from ctxassembly.assembly.rendering.join import Stretch
from ctxassembly.assembly.rendering.render import MARKER, SEPARATORS, Renderer
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import Candidate, Label, Part, Piece
from ctxassembly.tokens.counter import Counter, Measured
from ctxassembly.wording.formats import shows_labels

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
