"""`diagnose`: run each question, find what became of its evidence, and try the settings that might have kept it.

The report counts the losses, layer by layer. Nobody reads what the filter of a question excludes: of such a chunk a
report has the id and nothing else, and no run widens the filter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ctxassembly.config.assembly import DEFAULT_MIN_RELEVANCE, AssemblyConfig
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.retrieval import Channel
from ctxassembly.errors import ConfigError
from ctxassembly.evaluate.corpus import Corpus, is_in_corpus
from ctxassembly.evaluate.losses import (
    LAYERS,
    Layer,
    Loss,
    furthest,
    holders_of,
    is_cited,
    loss_in_assembly,
    loss_in_retrieval,
    loss_of_split,
    share_read,
)
from ctxassembly.evaluate.meter import comparable
from ctxassembly.evaluate.pipeline import Found, Pipeline, Run, Settings
from ctxassembly.evaluate.questions import Evidence, LabeledQuestion, read_questions
from ctxassembly.protocols import EmbedQuery, Index, Reranker, SearchFunction, Store
from ctxassembly.retrieval.taxonomy import Taxonomy
from ctxassembly.safe_repr import pluralize

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
        return "; ".join(filter(None, (*parts, useless and f"no help: {useless}", self.advice)))


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
        kept = Counter[str]()
        for remedy in (remedy for row in self.lost if row.layer == layer for remedy in row.remedies):
            kept[remedy.setting] += remedy.keeps
        return dict(kept.most_common())

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

        columns = ("lost", "question", "piece of evidence", "chunk", "reason", "tried")
        losses = [
            (row.layer or "", _shorten(row.question.text), row.description, row.chunk_id or "", row.reason, row.tried)
            for row in self.lost
        ]
        return render_section(
            "What became of the evidence",
            table("Where evidence was lost", ("lost", "pieces", "what would have kept it"), self.table()),
            table("Each loss", columns, losses, len(losses)),
        )


def _shorten(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MAX_TEXT_CHARS else f"{words[:MAX_TEXT_CHARS]}…"


ADVICE: Mapping[Layer, str] = {
    "not in the corpus": "add the document, or check the reader: tables and scans lose text",
    "stale": "index the document again",
    "split apart": "split into larger chunks or with more overlap",
    "filtered": "the filter is never widened here; check the filter and the metadata of the chunk",
    "not found": "the question has other words: try a better embedder, a rewritten question, or `enrich`",
    "not cited": "ask for a citation of each claim, or check the answer",
}
"""What would help and can't be tried by changing a setting."""
READ_SHARE = 0.999
"""The share of a piece of evidence from which it counts as read. Below 1 for rounding alone."""
MAX_HOLDERS = 5
"""Most chunks with the evidence that are each looked up, those first that passed most steps."""


def diagnose(
    questions: Any,
    *,
    index: Index | None = None,
    embed: EmbedQuery | None = None,
    retrieval: RetrievalConfig | None = None,
    assembly: AssemblyConfig | None = None,
    retriever: Any = None,
    store: Store | None = None,
    taxonomy: Taxonomy | None = None,
    channels: Mapping[Channel, SearchFunction] | None = None,
    rerankers: Sequence[Reranker] = (),
    answers: Mapping[str, str] | None = None,
    corpus: Any = None,
) -> DiagnosisReport:
    """Return what became of each piece of evidence of `questions`, and what would have kept those that were lost.

    Experimental.

    >>> from ctxassembly import Chunk, MemoryIndex
    >>> texts = ("Ferritin, and iron.", "Ferritin is measured in the morning.")
    >>> index = MemoryIndex([Chunk(f"lab#{at}", f"lab {at}", text) for at, text in enumerate(texts)])
    >>> asked = LabeledQuestion("iron or ferritin", (Evidence(quotation="in the morning"),))
    >>> report = diagnose([asked], index=index, retrieval=RetrievalConfig(strategy="keyword", limit=1))
    >>> report.counts, report.rows[0].reason
    ({'ranked out': 1}, 'place 2 after fuse, where 1 are kept')
    >>> print(*report.rows[0].remedies, sep=", ")
    limit=2 keeps it, candidates=16 does not help

    Args:
        questions: whatever `read_questions` reads. The `filter` of a question holds in every search.
        index: the index that `retrieve` searches. It is the store of neighbors, too.
        embed: as for `retrieve`, and so are `taxonomy`, `channels` and `rerankers`.
        retrieval: the settings of `retrieve`; None means the defaults.
        assembly: the settings of `assemble`; None means the defaults.
        retriever: in place of `index`, a function from a question to hits or a retriever of LangChain or LlamaIndex.
            What happens before its hits can't be seen and is "not found"; with `store` or `corpus` it is known,
            besides, whether the documents have the evidence. If it returns a `Context`, that is examined, and nothing
            is tried.
        store: the store of neighbors, if it isn't `index`.
        taxonomy: see `embed`.
        channels: see `embed`.
        rerankers: see `embed`.
        answers: answers by the text or the id of their question, to check which evidence they cite.
        corpus: the documents as they are now, as for `evaluate`, to find chunks of older texts.

    Raises:
        InputError: there is neither an index nor a retriever, or both; or a question with a filter can't be searched
            under it.
    """
    system = Pipeline(index, embed, retriever, store, taxonomy, channels, rerankers)
    current = Settings(retrieval or RetrievalConfig(), assembly or AssemblyConfig())
    documents = Corpus.of(corpus)
    rows: list[Diagnosis] = []
    unmarked = 0
    for question in read_questions(questions):
        unmarked += not question.evidence
        answer = (answers or {}).get(question.id, (answers or {}).get(question.text))
        rows += _Examination(system, question, current, answer, documents).rows()
    return DiagnosisReport(tuple(rows), unmarked)


