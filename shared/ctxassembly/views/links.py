"""The ways between a retrieved fragment and the places in the context where its text stands, both of one hit.

Whatever belongs to a hit has a class with its rank, by which the style sheet lights up all of it when the pointer or
the focus is on one part. An address leads from each to the other: a click goes there, without a script.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ctxassembly.data.candidates import Candidate
from ctxassembly.data.citations import ContextData
from ctxassembly.tracing.decisions import MAX_SHOWN_HITS
from ctxassembly.views.runs import block_parts

_REPRESENTED_OUTCOMES = ("duplicate", "contained")


class CrossHighlight:
    """The hits that each chunk in the context stands for, and the addresses of both."""

    def __init__(self, context: ContextData, anchor: str) -> None:
        self.anchor = anchor
        self._represented: dict[str, list[int]] = defaultdict(list)
        for decision in context.trace.decisions:
            is_represented = (
                decision.outcome in _REPRESENTED_OUTCOMES and not decision.distance and decision.rank < MAX_SHOWN_HITS
            )
            if is_represented and decision.because_of is not None:
                self._represented[decision.because_of].append(decision.rank)
        self._labels: dict[int, dict[str, None]] = defaultdict(dict)
        self._anchor_ranks: dict[int, int] = {}  # an element has one id: that of the first of its hits
        for block, share in block_parts(context):
            for run in share.runs:
                if run.candidate is not None and run.text.strip() and block.citation is not None:
                    ranks = self.hit_ranks(run.candidate)
                    for rank in ranks:
                        self._labels[rank].setdefault(block.citation.label)
                        self._anchor_ranks.setdefault(rank, ranks[0])
        self._shown_fragments: frozenset[int] = frozenset()
        self._linked_ranks: set[int] = set()
        self._anchored_ranks: set[int] = set()

    def hit_ranks(self, candidate: Candidate) -> tuple[int, ...]:
        """The hits whose text `candidate` has: its own, if it is one, and those that it made superfluous."""
        own = [candidate.rank] if candidate.is_hit and candidate.rank < MAX_SHOWN_HITS else []
        return tuple(dict.fromkeys((*own, *self._represented.get(candidate.chunk.id, ()))))

    def labels(self, rank: int) -> tuple[str, ...]:
        """The labels below which the text of a hit stands."""
        return tuple(self._labels.get(rank, ()))

    def show_fragments(self, ranks: Iterable[int]) -> None:
        """Let `fragment_link` lead to the fragments of these hits, which are all that have room."""
        self._shown_fragments = frozenset(ranks)

    def fragment_link(self, rank: int) -> str | None:
        """The address of the fragment of a hit; None if it isn't shown."""
        return f"#{self.anchor}-f{rank}" if rank in self._shown_fragments else None

    def passage_link(self, rank: int) -> str | None:
        """The address of the first place where the text of a hit stands; None if it stands nowhere."""
        place = self._anchor_ranks.get(rank)
        if place is None:
            return None
        self._linked_ranks.add(place)
        return f"#{self.anchor}-k{place}"

    def passage_anchor(self, ranks: Sequence[int]) -> str | None:
        """The id of a stretch of text of these hits; None if an earlier one has it."""
        if not ranks or ranks[0] in self._anchored_ranks:
            return None
        self._anchored_ranks.add(ranks[0])
        return f"{self.anchor}-k{ranks[0]}"

    def excluded_anchors(self, markup: str) -> tuple[str, ...]:
        """The ids that addresses lead to and nothing in `markup` has, since that part had no room."""
        ids = (f"{self.anchor}-k{place}" for place in sorted(self._linked_ranks))
        return tuple(id_ for id_ in ids if f'id="{id_}"' not in markup)


def css_class(ranks: Iterable[int], *, isolates_fragments: bool = False) -> str:
    """The classes of what belongs to the hits at `hit_ranks`; with `isolates_fragments` it shows their fragments alone.

    >>> css_class([0, 3], isolates_fragments=True)
    'cxa-lit cxa-k0 cxa-k3 cxa-leads'
    """
    of_each = [f"cxa-k{rank}" for rank in ranks]
    return " ".join(("cxa-lit", *of_each, *(["cxa-leads"] if isolates_fragments else []))) if of_each else ""
