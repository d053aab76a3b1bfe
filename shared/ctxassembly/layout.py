"""The draft of a context: what is selected, how it would be rendered, and what that would cost.

It is where joining, rendering and counting meet, so that the budget weighs exactly what is written in the end.
A try costs the rendering of the documents that it touches: the others keep their counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ctxassembly.config import AssemblyConfig
from ctxassembly.join import Joint, find_joint, join, trimmed
from ctxassembly.render import SEPARATOR, Renderer
from ctxassembly.tokens import Counter
from ctxassembly.types import Candidate, Chunk, Header, Label, Part, Piece


class Layout:
    """The selected candidates, grouped by document in the order of their best hits, and their rendered cost."""

    def __init__(self, config: AssemblyConfig, counter: Counter, summaries: Mapping[str, str]) -> None:
        self._config = config
        self._counter = counter
        self._summaries = summaries
        self._renderer = Renderer(config)
        # Keyed by identity: whoever owns the candidates keeps the chunks alive as long as the layout.
        self._joints: dict[tuple[int, int, bool], Joint | None] = {}
        self._groups: dict[object, _Group] = {}
        self.token_count = 0

    def at_least(self, candidates: Sequence[Candidate]) -> int:
        """A lower bound of the tokens of `candidates`, found without counting. Overlap is not in it."""
        return max((self._counter.at_least(candidate.chunk.text) for candidate in candidates), default=0)

    def weigh(self, candidates: Sequence[Candidate], level: Header = Header.FULL) -> int:
        """The tokens of the whole context if `candidates` joined what is selected."""
        return self._cost(self._with(candidates), level)

    def take(self, candidates: Sequence[Candidate]) -> None:
        """Select `candidates`."""
        self._groups = self._with(candidates)
        self.token_count = self._cost(self._groups, Header.FULL)

    def labels(self) -> list[Label]:
        """What the labels 1, 2, ... stand for."""
        return [label for group in _in_order(self._groups) for label in group.labels]

    def blocks(self, level: Header = Header.FULL) -> list[list[Part]]:
        """The parts of each label's block; all but the last end in the separator."""
        return self._blocks(self._groups, level)

    def header_cost(self, candidate: Candidate, level: Header) -> int:
        """The tokens that header, summary and footer take around `candidate` alone."""
        return self.weigh([candidate], level) - self.weigh([candidate], Header.NONE)

    def _with(self, candidates: Iterable[Candidate]) -> dict[object, _Group]:
        added: dict[object, list[Candidate]] = {}
        for candidate in candidates:
            # Passed through, every hit is a group of its own: nothing is joined and the order stays.
            key: object = candidate.chunk.document_id if self._config.enabled else candidate.rank
            added.setdefault(key, []).append(candidate)
        groups = dict(self._groups)
        for key, new in added.items():
            before = groups[key].candidates if key in groups else []
            groups[key] = self._group(sorted([*before, *new], key=lambda c: (c.position, c.rank)))
        return groups

    def _group(self, candidates: list[Candidate]) -> _Group:
        passages = join(candidates, self._joint)
        document_id = candidates[0].chunk.document_id
        return _Group(candidates, _labels(passages, self._config.cite, self._summaries.get(document_id, "")))

    def _joint(self, first: Chunk, second: Chunk, adjacent: bool) -> Joint | None:
        key = (id(first), id(second), adjacent)
        if key not in self._joints:
            config = self._config
            self._joints[key] = find_joint(first, second, adjacent, config.min_overlap_chars, config.max_overlap_chars)
        return self._joints[key]

    def _cost(self, groups: Mapping[object, _Group], level: Header) -> int:
        ordered = _in_order(groups)
        if not self._counter.additive or self._config.format == "minimal" or level is Header.NONE:
            # Blocks without a header may begin with anything: no boundary is known to be one.
            return self._counter.total(part.text for block in self._blocks(groups, level) for part in block)
        tokens, label = 0, 1
        for number, group in enumerate(ordered):
            last = number == len(ordered) - 1
            key = (label, last, level)
            if key not in group.costs:
                blocks = self._render(group, label, last, level)
                group.costs[key] = self._counter.total(part.text for block in blocks for part in block)
            tokens += group.costs[key]
            label += len(group.labels)
        return tokens

    def _blocks(self, groups: Mapping[object, _Group], level: Header) -> list[list[Part]]:
        ordered = _in_order(groups)
        blocks: list[list[Part]] = []
        for number, group in enumerate(ordered):
            blocks += self._render(group, len(blocks) + 1, number == len(ordered) - 1, level)
        return blocks

    def _render(self, group: _Group, label: int, last: bool, level: Header) -> list[list[Part]]:
        blocks = []
        for step, each in enumerate(group.labels):
            parts = self._renderer.block(label + step, each, level)
            if not (last and step == len(group.labels) - 1):
                parts.append(Part(SEPARATOR))
            blocks.append(parts)
        return blocks


class _Group:
    """The selected candidates of one document, by position, what its labels stand for, and the costs found so far."""

    __slots__ = ("candidates", "costs", "labels", "rank")

    def __init__(self, candidates: list[Candidate], labels: list[Label]) -> None:
        self.candidates = candidates
        self.labels = labels
        self.rank = min(candidate.rank for candidate in candidates)
        self.costs: dict[tuple[int, bool, Header], int] = {}


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