@dataclass(frozen=True)
class _Examination:
    """The search for the evidence of one question."""

    system: Pipeline
    question: LabeledQuestion
    current: Settings
    answer: str | None
    corpus: Corpus
    runs: dict[str, Run] = field(default_factory=dict)
    """By the names of their settings."""
    searches: dict[tuple[RetrievalConfig, bool], Found] = field(default_factory=dict)
    """By the settings that they depend on."""

    def rows(self) -> Iterator[Diagnosis]:
        """Yield a row for each piece of evidence."""
        for evidence in self.question.evidence:
            run = self.run(self.current)
            shown = [piece.candidate.chunk for one in run.context.passages for piece in one.pieces]
            if self._is_stale(evidence, shown):
                yield self._lost(evidence, run, _stale_span(evidence))
            elif not self._is_read(evidence, run):
                yield self._lost(evidence, run, self.find_loss(evidence, run))
            elif self.answer is not None and not is_cited(evidence, run.context, self.corpus, self.answer):
                loss = Loss("not cited", None, "it is in the context; no label of the answer has it")
                yield self._lost(evidence, run, loss)
            else:
                yield Diagnosis(self.question, evidence, None, None, "it is in the context")

    def _is_read(self, evidence: Evidence, run: Run) -> bool:
        return share_read(evidence, run.context, self.corpus) >= READ_SHARE

    def _is_stale(self, evidence: Evidence, chunks: Sequence[Chunk]) -> bool:
        """Return True if chunks have the characters of a span, and the present text of its document is another one."""
        source = self.corpus.texts.get(evidence.document_id or "")
        holders = holders_of(evidence, chunks)
        if source is None or evidence.start is None or not holders:
            return False
        wanted = comparable(source[evidence.start : evidence.end])
        return not any(wanted and wanted in comparable(chunk.text) for chunk in holders)

    def run(self, settings: Settings) -> Run:
        """Return the run under `settings`. Each is made once, and so is each search."""
        if settings.name not in self.runs:
            search = settings.retrieval, settings.reranks
            if search not in self.searches:
                self.searches[search] = self.system.search(self.question, settings)
            self.runs[settings.name] = self.system.assemble(self.question, self.searches[search], settings)
        return self.runs[settings.name]

    def _lost(self, evidence: Evidence, run: Run, loss: Loss) -> Diagnosis:
        # Without an index the settings of retrieval have no effect, and what is lost before the hits stays lost.
        tried: Iterable[Settings] = ()
        if not (run.is_given or (self.system.index is None and loss.layer == "not found")):
            tried = settings_to_try(loss.layer, self.current, self.system)
        remedies = tuple(Remedy(one.name, self._is_read(evidence, self.run(one))) for one in tried)
        return Diagnosis(self.question, evidence, *loss, remedies, ADVICE.get(loss.layer))

    def find_loss(self, evidence: Evidence, run: Run) -> Loss:
        """Return where the evidence, which isn't in the context, was lost."""
        hits = [hit.chunk for hit in run.hits]
        found = (*hits, *self.system.find_chunks(self.question, evidence))
        known = list({chunk.identity: chunk for chunk in found}.values())
        if self._is_stale(evidence, known):
            return _stale_span(evidence)
        if in_hits := furthest(loss_in_assembly(chunk, run.context) for chunk in holders_of(evidence, hits)):
            return in_hits
        if self.system.index is None:
            known += self.corpus.chunks.values()
        steps = run.retrieved.trace.steps if run.retrieved else ()
        holders = sorted(holders_of(evidence, known), key=lambda chunk: -sum(chunk.id in step.ids for step in steps))
        if in_retrieval := furthest(self._loss_of_chunk(chunk, run) for chunk in holders[:MAX_HOLDERS]):
            return in_retrieval
        if split := loss_of_split(evidence, known, partial(self._loss_of_part, run)):
            return split
        if self.system.index is None:
            return self._loss_before_hits(evidence, known)
        if hidden := self.system.hidden_holder(self.question, evidence, known):
            return Loss("filtered", hidden, "the filter excludes it")
        expect = evidence.quotation or evidence.chunk_id
        if expect and evidence.document_id is None:  # of a named document all chunks are known
            loss = loss_in_retrieval(self.system.explain(self.question, expect, self.current))
            if loss.layer != "not in the corpus":
                return loss
        return self._loss_outside(evidence, known)

    def _loss_before_hits(self, evidence: Evidence, known: Sequence[Chunk]) -> Loss:
        """Return the loss where only the hits of a retriever can be seen, and no known chunk has the evidence."""
        if not is_in_corpus(evidence, self.corpus):
            return Loss("not in the corpus", None, "the documents don't have it")
        if evidence.document_id is None or self.system.store is None:
            return Loss("not found", None, "no hit of the retriever has it")
        return self._loss_outside(evidence, known)

    def _loss_of_chunk(self, chunk: Chunk, run: Run) -> Loss:
        """Return the loss of a chunk that isn't a hit."""
        if self.system.index is None:
            return Loss("not found", chunk.id, "the retriever didn't return it")
        trace = run.retrieved and run.retrieved.explain(chunk.id)
        # By its text, a chunk outside the best 1,000 is found as well.
        expect = chunk.id if trace and trace.lost_at != "search" else chunk.text
        explanation = self.system.explain(self.question, expect, self.current)
        return loss_in_retrieval(explanation)._replace(chunk_id=chunk.id)

    def _loss_of_part(self, run: Run, chunk: Chunk, part: Evidence) -> Loss | None:
        """Return the loss of a part of split evidence, None if the context has it."""
        if self._is_read(part, run):
            return None
        if any(hit.chunk.id == chunk.id for hit in run.hits):
            return loss_in_assembly(chunk, run.context)
        return self._loss_of_chunk(chunk, run)

    def _loss_outside(self, evidence: Evidence, known: Sequence[Chunk]) -> Loss:
        """Return the loss of evidence that no chunk has, alone or with others."""
        document_id = evidence.document_id
        if document_id is not None and self.system.visible_store(self.question) is None and not known:
            return Loss("not found", None, f"the index can't list the chunks of {document_id}")
        if evidence.quotation is not None:
            wanted, texts = comparable(evidence.quotation), self.corpus.texts
            candidates = texts if document_id is None else {document_id: texts.get(document_id, "")}
            named = [name for name, text in candidates.items() if wanted in comparable(text)]
            indexed = {chunk.document_id for chunk in known}
            if stale := [name for name in named if name in indexed or (document_id is not None and known)]:
                return Loss("stale", None, f"{stale[0]} has it, and no chunk of {stale[0]} does")
        if document_id is not None and any(chunk.document_id == document_id for chunk in known):
            reason = f"no chunk of {document_id} has it"
            if evidence.start is not None and all(chunk.start is None for chunk in known):
                reason = f"the chunks of {document_id} have no offsets: mark quotations instead"
            return Loss("not in the corpus", None, reason)
        return Loss("not in the corpus", None, "no chunk has it, whole or in parts")


