"""The draft of a context: what is selected, how it would be rendered, and what that would cost.

It is where joining, rendering and counting meet, so that the budget weighs exactly what is written in the end.
A try costs the rendering of the documents that it touches: the others keep their counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ctxassembly.config import AssemblyConfig
from ctxassembly.join import Joint, find_joint, join, trimmed
from ctxassembly.render import SEPARATOR, Renderer
from ctxassembly.tokens import Counter, Measured
from ctxassembly.types import Candidate, Chunk, Header, Label, Part, Piece


class Layout:
    """The selected candidates, grouped by document in the order of their best hits, and their rendered cost."""

    def __init__(self, config: AssemblyConfig, counter: Counter, summaries: Mapping[str, str]) -> None:
        self._config = config
        self._counter = counter
        self._summaries = summaries
        self._renderer = Renderer(config)
        self._separator = counter.measure(SEPARATOR)
        # Keyed by identity: whoever owns the candidates keeps the chunks alive as long as the layout.
        self._joints: dict[tuple[int, int, bool], Joint | None] = {}
        self._groups: dict[object, _Group] = {}
        self._ordered: list[_Group] = []
        self._all_before = Measured("", 0, None)
        self._tried: tuple[Sequence[Candidate], dict[object, _Group], int] = ((), {}, 0)
        self.token_count = 0

    def at_least(self, candidates: Sequence[Candidate]) -> int:
        """A lower bound of the tokens of `candidates`, found without counting. Overlap is not in it."""
        return max((self._counter.at_least(candidate.chunk.text.strip()) for candidate in candidates), default=0)

    def text_tokens(self, candidate: Candidate) -> int:
        """The tokens of the candidate's text alone."""
        return self._counter.tokens(self._counter.measure(candidate.chunk.text))

    def weigh(self, candidates: Sequence[Candidate], level: Header = Header.FULL) -> int:
        """The tokens of the whole context if `candidates` joined what is selected."""
        changed = self._changed(candidates)
        tokens = self._cost(changed, level)
        if level is Header.FULL:
            self._tried = (candidates, changed, tokens)
        return tokens

    def take(self, candidates: Sequence[Candidate]) -> None:
        """Select `candidates`."""
        if self._tried[0] is not candidates:
            self.weigh(candidates)
        _, changed, self.token_count = self._tried
        self._groups |= changed
        self._ordered = _in_order(self._groups)
        self._measure_surroundings()

    def labels(self) -> list[Label]:
        """What the labels 1, 2, ... stand for."""
        return [label for group in self._ordered for label in group.labels]

    def blocks(self, level: Header = Header.FULL) -> list[list[Part]]:
        """The parts of each label's block."""
        return [block for group, first in _numbered(self._ordered) for block in self._blocks(group, first, level)]

    def header_cost(self, candidate: Candidate, level: Header) -> int:
        """The tokens that header, summary and footer take around `candidate` alone."""
        return self.weigh([candidate], level) - self.weigh([candidate], Header.NONE)

    def _changed(self, candidates: Iterable[Candidate]) -> dict[object, _Group]:
        """The groups that `candidates` would make or change, by their key."""
        added: dict[object, list[Candidate]] = {}
        for candidate in candidates:
            # Passed through, every hit is a group of its own: nothing is joined and the order stays.
            key: object = candidate.chunk.document_id if self._config.enabled else candidate.rank
            added.setdefault(key, []).append(candidate)
        changed = {}
        for key, new in added.items():
            before = self._groups[key].candidates if key in self._groups else []
            changed[key] = self._group(sorted([*before, *new], key=lambda c: (c.position, c.rank)))
        return changed

    def _group(self, candidates: list[Candidate]) -> _Group:
        passages = join(candidates, self._joint)
        summary = self._summaries.get(candidates[0].chunk.document_id, "")
        return _Group(candidates, _labels(passages, self._config.cite, summary))

    def _joint(self, first: Chunk, second: Chunk, adjacent: bool) -> Joint | None:
        key = (id(first), id(second), adjacent)
        if key not in self._joints:
            config = self._config
            self._joints[key] = find_joint(first, second, adjacent, config.min_overlap_chars, config.max_overlap_chars)
        return self._joints[key]

    def _cost(self, changed: Mapping[object, _Group], level: Header) -> int:
        chain, separator = self._counter.chain, self._separator
        if len(changed) == 1 and level is Header.FULL:
            ((key, new),) = changed.items()
            old = self._groups.get(key)
            if old is None and self._ordered and new.rank > self._ordered[-1].rank:
                last = self._ordered[-1]
                measured = self._measured(new, last.first_label + len(last.labels), level)
                return self._counter.tokens(chain((self._all_before, measured)))
            if old is not None and (old.rank, len(old.labels)) == (new.rank, len(new.labels)):
                measured = self._measured(new, old.first_label, level)
                return self._counter.tokens(chain((old.before, measured, old.after)))
        pieces: list[Measured] = []
        for group, first in _numbered(_in_order({**self._groups, **changed})):
            pieces += (separator, self._measured(group, first, level))
        return self._counter.tokens(chain(pieces[1:]))

    def _measure_surroundings(self) -> None:
        """Measure what stands before and after each group, so that a try needs to measure only what it changes."""
        chain, separator = self._counter.chain, self._separator
        before = after = Measured("", 0, None)
        for group, first_label in _numbered(self._ordered):
            group.first_label = first_label
            group.before = before
            before = chain((before, self._measured(group, group.first_label, Header.FULL), separator))
        self._all_before = before
        for group in reversed(self._ordered):
            group.after = after
            after = chain((separator, self._measured(group, group.first_label, Header.FULL), after))

    def _measured(self, group: _Group, first_label: int, level: Header) -> Measured:
        key = (first_label, level)
        if key not in group.measured:
            counter = self._counter
            pieces: list[Measured] = []
            for block in self._blocks(group, first_label, level):
                pieces.append(self._separator)
                pieces += [counter.measure(part.text) for part in block]
            group.measured[key] = counter.chain(pieces[1:])
        return group.measured[key]

    def _blocks(self, group: _Group, label: int, level: Header) -> list[list[Part]]:
        return [self._renderer.block(label + step, each, level) for step, each in enumerate(group.labels)]


