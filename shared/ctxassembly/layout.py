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

Place = tuple[int, bool]
"""The first label of a group, and whether it is the last group: then no separator follows it."""


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
        self._tried: tuple[Sequence[Candidate], dict[object, _Group], int] = ((), {}, 0)
        self.token_count = 0

    def at_least(self, candidates: Sequence[Candidate]) -> int:
        """A lower bound of the tokens of `candidates`, found without counting. Overlap is not in it."""
        return max((self._counter.at_least(candidate.chunk.text) for candidate in candidates), default=0)

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
        label = 1
        for group in (ordered := _in_order(self._groups)):
            group.place = (label, group is ordered[-1])
            label += len(group.labels)

    def labels(self) -> list[Label]:
        """What the labels 1, 2, ... stand for."""
        return [label for group in _in_order(self._groups) for label in group.labels]

    def blocks(self, level: Header = Header.FULL) -> list[list[Part]]:
        """The parts of each label's block; all but the last end in the separator."""
        return self._blocks(_in_order(self._groups), level)

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
        if not self._counter.additive or self._config.format == "minimal" or level is Header.NONE:
            # Blocks without a header may begin with anything: no boundary is known to be one.
            blocks = self._blocks(_in_order({**self._groups, **changed}), level)
            return self._counter.total(part.text for block in blocks for part in block)
        before = [self._groups.get(key) for key in changed]
        if level is Header.FULL and all(
            old is not None and (len(old.labels), old.rank) == (len(new.labels), new.rank)
            for old, new in zip(before, changed.values(), strict=True)
        ):
            # No label moves: the other groups cost what they did.
            return self.token_count + sum(
                self._group_cost(new, old.place, level) - self._group_cost(old, old.place, level)
                for old, new in zip(before, changed.values(), strict=True)
                if old is not None
            )
        ordered = _in_order({**self._groups, **changed})
        tokens, label = 0, 1
        for group in ordered:
            tokens += self._group_cost(group, (label, group is ordered[-1]), level)
            label += len(group.labels)
        return tokens

    def _group_cost(self, group: _Group, place: Place, level: Header) -> int:
        key = (place, level)
        if key not in group.costs:
            blocks = self._render(group, place, level)
            group.costs[key] = self._counter.total(part.text for block in blocks for part in block)
        return group.costs[key]

    def _blocks(self, ordered: Sequence[_Group], level: Header) -> list[list[Part]]:
        blocks: list[list[Part]] = []
        for group in ordered:
            blocks += self._render(group, (len(blocks) + 1, group is ordered[-1]), level)
        return blocks

    def _render(self, group: _Group, place: Place, level: Header) -> list[list[Part]]:
        first, is_last = place
        blocks = [self._renderer.block(first + step, label, level) for step, label in enumerate(group.labels)]
        for parts in blocks[:-1] if is_last else blocks:
            parts.append(Part(SEPARATOR))
        return blocks


class _Group:
    """The selected candidates of one document, by position, what its labels stand for, and the costs found so far."""

    __slots__ = ("candidates", "costs", "labels", "place", "rank")

    def __init__(self, candidates: list[Candidate], labels: list[Label]) -> None:
        self.candidates = candidates
        self.labels = labels
        self.rank = min(candidate.rank for candidate in candidates)
        self.place: Place = (0, False)
        self.costs: dict[tuple[Place, Header], int] = {}


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
