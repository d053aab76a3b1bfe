"""What became of each piece of evidence, layer by layer, and a report that counts the losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ctxassembly.evaluate.questions import Evidence, LabeledQuestion
from ctxassembly.safe_repr import pluralize

Layer = Literal[
    "not in the corpus",
    "stale",
    "split apart",
    "filtered",
    "not found",
    "not fused",
    "reranked away",
    "ranked out",
    "refused",
    "deduplicated",
    "not relevant enough",
    "over budget",
    "not cited",
]
"""The layers in which evidence is lost, in the order in which it passes them.

- "not in the corpus": no chunk has it, whole or in parts
- "stale": the source has it, and the chunks of its document have another text
- "split apart": several chunks have it together, no single one does, although it isn't longer than they are
- "filtered": the caller's filter excludes its chunk
- "not found": no channel has its chunk among the best 1,000; or a retriever of another make didn't return it
- "not fused": its similarity is below `min_similarity`
- "reranked away": the reranker moved its chunk below the limit
- "ranked out": its chunk was found and has a place below `candidates` or `limit`, or made room for another chunk
- "refused": no chunk reached `min_evidence`
- "deduplicated": its chunk or sentences were dropped as a duplicate of others
- "not relevant enough": there was room for it, and its relevance is below the minimum
- "over budget": there was no room for it
- "not cited": it is in the context, and the answer doesn't cite it
"""
LAYERS: tuple[Layer, ...] = get_args(Layer)
MAX_TEXT_CHARS = 80
"""Most characters of a question or of evidence in a table."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """A setting that was changed for one question, and whether its evidence then is in the context.

    >>> print(Remedy("limit=40", keeps=True))
    limit=40 keeps it
    """

    setting: str
    keeps: bool

    def __str__(self) -> str:
        return f"{self.setting} {'keeps it' if self.keeps else 'does not help'}"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The fate of one piece of evidence.

    >>> question = LabeledQuestion("How long?", (Evidence(quotation="two hours"),))
    >>> print(Diagnosis(question, question.evidence[0], "over budget", "a#0", "a#0 was dropped: budget"))
    over budget: "How long?" needs "two hours" of a#0
      a#0 was dropped: budget
    """

    question: LabeledQuestion
    evidence: Evidence
    layer: Layer | None
    """The layer that lost it; None if the context has it, and the answer, if there is one, cites it."""
    chunk_id: str | None
    """The chunk that got furthest of those that have it. None if there is none."""
    reason: str
    """In words, without any text of a chunk."""
    remedies: tuple[Remedy, ...] = ()
    """The settings that were tried."""
    advice: str | None = None
    """What can't be tried here: a change of the documents, of the filter or of the prompt."""

    @property
    def description(self) -> str:
        """The evidence in words."""
        evidence = self.evidence
        if evidence.quotation is not None:
            return f'"{_shorten(evidence.quotation)}"'
        if evidence.start is not None:
            return f"{evidence.document_id}, characters {evidence.start:,} to {evidence.end:,}"
        return evidence.chunk_id or evidence.document_id or ""

    def __str__(self) -> str:
        chunk = f" of {self.chunk_id}" if self.chunk_id and self.chunk_id != self.evidence.chunk_id else ""
        head = f'{self.layer or "read"}: "{_shorten(self.question.text)}" needs {self.description}{chunk}'
        return "\n  ".join((head, self.reason, *([self.tried] if self.tried else [])))

    @property
    def tried(self) -> str:
        """The settings that were tried and the advice, in a line."""
        useless = ", ".join(remedy.setting for remedy in self.remedies if not remedy.keeps)
        parts = [str(remedy) for remedy in self.remedies if remedy.keeps]
        return "; ".join(
            (*parts, *([f"no help: {useless}"] if useless else []), *([self.advice] if self.advice else []))
        )