class _Group:
    """The selected candidates of one document, by position, and what its labels stand for.

    Once it is selected it also knows its first label and what stands before and after it, separators included.
    """

    __slots__ = ("after", "before", "candidates", "first_label", "labels", "measured", "rank")

    first_label: int
    before: Measured
    after: Measured

    def __init__(self, candidates: list[Candidate], labels: list[Label]) -> None:
        self.candidates = candidates
        self.labels = labels
        self.rank = min(candidate.rank for candidate in candidates)
        self.measured: dict[tuple[int, Header], Measured] = {}


def _numbered(ordered: Iterable[_Group]) -> Iterator[tuple[_Group, int]]:
    """The groups, each with its first label."""
    label = 1
    for group in ordered:
        yield group, label
        label += len(group.labels)


def _in_order(groups: Mapping[object, _Group]) -> list[_Group]:
    return sorted(groups.values(), key=lambda group: group.rank)


def _labels(passages: list[tuple[Piece, ...]], cite: str, summary: str) -> list[Label]:
    shares: list[Sequence[tuple[Piece, ...]]]
    if cite == "document":
        shares = [passages]
    elif cite == "passage":
        shares = [[passage] for passage in passages]
    else:
        pieces = (piece for passage in passages for piece in passage if piece.text.strip())
        shares = [[trimmed([piece._replace(glue="")])] for piece in pieces]
    return [Label(share, _best(share), "" if number else summary) for number, share in enumerate(shares)]


def _best(passages: Sequence[tuple[Piece, ...]]) -> Candidate:
    return min(
        (piece.candidate for passage in passages for piece in passage), key=lambda c: (not c.is_hit, c.rank, c.distance)
    )
