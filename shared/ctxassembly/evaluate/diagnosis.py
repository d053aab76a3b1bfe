"""`diagnose`: run each question, find what became of its evidence, and try the settings that might have kept it.

The report counts the losses, layer by layer. Nobody reads what the filter of a question excludes: of such a chunk a
report has the id and nothing else, and no run widens the filter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ctxassembly.config.assembly import DEFAULT_MIN_RELEVANCE, AssemblyConfig
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.context import Context
from ctxassembly.data.chunks import Chunk, ChunkRef, Hit
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.data.validation import MAX_INTEGER
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.evaluate.corpus import Corpus, is_in_corpus
from ctxassembly.evaluate.losses import (
    LAYERS,
    Layer,
    Loss,
    furthest,
    holders_of,
    loss_in_assembly,
    loss_in_retrieval,
    share_read,
)
from ctxassembly.evaluate.questions import Evidence, LabeledQuestion, read_questions
from ctxassembly.evaluate.systems import as_system, hits_of
from ctxassembly.protocols import Index, Store
from ctxassembly.retrieval.search import Question
from ctxassembly.runtime.assemble import assemble, restricted_store
from ctxassembly.runtime.retrieve import explain, retrieve
from ctxassembly.safe_repr import join_first, pluralize

MAX_TEXT_CHARS = 80
"""Most characters of a question or of evidence in a table."""


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
    """The layer that lost it; None if the context has it."""
    chunk_id: str | None
    """The chunk that got furthest of those that have it. None if there is none."""
    reason: str
    """In words, without any text of a chunk."""
    remedies: Mapping[str, bool] = field(default_factory=dict, hash=False)
    """The settings that were tried, and whether the context then has the evidence."""

    @property
    def advice(self) -> str | None:
        """What would help and can't be tried here: a change of the documents or of the filter."""
        return ADVICE.get(self.layer) if self.layer else None

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
        useless = ", ".join(setting for setting, keeps in self.remedies.items() if not keeps)
        parts = [f"{setting} keeps it" for setting, keeps in self.remedies.items() if keeps]
        return "; ".join(filter(None, (*parts, useless and f"no help: {useless}", self.advice)))


@dataclass(frozen=True, slots=True)
class DiagnosisReport:
    """What became of all evidence. It prints as a table of the layers, with an example of each.

    >>> question = LabeledQuestion("How long?", (Evidence(quotation="two hours"),))
    >>> tried = {"max_tokens=800": True}
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
    unmarked: tuple[str, ...] = ()
    """The ids of the questions without marked evidence, which are left out."""

    @property
    def lost(self) -> tuple[Diagnosis, ...]:
        """The rows of the evidence that was lost."""
        return tuple(row for row in self.rows if row.layer is not None)

    @property
    def counts(self) -> Mapping[Layer, int]:
        """The pieces of evidence lost in each layer that lost any, in the order of the layers."""
        found = Counter(row.layer for row in self.rows)
        return {layer: found[layer] for layer in LAYERS if found[layer]}

    def table(self) -> list[tuple[str, str, str]]:
        """Return the rows that are printed: the layer, the pieces lost there, and the settings that keep them."""
        rows: list[tuple[str, str, str]] = []
        for layer, count in self.counts.items():
            own = [row for row in self.lost if row.layer == layer]
            kept = Counter(setting for row in own for setting, keeps in row.remedies.items() if keeps)
            tried = [f"{setting} keeps {number}" for setting, number in kept.most_common()]
            tried += ["no setting that was tried"] if not tried and any(row.remedies for row in own) else []
            advice = {row.advice: None for row in own if row.advice}
            rows.append((layer, f"{count:,}", "; ".join((*tried, *advice))))
        return rows

    def __str__(self) -> str:
        questions = len({row.question.id for row in self.rows})
        head = (
            f"{pluralize(questions, 'question')} with {pluralize(len(self.rows), 'piece')} of evidence: "
            f"{len(self.rows) - len(self.lost):,} read, {len(self.lost):,} lost"
        )
        if self.unmarked:
            which = pluralize(len(self.unmarked), "question")
            head += f"; {which} without marked evidence left out ({join_first(self.unmarked, 5)})"
        rows = [("lost", "pieces", "what would have kept it"), *self.table()]
        width = max(len(row[0]) for row in rows)
        lines = [f"{layer:{width}}  {count:>6}  {tried}".rstrip() for layer, count, tried in rows]
        examples = [next(str(row) for row in self.lost if row.layer == layer) for layer in self.counts]
        return "\n".join([head, *([*lines, "", *examples] if self.lost else [])])

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
    "split apart": "split into larger chunks or with more overlap",
    "filtered": "the filter is never widened here; check the filter and the metadata of the chunk",
    "not found": "the question has other words: try a better embedder, a rewritten question, or `enrich`",
}
"""What would help and can't be tried by changing a setting."""
READ_SHARE = 0.999
"""The share of a piece of evidence from which it counts as read. Below 1 for rounding alone."""
MAX_HOLDERS = 5
"""Most chunks with the evidence that are each looked up, those first that passed most steps."""
_BY_WORDS = RetrievalConfig(strategy="keyword", limit=20, rescue="off")
"""The search for chunks with the words of a quotation."""


