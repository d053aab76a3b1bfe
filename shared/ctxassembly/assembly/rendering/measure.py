"""The typesetter: joins, labels, orders, writes and measures groups of chunks for one config.

It keeps what is the same for every selection: the config, the joins of chunks, the measured sizes of groups. So all
layouts of one assembly share one typesetter and its caches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import NamedTuple

from ctxassembly.assembly.rendering.excerpt import DocumentText
from ctxassembly.assembly.rendering.groups import (
    DocumentGroup,
    GetJoin,
    GetRank,
    GroupKey,
    LabelRun,
    MeasuredGroup,
    Size,
    best_candidate,
    extend_group,
    label_runs,
    passage_labels,
    rank_key,
    reading_key,
)
from ctxassembly.assembly.rendering.order import arrange
from ctxassembly.assembly.rendering.parts import Parts
from ctxassembly.assembly.rendering.render import BLOCK_SEPARATOR, PASSAGE_MARKER, Renderer
from ctxassembly.config.assembly import AssemblyConfig, Order
from ctxassembly.data.candidates import (
    NO_SUPPLEMENT,
    Candidate,
    CitationBlock,
    HeaderDetail,
    RenderedPart,
    RenderedSupplement,
    TextPiece,
)
from ctxassembly.tokens.counter import TokenCounter, TokenSpan, lower_bound
from ctxassembly.wording.formats import FORMATS, shows_labels

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
# document changes one or two stretches: their portions are counted again, the others keep their numbers.
#
# Three things depend on more than their portion, and each has its rule:
#
# - The label's number depends on all groups before it. A number of up to three digits is one token everywhere,
#   so portions are counted with the label 1, and `label_digits` adds what longer numbers take.
# - The header may name the page of a passage further down. It is written again only if pages or the best chunk change.
# - The last separator is not written. `MeasuredGroup.separator_tokens` has its tokens, which are subtracted for the
#   last group.
#
# A portion that begins with white space or "/" would merge with the break before it: it is `is_loose`, and with one
# such portion the whole context is rendered and counted instead.


DIGITS_PER_TOKEN = 3
"""Digits of a number that make one token, in each of the encodings whose counts add up."""
EMPTY_SIZE = Size()
GetTokenStarts = Callable[[int, int, int], Iterable[int]]
"""Maps the key of a candidate and a slice `[start:end]` of its chunk to the offsets in the slice at which the tokens of
sentences begin."""


def effective_order(config: AssemblyConfig, parts: Parts | None = None) -> Order:
    """Return the order of labels; "auto" orders documents, in each of its `parts`, or chunks that have one each."""
    if config.enabled and config.order != "auto":
        return config.order
    return "relevance" if parts is not None and parts.chunk_parts else "documents"


def _best_in_passage(passage: DocumentText) -> Candidate:
    if "best" not in passage.sizes:
        passage.sizes["best"] = best_candidate(passage.pieces)
    best: Candidate = passage.sizes["best"]
    return best


def _best_in_passages(passages: Sequence[DocumentText]) -> Candidate:
    return min(map(_best_in_passage, passages), key=rank_key) if len(passages) > 1 else _best_in_passage(passages[0])


def _heading_text(renderer: Renderer, label: CitationBlock) -> str:
    parts, _ = renderer.heading(1, label)
    return "".join([part.text for part in parts])


class PlacedRun(NamedTuple):
    """A run of labels where it is read."""

    run: LabelRun
    numbers: tuple[int, ...]
    """The number of each of its labels."""
    shows_summary: bool
    """True if it has the page summary: for the first run of its document."""

    @property
    def rendered_labels(self) -> Sequence[CitationBlock]:
        """Its labels as they are written here: the page summary is in the first one."""
        labels, summary = self.run.labels, self.run.summary
        if not (self.shows_summary and summary and labels):
            return labels
        return [labels[0]._replace(summary=summary), *labels[1:]]


class Typesetter:
    """Joins, arranges, writes and measures groups for one config.

    `renderer` writes them. `summaries` has the page summaries by document id. The `supplement` comes before all blocks
    or after them. With `parts` each document has a group in each of them, or one whose chunks are ordered by them.
    """

    def __init__(
        self,
        renderer: Renderer,
        counter: TokenCounter,
        get_join: GetJoin,
        summaries: Mapping[str, str],
        supplement: RenderedSupplement = NO_SUPPLEMENT,
        parts: Parts | None = None,
    ) -> None:
        config, self._earlier = renderer.config, renderer.earlier
        self.config = config
        self.counter = counter
        self.order = effective_order(config, parts)
        self.is_by_document = self.order == "documents" or config.cite == "document"
        """True if the labels of a group keep together; else each is ordered on its own."""
        self.parts = parts
        self.renderer = renderer
        self.get_rank: GetRank = parts.chunk_rank if parts is not None and parts.chunk_parts else rank_key
        """Ranks chunks by relevance."""
        self.token_starts: GetTokenStarts | None = None
        """Where text is divided to be counted; None if it is counted chunk by chunk."""
        marker = counter.measure(PASSAGE_MARKER)
        self._marker_start = counter.measure(marker.prefix)
        self._marker_end = marker.suffix or "" if config.cite == "document" else ""
        self.separator = counter.measure(BLOCK_SEPARATOR)
        # Counts add up only without a function of the caller's, which would write a footer of its own.
        self._footer = FORMATS[config.format].footer if isinstance(config.format, str) else ""
        self._summaries = summaries
        self._given_supplement = supplement
        self.get_join = get_join
        self.supplement = counter.chain(counter.measure(part.text) for part in supplement.parts)
        is_first = bool(supplement.parts) and supplement.is_first
        self.opening = counter.chain((self.supplement, self.separator)) if is_first else None
        """The supplement and the separator after it, if it comes before the blocks."""
        # Then it depends on the order of labels which of them has the summary.
        self._has_summary_once = not self.is_by_document or (parts is not None and parts.count > 1)
        scattered = summaries and self._has_summary_once
        # Labels of the conversation come in any order. Up to three digits, each is one token, but not one character.
        has_long_labels = self._earlier.labels and (
            self._earlier.max_label >= 10**DIGITS_PER_TOKEN or config.max_characters
        )
        self.is_additive = bool(
            counter.additive and not callable(config.format) and not scattered and not has_long_labels
        )
        """True if groups can be measured apart and their sizes added up."""
        self.has_lower_bound = self.is_additive and not (summaries and self.order != "documents")
        """True if a lower bound of what candidates add is known without writing them."""

    def in_parts(self, parts: Parts) -> Typesetter:
        """Return the typesetter of the same config whose groups are divided into `parts`."""
        return Typesetter(self.renderer, self.counter, self.get_join, self._summaries, self._given_supplement, parts)

    def cut_at(self, token_starts: GetTokenStarts) -> Typesetter:
        """Return the same typesetter, which counts text between `token_starts`."""
        typesetter = copy(self)
        typesetter.token_starts = token_starts
        return typesetter

    def group_candidates(self, candidates: Iterable[Candidate], parts: Parts | None) -> dict[GroupKey, list[Candidate]]:
        """Return `candidates` by the key of the group that they would join or make, divided into `parts`."""
        members: dict[GroupKey, list[Candidate]] = {}
        enabled = self.config.enabled
        for candidate in candidates:
            # With enabled=False each hit is a group of its own: nothing is joined or reordered.
            name = candidate.chunk.document_id if enabled else candidate.rank
            for part, form in parts.divide(candidate) if parts else ((0, candidate),):
                members.setdefault((part, name), []).append(form)
        return members

    def changed_groups(
        self, groups: Mapping[GroupKey, DocumentGroup], candidates: Iterable[Candidate]
    ) -> dict[GroupKey, DocumentGroup]:
        """Return the groups that `candidates` would make or change in `groups`, by their key."""
        changed: dict[GroupKey, DocumentGroup] = {}
        for key, new in self.group_candidates(candidates, self.parts).items():
            if self.parts is None:
                relevance = min([(candidate.rank, candidate.distance) for candidate in new])
            else:
                relevance = self.parts.relevance(key[0], new[0].chunk.document_id)
            changed[key] = extend_group(key, groups.get(key), sorted(new, key=reading_key), relevance, self.get_join)
        return changed

    def header_tokens(self, candidate: Candidate) -> int:
        """Return the tokens of what is written above the text of `candidate`, if it has a label of its own."""
        label = self._own_label(candidate, self._summaries.get(candidate.chunk.document_id, ""))
        return sum(self.counter.count(part.text) for part in self.renderer.heading(1, label)[0])

    def min_header_tokens(self, candidate: Candidate) -> int:
        """Return a lower bound on the tokens of its header, if `candidate` has a label of its own."""
        parts, _ = self.renderer.heading(1, self._own_label(candidate))
        known = self.counter.measure(parts[0].text.removesuffix("\n") if parts else "")
        if not known.suffix:
            return 0
        # Its last token may merge with the text.
        return self.counter.count(known.prefix) + known.inner_count + max(lower_bound(known.suffix) - 1, 0)

    def _own_label(self, candidate: Candidate, summary: str = "") -> CitationBlock:
        whole = TextPiece(candidate, 0, len(candidate.chunk.text), "")
        return CitationBlock([(whole,)], candidate, summary)

    def measure_group(self, group: DocumentGroup) -> MeasuredGroup:
        """Return the size of `group`."""
        if group.measured is None:
            group.measured = self._measure_group(group)
        return group.measured

    def label_digits(self, label_count: int) -> tuple[int, int]:
        """Return the tokens and the characters by which the numbers of so many labels exceed one digit each."""
        first, step = self.config.first_label, self._earlier.label_step
        last = first + (label_count - 1) * step
        tokens = characters = 0
        min_number, length = 10, 1
        while shows_labels(self.config.format) and last >= min_number:
            longer_count = (last - max(min_number, first)) // step + 1
            characters += longer_count
            tokens += longer_count if length % DIGITS_PER_TOKEN == 0 else 0
            min_number, length = min_number * 10, length + 1
        return tokens, characters

    def separator_tokens(self, label: CitationBlock) -> int:
        """Return the tokens that go if nothing comes after the block of a label."""
        return self._labels_size([label], "")[1]

    def place_runs(self, groups: Iterable[DocumentGroup]) -> list[PlacedRun]:
        """Return the runs of all `groups` as they are read."""
        runs = [run for group in groups for run in self._label_runs(group)]
        number, with_summary = self._earlier.number_labels(self.config), set()
        placed_runs = []
        for run in arrange(runs, self.order, lambda run: run.sort_keys):
            document_id = run.sort_keys.document_id
            shows_summary = not (self._has_summary_once and document_id in with_summary)
            placed_runs.append(PlacedRun(run, tuple(map(number, run.labels)), shows_summary))
            with_summary.add(document_id)
        return placed_runs

    def measure_all(self, groups: Iterable[DocumentGroup], detail: HeaderDetail) -> TokenSpan:
        """Return all `groups` rendered and measured as a whole, together with the supplement."""
        pieces: list[TokenSpan] = []
        for placed_run in self.place_runs(groups):
            pieces += (self.separator, self._measure_run(placed_run, detail))
        if not pieces:
            return self.supplement
        if self.opening is not None:
            return self.counter.chain((self.opening, *pieces[1:]))
        closing = (self.separator, self.supplement) if self._given_supplement.parts else ()
        return self.counter.chain((*pieces[1:], *closing))

    def blocks(self, placed_run: PlacedRun, detail: HeaderDetail) -> list[list[RenderedPart]]:
        """Return the blocks of a run, as they are measured and then written: mostly the same ones."""
        run, numbers, shows_summary = placed_run
        key = (numbers, shows_summary, detail)
        if run.rendered is None or run.rendered[0] != key:
            labels = zip(numbers, placed_run.rendered_labels, strict=True)
            run.rendered = key, [self.renderer.block(number, label, detail) for number, label in labels]
        return run.rendered[1]

    def _measure_run(self, placed_run: PlacedRun, detail: HeaderDetail) -> TokenSpan:
        run, numbers, shows_summary = placed_run
        key = (numbers, shows_summary, detail)
        if key not in run.token_spans:
            counter = self.counter
            pieces: list[TokenSpan] = []
            for block in self.blocks(placed_run, detail):
                pieces.append(self.separator)
                pieces += [counter.measure(part.text) for part in block]
            run.token_spans[key] = counter.chain(pieces[1:])
        return run.token_spans[key]

    def _measure_group(self, group: DocumentGroup) -> MeasuredGroup:
        passages, summary = group.passages, self._summaries.get(group.document_id, "")
        if any(not passage.pieces for passage in passages):  # nothing but blanks: it has no portion
            return MeasuredGroup(Size(not_additive=1), 0)
        sizes, before, separator_tokens = list[Size](), self._preamble(group, summary), 0
        for passage in passages:
            size, separator_tokens = self._passage_size(
                passage, before, is_last=passage is passages[-1] or not self._marker_end
            )
            sizes.append(size)
            before = self._marker_end
        total = Size(*map(sum, zip(*sizes, strict=True)))
        return MeasuredGroup(total._replace(fixed_tokens=total.tokens - max(separator_tokens, 0)), separator_tokens)

    def _preamble(self, group: DocumentGroup, summary: str) -> str:
        """Return the text before the first passage of `group`: the header with the summary.

        Where a group may have several labels, it is the summary alone, which goes below the first header.
        """
        if self.config.cite != "document":
            return summary
        (label,) = self._labels(group)
        return _heading_text(self.renderer, label._replace(summary=summary) if summary else label)

    def _passage_size(self, passage: DocumentText, before: str, *, is_last: bool) -> tuple[Size, int]:
        """Return the size of `passage` with a marker or the preamble `before`, and with a marker or a separator after.

        Also return the tokens of the separator, which isn't written after the last block.
        """
        key = (before, is_last)
        known: tuple[Size, int] | None = passage.sizes.get(key)
        if known is None:
            if self.config.cite == "document":
                after = self.renderer.footer_parts(self._footer, passage.pieces) if is_last else None
                size, separator = self._portion_size(before, passage.pieces, after)
            else:
                size, separator = self._labels_size(self._passage_labels(passage), before)
            if len({piece.candidate.key for piece in passage.pieces}) != len(passage.members):
                size = size._replace(contained_count=1)
            known = passage.sizes[key] = size, separator
        return known

    def _labels_size(self, labels: Sequence[CitationBlock], summary: str) -> tuple[Size, int]:
        whole, separator = Size(), 0
        for label in labels:
            preamble = _heading_text(self.renderer, label._replace(summary="" if whole.labels else summary))
            after = self.renderer.footer_parts(self._footer, label.passages[-1])
            size, separator = self._portion_size(preamble, label.passages[-1], after)
            whole = whole.plus(size)
        return whole, separator

    def _portion_size(
        self, before: str, passage: Sequence[TextPiece], after: Sequence[RenderedPart] | None
    ) -> tuple[Size, int]:
        """Return the size of a portion, and the tokens of the separator at its end.

        It is what comes `before` the passage, the passage, and the footer `after` it with the separator. None means
        that another passage follows: then the first half of a marker comes last.
        """
        counter, verbatim = self.counter, 0
        parts = self.renderer.passage(passage, is_first=not before)
        # A text that begins with these merges with the line break before it.
        is_loose = not before and (not parts or parts[0].text[0] == "/" or parts[0].text[0].isspace())
        parts = [RenderedPart(before), *parts, *(after or ())]
        if self.token_starts:
            text = counter.measure("".join([part.text for part in parts]), self._cuts(parts, self.token_starts))
        else:
            pieces = [counter.measure(part.text) for part in parts]
            verbatim = sum([piece.inner_count for part, piece in zip(parts, pieces, strict=True) if part.candidate])
            text = counter.chain(pieces)
        whole = counter.chain((text, self._marker_start if after is None else self.separator))
        tokens = counter.tokens(whole)
        size = Size(tokens, whole.characters, int(after is not None), verbatim, int(is_loose))
        return size, 0 if after is None else tokens - counter.tokens(text)

    @staticmethod
    def _cuts(parts: Iterable[RenderedPart], token_starts: GetTokenStarts) -> Iterator[int]:
        """Yield where the text of `parts` may be divided: between sentences, most of which were counted before."""
        begin = 0
        for text, candidate, start, stop in parts:
            end = begin + len(text)
            if candidate:
                yield from [begin + at for at in token_starts(candidate.key, start, stop)]
            else:  # the white space around a marker goes with the text
                yield from sorted({begin, begin + 1, end - 1, end})
            begin = end

    def _label_runs(self, group: DocumentGroup) -> list[LabelRun]:
        if group.runs is None:
            group.runs = label_runs(
                group,
                self._labels(group),
                summary=self._summaries.get(group.document_id, ""),
                source_and_page=self._source_and_page(group),
                get_rank=None if self.is_by_document else self.get_rank,
            )
        return group.runs

    def _labels(self, group: DocumentGroup) -> Sequence[CitationBlock]:
        """Return the labels of `group`, the same ones when it is measured and when it is written."""
        if group.labels is None:
            passages = [passage for passage in group.passages if passage.pieces]
            if self.config.cite == "document":
                pieces = [passage.pieces for passage in passages]
                group.labels = [CitationBlock(pieces, _best_in_passages(passages), "")]
            else:
                group.labels = [label for passage in passages for label in self._passage_labels(passage)]
        return group.labels

    def _passage_labels(self, passage: DocumentText) -> Sequence[CitationBlock]:
        if "labels" not in passage.sizes:
            passage.sizes["labels"] = passage_labels(passage.pieces, self.config.cite, self.order, self.get_rank)
        labels: Sequence[CitationBlock] = passage.sizes["labels"]
        return labels

    def _source_and_page(self, group: DocumentGroup) -> tuple[str, int | str | None]:
        """Return the source of a document and the first page of its candidates, where they are ordered by that."""
        if self.order != "document_order":
            return "", None
        particulars = self.renderer.particulars
        pages = (particulars.number(candidate.chunk, "page") for candidate in group.candidates)
        page = next((page for page in pages if page is not None), None)
        return particulars.source(group.candidates[0].chunk), page
