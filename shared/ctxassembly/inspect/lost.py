"""The hits that the model doesn't read, with what beat them and the setting that decides it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from ctxassembly.data import candidates
from ctxassembly.data.citations import Assembled
from ctxassembly.data.trace import Decision, Trace
from ctxassembly.inspect.documents import Names
from ctxassembly.inspect.limits import DECISIONS, ID_CHARS, LOST_BYTES
from ctxassembly.inspect.links import lit
from ctxassembly.inspect.markup import Html, joined, more, shortened, size, tag, within
from ctxassembly.inspect.tables import fold, number, row, score, table
from ctxassembly.safe_repr import counted

SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        candidates.FOR_BUDGET: "max_tokens, max_characters; granularity",
        candidates.TOO_SHORT: "min_chunk_tokens",
        candidates.BELOW_FLOOR: "relevance_floor",
        candidates.IRRELEVANT: "compress",
        candidates.STOPPED: "stop_below",
        candidates.BEYOND: "window, pool_window",
        candidates.EMPTY: "",
        candidates.EXACT: "dedup",
        candidates.NEAR: "dedup, near_threshold",
        candidates.SEMANTIC: "dedup, semantic_threshold",
        candidates.CONTAINED: "min_overlap_chars",
        candidates.REPEATED: "dedup_sentences",
    }
)
"""The settings that decide on each reason; none for a chunk without text."""
_COLUMNS = ("hit", "chunk", "score", "lost for", "tokens it needs", "what beat it", "setting")
_NUMBERS = (0, 2, 4)
_NAMED = 5
"""Most hits named that stand although they rank below."""
OPEN = 6
"""Most hits of one reason that are shown before the reader asks for the others."""


def is_lost(decision: Decision) -> bool:
    """True for a hit of which nothing is read, here or in another chunk."""
    return decision.outcome == "dropped" and not decision.distance


def lost(context: Assembled, names: Names) -> Html:
    """A table of the first hits that were lost for each reason, by rank, and the others folded; empty if none was."""
    found = [decision for decision in context.trace.decisions if is_lost(decision)]
    if not found:
        return Html()
    beaten = Beaten(context.trace, asked=context.query is not None)
    first, others = _parted(found)
    rows = within((_row(decision, beaten, names) for decision in first), LOST_BYTES)
    caption = f"By rank; left of the budget: {counted(_free(context.trace), 'token')}"
    room, folded = LOST_BYTES - sum(map(size, rows)), []
    for reason, rest in others.items():
        shown = within((_row(decision, beaten, names) for decision in rest[:DECISIONS]), room)
        room -= sum(map(size, shown))
        whole = table(f"By rank, after the first {OPEN}", _COLUMNS, shown, _NUMBERS)
        summary = f"{counted(len(rest), 'more hit')} lost for the same reason: {reason}"
        folded.append(fold(summary, whole, more(len(rest) - len(shown), "hits")))
    title = tag("h3", f"Lost: {counted(len(found), 'hit')} that the model doesn’t read")
    inside = table(caption, _COLUMNS, rows, _NUMBERS), more(len(first) - len(rows), "hits"), *folded
    return joined(title, tag("div", *inside, class_="cxa-losses"))


class Beaten:
    """The chunks in the place of hits that had no room, in words."""

    def __init__(self, trace: Trace, *, asked: bool) -> None:
        standing = [decision for decision in trace.decisions if decision.stands]
        self._asked = asked
        self._hits = sorted(decision.rank for decision in standing if not decision.distance)
        self._beside = len(standing) - len(self._hits)
        weighed = ((decision.value, decision) for decision in standing if decision.value is not None)
        self._least = min(weighed, key=lambda one: one[0], default=None)

    def by(self, decision: Decision) -> str:
        """What beat a hit: by the query what it is worth and the least that stands, else rank.

        Nothing if it was lost for another reason than the budget.
        """
        if decision.reason != candidates.FOR_BUDGET:
            return "" if decision.value is None else f"worth {score(decision.value)}"
        return "; ".join(self._worth(decision) or self._ranked(decision))

    def _worth(self, decision: Decision) -> list[str]:
        if decision.value is None or self._least is None:
            return []
        value, least = self._least
        fits = ", but fits" if value < decision.value else ""
        name = shortened(least.chunk_id, ID_CHARS)
        return [f"worth {score(decision.value)}", f"the least that stands is worth {score(value)} ({name}){fits}"]

    def _ranked(self, decision: Decision) -> Iterator[str]:
        above = sum(rank < decision.rank for rank in self._hits)
        below = [f"{rank + 1}" for rank in self._hits if rank > decision.rank]
        if above:
            yield f"{counted(above, 'hit')} ranked above it"
        if below:
            more_of_them = f" and {len(below) - _NAMED:,} more" if len(below) > _NAMED else ""
            why = "which the query chose or which fit" if self._asked else "which fit"
            yield f"hit {', '.join(below[:_NAMED])}{more_of_them} from below it, {why}"
        if self._beside:
            yield counted(self._beside, "neighbour")
        if not (self._hits or self._beside):
            yield "nothing"


def _parted(found: Iterable[Decision]) -> tuple[Sequence[Decision], dict[str, list[Decision]]]:
    """The first hits of each reason, and the others by reason. One alone is not worth a fold."""
    found = list(found)
    all_of = Counter(decision.reason for decision in found)
    seen: Counter[str] = Counter()
    first: list[Decision] = []
    others: dict[str, list[Decision]] = defaultdict(list)
    for decision in found:
        seen[decision.reason] += 1
        is_first = seen[decision.reason] <= OPEN or all_of[decision.reason] == OPEN + 1
        (first if is_first else others[decision.reason]).append(decision)
    return first, others


def _free(trace: Trace) -> int:
    return max(trace.max_tokens - trace.token_count, 0)


def _row(decision: Decision, beaten: Beaten, names: Names) -> Html:
    document = names.document(decision.document_id)
    name = shortened(decision.chunk_id, ID_CHARS)
    address = names.links.fragment(decision.rank) or names.row(decision.chunk_id, decision.rank, 0)
    look = lit([decision.rank], leads=names.links.fragment(decision.rank) is not None)
    return row(
        f"{decision.rank + 1}",
        joined(document.key, " ", tag("a", name, href=address, class_=look) if address else name),
        score(decision.score),
        decision.reason,
        number(decision.tokens),
        beaten.by(decision) or "–",
        SETTINGS[decision.reason] or "–",
        numbers=_NUMBERS,
    )
