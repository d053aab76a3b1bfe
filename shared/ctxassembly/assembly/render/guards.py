"""What is replaced in the text of documents so that nothing in it can pass for ours: in nearly all texts nothing is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ctxassembly.data.chunks import Span
from ctxassembly.wording.label_guards import escape_replacements

Replacements = Mapping[int, tuple[int, str]]
"""By offset in a run: where the replaced text ends, and what stands in its place."""


@dataclass(frozen=True, slots=True)
class Guards:
    """The search for forms of ours. A run is written several times, and looked through once."""

    format: str
    own_lines: tuple[str, ...] = ()
    """Beginnings of lines in the caller's words: the separator before a supplement."""
    sanitize: bool = False
    known: dict[Span, Replacements] = field(default_factory=dict)

    def replaced(self, whole: str, runs: Sequence[Span]) -> Mapping[Span, Replacements]:
        """Return what is replaced in `runs` of the joined text; each of them begins a line for a reader.

        All new ones are looked through at once: no form reaches beyond a line.
        """
        if new := [run for run in runs if run not in self.known]:
            body = "\n".join([whole[start:end] for start, end in new])
            found = escape_replacements(body, self.format, self.own_lines, sanitize=self.sanitize)
            offset, places = 0, sorted(found)
            for start, end in new:
                inside = [at for at in places if offset <= at <= offset + end - start] if places else ()
                self.known[start, end] = {at - offset: (found[at][0] - offset, found[at][1]) for at in inside}
                offset += end - start + 1
        return self.known