def _stale_span(evidence: Evidence) -> Loss:
    return Loss("stale", None, f"{evidence.document_id} has another text there now")


Changes = Mapping[Layer, Sequence[Mapping[str, Any]]]
"""The changes of settings to try for each layer, the most likely first."""


def settings_to_try(layer: Layer, current: Settings, system: Pipeline) -> Iterator[Settings]:
    """Yield the settings that might keep evidence which `layer` lost, each with one change of `current`."""
    retrieval, assembly = current.retrieval, current.assembly
    if layer in ("not found", "ranked out", "reranked away") and system.rerankers:
        yield replace(current, reranks=False, name="no reranker")
    parts: tuple[tuple[str, Any, Changes], ...] = (
        ("retrieval", retrieval, _retrieval_changes(retrieval, can_embed=system.embed is not None)),
        ("assembly", assembly, _assembly_changes(assembly)),
    )
    for part, config, changes_by_layer in parts:
        for changes in changes_by_layer.get(layer, ()):
            name = ", ".join(f"{key}={value!r}" for key, value in changes.items() if getattr(config, key) != value)
            with suppress(ConfigError):  # the change contradicts the other settings
                if name:
                    yield replace(current, **{part: replace(config, **changes), "name": name})


def _retrieval_changes(config: RetrievalConfig, *, can_embed: bool) -> Changes:
    wider = {"limit": 2 * config.limit}
    search: list[Mapping[str, Any]] = [wider, {"candidates": 4 * config.candidates_per_channel}]
    if config.strategy == "hybrid":
        search += ({"keyword_weight": 0.3}, {"keyword_weight": 0.9})
    elif can_embed:
        search.append({"strategy": "hybrid"})
    return {
        "split apart": [wider],
        "not found": search,
        "not fused": [{"min_similarity": None}],
        "reranked away": [wider],
        "ranked out": search,
        "refused": [{"min_evidence": None}],
    }


def _assembly_changes(config: AssemblyConfig) -> Changes:
    roomier = {"max_tokens": 2 * config.token_limit}
    filled = {"fill": True, "min_relevance": DEFAULT_MIN_RELEVANCE}
    return {
        "split apart": [{"window": 3}, {"candidate_window": 8}, roomier, filled],
        "deduplicated": [{"dedup": "exact"}, {"dedup_sentences": False}, {"dedup": "none"}],
        "not relevant enough": [
            {"min_relevance": config.min_relevance / 2},
            filled,
        ],
        "over budget": [{"max_characters": None}, {"granularity": "auto"}, roomier],
    }