@dataclass(frozen=True, slots=True)
class DiagnosisReport:
    """What became of all evidence. It prints as a table of the layers, with an example of each.

    >>> question = LabeledQuestion("How long?", (Evidence(quotation="two hours"),))
    >>> tried = (Remedy("max_tokens=800", keeps=True),)
    >>> lost = Diagnosis(question, question.evidence[0], "over budget", "a#0", "a#0 was dropped: budget", tried)
    >>> print(DiagnosisReport((lost,)))
    1 question with 1 piece of evidence: 0 read, 1 lost
    lost         pieces  what would have kept it
    over budget       1  max_tokens=800 keeps 1
    <BLANKLINE>
    over budget: "How long?" needs "two hours" of a#0
      a#0 was dropped: budget
      max_tokens=800 keeps it
    """

    rows: tuple[Diagnosis, ...]
    """One for each piece of evidence, in the order of the questions."""
    unmarked: int = 0
    """Questions without marked evidence, which are left out."""

    @property
    def lost(self) -> tuple[Diagnosis, ...]:
        """The rows of the evidence that was lost."""
        return tuple(row for row in self.rows if row.layer is not None)

    @property
    def counts(self) -> Mapping[Layer, int]:
        """The pieces of evidence lost in each layer that lost any, in the order of the layers."""
        found = Counter(row.layer for row in self.rows)
        return {layer: found[layer] for layer in LAYERS if found[layer]}

    def remedies(self, layer: Layer) -> Mapping[str, int]:
        """Return the settings tried for the losses of `layer`, each with the number of pieces that it keeps."""
        kept: dict[str, int] = {}
        for row in self.lost:
            if row.layer == layer:
                for remedy in row.remedies:
                    kept[remedy.setting] = kept.get(remedy.setting, 0) + remedy.keeps
        return dict(sorted(kept.items(), key=lambda entry: -entry[1]))

    def table(self) -> list[tuple[str, str, str]]:
        """Return the rows that are printed: the layer, the pieces lost there, and the settings that keep them."""
        rows: list[tuple[str, str, str]] = []
        for layer, count in self.counts.items():
            remedies = self.remedies(layer)
            tried = [f"{setting} keeps {kept}" for setting, kept in remedies.items() if kept]
            tried += ["no setting that was tried"] if remedies and not tried else []
            advice = {row.advice: None for row in self.lost if row.layer == layer and row.advice}
            rows.append((layer, f"{count:,}", "; ".join((*tried, *advice))))
        return rows

    def __str__(self) -> str:
        questions = len({row.question.id for row in self.rows})
        head = (
            f"{pluralize(questions, 'question')} with {pluralize(len(self.rows), 'piece')} of evidence: "
            f"{len(self.rows) - len(self.lost):,} read, {len(self.lost):,} lost"
        )
        if self.unmarked:
            head += f"; {pluralize(self.unmarked, 'question')} without marked evidence left out"
        rows = [("lost", "pieces", "what would have kept it"), *self.table()]
        width = max(len(row[0]) for row in rows)
        lines = [f"{layer:{width}}  {count:>6}  {tried}".rstrip() for layer, count, tried in rows]
        examples = [next(str(row) for row in self.lost if row.layer == layer) for layer in self.counts]
        return "\n".join([head, *([*lines, "", *examples] if self.lost else [])])

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with a row for each piece of evidence."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "question_id": row.question.id,
                    "question": row.question.text,
                    "evidence": row.description,
                    "layer": row.layer,
                    "chunk_id": row.chunk_id,
                    "reason": row.reason,
                    "kept_by": [remedy.setting for remedy in row.remedies if remedy.keeps],
                    "advice": row.advice,
                }
                for row in self.rows
            ]
        )

    def to_html(self) -> str:
        """Return a page with the table of the layers and all losses."""
        from ctxassembly.views.html import wrap_page

        return wrap_page(self._repr_html_())

    def _repr_html_(self) -> str:
        from ctxassembly.views.html import render_section, table

        losses = [
            (
                row.layer or "",
                _shorten(row.question.text),
                row.description,
                row.chunk_id or "",
                row.reason,
                row.tried,
            )
            for row in self.lost
        ]
        return render_section(
            "What became of the evidence",
            table("Where evidence was lost", ("lost", "pieces", "what would have kept it"), self.table()),
            table(
                "Each loss", ("lost", "question", "piece of evidence", "chunk", "reason", "tried"), losses, len(losses)
            ),
        )


def _shorten(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MAX_TEXT_CHARS else f"{words[:MAX_TEXT_CHARS]}…"
