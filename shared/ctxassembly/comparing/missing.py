"""Why a context lacks what another one has, from its own trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ctxassembly.comparing.aligned import Sentence
from ctxassembly.data.candidates import Shortening
from ctxassembly.data.citations import Assembled
from ctxassembly.data.trace import Decision

_SHORTENED: Mapping[Shortening, str] = {
    "budget": "cut to the budget",
    "max_chunk_tokens": "cut to max_chunk_tokens",
    "sentence": "other sentences of its chunk were chosen",
    "extractive": "compressed",
    "llm": "compressed by a model",
    "repeated": "a better-ranked passage has it",
}
REASONS = 2
"""Most reasons in a cell."""


@dataclass(frozen=True)
class Absent:
    """The decisions of one context, by the chunk and the best first."""

    decisions: dict[str, Decision]

    @classmethod
    def of(cls, context: Assembled) -> Absent:
        """Those of `context`."""
        found: dict[str, Decision] = {}
        for decision in context.trace.decisions:
            if decision.chunk_id not in found or decision.stands:
                found[decision.chunk_id] = decision
        return cls(found)

    def why(self, lacking: Sequence[Sentence], known: frozenset[str]) -> str:
        """The reason why `lacking` doesn't stand here, where the words of `known` stand.

        >>> Absent({}).why([Sentence("Drink water.", "Drink water.", "a#0")], frozenset())
        'not here: not fetched'
        """
        if all(one.words in known for one in lacking):
            return "stands elsewhere in this document"
        chunks = dict.fromkeys(one.chunk_id for one in lacking if one.words not in known)
        reasons = list(dict.fromkeys(self._reason(chunk_id) for chunk_id in chunks))
        more = f" and {len(reasons) - REASONS} more reasons" if len(reasons) > REASONS else ""
        return f"not here: {', '.join(reasons[:REASONS])}{more}"

    def _reason(self, chunk_id: str) -> str:
        decision = self.decisions.get(chunk_id)
        if decision is None:
            return "not fetched"
        if decision.outcome in ("cut", "compressed"):
            return next((said for reason, said in _SHORTENED.items() if reason == decision.reason), decision.reason)
        return "left out of its chunk" if decision.stands else decision.reason