def diagnose(
    questions: Any,
    *,
    index: Index | None = None,
    retrieval: RetrievalConfig | None = None,
    assembly: AssemblyConfig | None = None,
    retriever: Any = None,
    store: Store | None = None,
    **options: Any,
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
    >>> report.rows[0].remedies
    {'limit=2': True, 'candidates=16': False}

    Args:
        questions: whatever `read_questions` reads. The `filter` of a question holds in every search.
        index: the index that `retrieve` searches. It is the store of neighbors, too.
        retrieval: the settings of `retrieve`; None means the defaults.
        assembly: the settings of `assemble`; None means the defaults.
        retriever: in place of `index`, a function from a question to hits, or a retriever of LangChain or LlamaIndex.
            What happens before its hits can't be seen and is "not found".
        store: the store of neighbors, if it isn't `index`.
        options: further arguments of `retrieve`: `embed`, `taxonomy`, `channels`, `rerankers`.

    Raises:
        InputError: there is neither an index nor a retriever, or both; or a question with a filter can't be searched
            under it.
    """
    if (index is None) == (retriever is None):
        raise InputError("give an index, or a retriever in its place")
    store = index if store is None and hasattr(index, "fetch") else store  # type: ignore[assignment]
    current = _Settings(retrieval or RetrievalConfig(), assembly or AssemblyConfig())
    rows: list[Diagnosis] = []
    unmarked = list[str]()
    for question in read_questions(questions):
        unmarked += [] if question.evidence else [question.id]
        visible = restricted_store(store, question.filter)
        examination = _Examination(question, current, index, retriever, store, visible, options)
        rows += (examination.row(evidence) for evidence in question.evidence)
    return DiagnosisReport(tuple(rows), tuple(unmarked))


class _Settings(NamedTuple):
    """The settings of a run, with a name for what differs from the caller's."""

    retrieval: RetrievalConfig
    assembly: AssemblyConfig
    name: str = ""


class _Run(NamedTuple):
    """The question under some settings."""

    found: Retrieved | Sequence[Hit]
    hits: Sequence[Hit]
    context: Context


@dataclass(frozen=True)
class _Examination:
    """The search for the evidence of one question."""

    question: LabeledQuestion
    current: _Settings
    index: Any
    retriever: Any
    store: Any
    visible: Any
    """The store under the filter of the question."""
    options: Mapping[str, Any]
    searches: dict[RetrievalConfig, Retrieved | Sequence[Hit]] = field(default_factory=dict)

    def row(self, evidence: Evidence) -> Diagnosis:
        """Return what became of `evidence`."""
        run = self.run(self.current)
        if is_read(evidence, run.context):
            return Diagnosis(self.question, evidence, None, None, "it is in the context")
        loss = self.find_loss(evidence, run)
        # Without an index the settings of retrieval have no effect, and what is lost before the hits stays lost.
        can_try = self.index is not None or loss.layer != "not found"
        tried = _settings_to_try(loss.layer, self.current, can_embed="embed" in self.options) if can_try else ()
        remedies = {one.name: is_read(evidence, self.run(one).context) for one in tried}
        return Diagnosis(self.question, evidence, *loss, remedies)

    def run(self, settings: _Settings) -> _Run:
        """Return the run under `settings`. Each search is made once."""
        if settings.retrieval not in self.searches:
            self.searches[settings.retrieval] = self._search(settings.retrieval)
        found = self.searches[settings.retrieval]
        hits = found.hits if isinstance(found, Retrieved) else found
        return _Run(found, hits, assemble(hits, settings.assembly, query=self.question.text, store=self.visible))

    def _search(self, config: RetrievalConfig) -> Retrieved | Sequence[Hit]:
        if self.retriever is not None:
            found = as_system("retriever", self.retriever)(self.question)
            return found if isinstance(found, Retrieved) else hits_of(found)
        return retrieve(self._asked(self.question.text), config, index=self.index, **self.options)

    def _asked(self, text: str) -> Question:
        return Question(text, filter=self.question.filter)

    def find_loss(self, evidence: Evidence, run: _Run) -> Loss:
        """Return where the evidence, which isn't in the context, was lost."""
        hits = [hit.chunk for hit in run.hits]
        known = list({chunk.identity: chunk for chunk in (*hits, *self._find_chunks(evidence))}.values())
        if in_hits := furthest(loss_in_assembly(chunk, run.context) for chunk in holders_of(evidence, hits)):
            return in_hits
        steps = run.found.trace.steps if isinstance(run.found, Retrieved) else ()
        holders = sorted(holders_of(evidence, known), key=lambda chunk: -sum(chunk.id in step.ids for step in steps))
        if in_retrieval := furthest(self._loss_of_chunk(chunk, run) for chunk in holders[:MAX_HOLDERS]):
            return in_retrieval
        if is_split(evidence, known):
            return Loss("split apart", None, "no single chunk has it, several together do")
        if self.index is None:
            return Loss("not found", None, "no hit of the retriever has it")
        if hidden := self._hidden_holder(evidence, known):
            return Loss("filtered", hidden, "the filter excludes it")
        expect = evidence.quotation or evidence.chunk_id
        if expect and evidence.document_id is None:  # of a named document all chunks are known
            loss = self._loss_in_search(expect)
            if loss.layer != "not in the corpus":
                return loss
        return Loss("not in the corpus", None, "no chunk has it, whole or in parts")

    def _find_chunks(self, evidence: Evidence) -> list[Chunk]:
        """Return the chunks that the filter allows of the documents that may have the evidence."""
        found: list[Chunk] = []
        document_ids = [evidence.document_id] if evidence.document_id is not None else []
        if evidence.quotation is not None and self.index is not None:
            found = [one.chunk for one in retrieve(self._asked(evidence.quotation), _BY_WORDS, index=self.index).chunks]
            document_ids = document_ids or [chunk.lookup_id for chunk in found]
        refs = [ChunkRef(document_id) for document_id in dict.fromkeys(document_ids)]
        if not refs and evidence.chunk_id is not None:
            refs = [ChunkRef("", chunk_id=evidence.chunk_id)]
        return [*found, *(self.visible.fetch(refs) if self.visible is not None and refs else ())]

    def _hidden_holder(self, evidence: Evidence, visible: Sequence[Chunk]) -> str | None:
        """Return the id of a chunk with evidence that isn't among the `visible` ones; None if there is none."""
        if self.question.filter is None or evidence.document_id is None or self.store is None:
            return None
        chunks = self.store.fetch([ChunkRef(evidence.document_id)])
        known = {chunk.id for chunk in visible}
        hidden = [chunk for chunk in chunks if chunk.id not in known]
        if hidden and is_split(evidence, chunks):
            return next(iter(holders_of(evidence, hidden)), hidden[0]).id
        return None

    def _loss_of_chunk(self, chunk: Chunk, run: _Run) -> Loss:
        """Return the loss of a chunk that isn't a hit."""
        if not isinstance(run.found, Retrieved):
            return Loss("not found", chunk.id, "the retriever didn't return it")
        trace = run.found.explain(chunk.id)
        # By its text, a chunk outside the best 1,000 is found as well.
        loss = self._loss_in_search(chunk.id if trace.lost_at != "search" else chunk.text)
        return loss._replace(chunk_id=chunk.id)

    def _loss_in_search(self, expect: str) -> Loss:
        """Return what became of the chunk with the id or the text `expect`."""
        asked = self._asked(self.question.text)
        return loss_in_retrieval(explain(asked, expect, self.current.retrieval, index=self.index, **self.options))


def is_read(evidence: Evidence, context: Context) -> bool:
    """Return True if `context` has the evidence. Blanks between chunks don't count."""
    shown = (piece.candidate.chunk for one in context.passages for piece in one.pieces)
    corpus = Corpus.of({chunk.identity: chunk for chunk in shown}.values())
    known = corpus if evidence.quotation is None and is_in_corpus(evidence, corpus) else Corpus()
    return share_read(evidence, context, known) >= READ_SHARE


def is_split(evidence: Evidence, chunks: Sequence[Chunk]) -> bool:
    """Return True if `chunks`, joined by document, have the evidence."""
    config = AssemblyConfig(max_tokens=MAX_INTEGER, dedup="none", neighbors="unfiltered")
    return is_read(evidence, assemble([Hit(chunk) for chunk in chunks], config))


def _settings_to_try(layer: Layer, current: _Settings, *, can_embed: bool) -> Iterator[_Settings]:
    """Yield the settings that might keep evidence which `layer` lost, each with one change of `current`."""
    retrieval, assembly = current.retrieval, current.assembly
    wider = {"limit": 2 * retrieval.limit}
    search: list[dict[str, Any]] = [wider, {"candidates": 4 * retrieval.candidates_per_channel}]
    if retrieval.strategy == "hybrid":
        search += ({"keyword_weight": 0.3}, {"keyword_weight": 0.9})
    elif can_embed:
        search.append({"strategy": "hybrid"})
    roomier = {"max_tokens": 2 * assembly.token_limit}
    filled = {"fill": True, "min_relevance": DEFAULT_MIN_RELEVANCE}
    of_retrieval: dict[Layer, list[dict[str, Any]]] = {
        "split apart": [wider],
        "not found": search,
        "not fused": [{"min_similarity": None}],
        "ranked out": search,
        "refused": [{"min_evidence": None}],
    }
    of_assembly: dict[Layer, list[dict[str, Any]]] = {
        "split apart": [{"window": 3}, {"candidate_window": 8}, roomier, filled],
        "deduplicated": [{"dedup": "exact"}, {"dedup_sentences": False}, {"dedup": "none"}],
        "not relevant enough": [{"min_relevance": assembly.min_relevance / 2}, filled],
        "over budget": [{"max_characters": None}, {"granularity": "auto"}, roomier],
    }
    for part, config, changes_by_layer in (("retrieval", retrieval, of_retrieval), ("assembly", assembly, of_assembly)):
        for changes in changes_by_layer.get(layer, ()):
            name = ", ".join(f"{key}={value!r}" for key, value in changes.items() if getattr(config, key) != value)
            with suppress(ConfigError):  # the change contradicts the other settings
                if name:
                    yield current._replace(**{part: replace(config, **changes), "name": name})  # type: ignore[arg-type]
