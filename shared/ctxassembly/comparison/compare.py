"""`compare`: the same hits under several configurations, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import TYPE_CHECKING

from ctxassembly.assembly.selection.supplement import Supplement
from ctxassembly.comparison.row import ComparisonRow
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.data.chunks import Hit
from ctxassembly.errors import ConfigError
from ctxassembly.protocols import Embeddings, LanguageModel, Scorer, Store
from ctxassembly.runtime.assemble import assemble
from ctxassembly.safe_repr import safe_repr
from ctxassembly.views.evidence import Evidence, LocatedEvidence, check_evidence, locate_evidence

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console, ConsoleOptions, RenderResult

    from ctxassembly.comparison.slider import Slider


@dataclass(frozen=True, slots=True)
class Comparison:
    """A row for each configuration, and the contexts side by side.

    A notebook shows it as a table and, below it, the texts with what only some contexts have marked. A terminal with
    rich prints the table and what differs.

    >>> from ctxassembly import Chunk, Hit
    >>> hits = [Hit(Chunk("a#0", "a", "Drink water.", 0)), Hit(Chunk("b#0", "b", "Eat nothing.", 0))]
    >>> comparison = compare(hits, [AssemblyConfig(), AssemblyConfig(max_tokens=12)], names=["roomy", "tight"])
    >>> for row in comparison.rows:
    ...     print(row.name, "leaves out", [decision.chunk_id for decision in row.context.trace.excluded])
    roomy leaves out []
    tight leaves out ['b#0']
    """

    rows: tuple[ComparisonRow, ...]

    def plot(self) -> Figure:
        """A figure with a panel of bars for each number, and one with the documents in reading order.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        from ctxassembly.comparison.plot import plot_rows

        return plot_rows(self.rows)

    def slider(self, setting: str = "configuration") -> Slider:
        """The contexts one at a time, in their order, with what is new and what is lost at each stop of a slider.

        `setting` is the setting that it moves, for the title.

        >>> from ctxassembly import Chunk, Hit
        >>> hits = [Hit(Chunk("a#0", "a", "Drink water.", 0)), Hit(Chunk("b#0", "b", "Eat nothing.", 0))]
        >>> configs = [AssemblyConfig(min_relevance=value) for value in (0.2, 0.8)]
        >>> [stop.name for stop in compare(hits, configs).slider("min_relevance").stops]
        ['min_relevance=0.2', 'min_relevance=0.8']
        """
        from ctxassembly.comparison.slider import Slider

        return Slider(self.rows, setting)

    def _repr_html_(self) -> str:
        from ctxassembly.comparison.side_by_side import comparison_html

        return comparison_html(self.rows)

    def to_html(self) -> str:
        """The table and the contexts side by side as an HTML page, below a megabyte and without scripts."""
        from ctxassembly.views.page import wrap_page

        return wrap_page(self._repr_html_())

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from ctxassembly.comparison.terminal import render_comparison
        from ctxassembly.views.terminal import render_encodable

        yield from render_encodable(render_comparison(self.rows), console, options)


def compare(
    hits: Sequence[Hit],
    configs: Sequence[AssemblyConfig],
    *,
    query: str | None = None,
    store: Store | None = None,
    names: Sequence[str] | None = None,
    evidence: Sequence[Evidence] = (),
    supplement: str | Supplement | None = None,
    embeddings: Embeddings | None = None,
    llm: LanguageModel | None = None,
    scorer: Scorer | None = None,
) -> Comparison:
    """Assemble `hits` under each of `configs`, and compare the contexts.

    The other arguments are those of `assemble`, but for two. `names` names the configurations, by default by the
    settings in which they differ. `evidence` should be read, and is marked in the texts: a text counts if a passage has
    it, white space aside, and where no chunk has it so capitals and punctuation aside; a span of a document counts by
    the share of its characters that stand.

    >>> from ctxassembly import Chunk, Hit
    >>> hits = [Hit(Chunk("a#0", "a", "Drink water.", 0)), Hit(Chunk("b#0", "b", "Eat nothing.", 0))]
    >>> found = compare(hits, [AssemblyConfig(), AssemblyConfig(max_tokens=12)], evidence=["Eat nothing."])
    >>> [(row.name, row.chunks, row.evidence) for row in found.rows]
    [('default', 2, 1.0), ('max_tokens=12', 1, 0.0)]

    Raises:
        ConfigError: there is no configuration, or another number of names.
        InputError: a piece of evidence is neither a text nor a span.
    """
    if not _are_all(AssemblyConfig, configs) or not configs:
        raise ConfigError("configs", "one AssemblyConfig or more, in a list", configs)
    if names is not None and not (_are_all(str, names) and len(names) == len(configs)):
        raise ConfigError("names", f"as many as there are configurations, {len(configs)}, each a text", names)
    evidence_pieces = check_evidence(evidence)
    rows = []
    for name, config in zip(names or _default_names(configs), configs, strict=True):
        context = assemble(
            hits,
            config,
            query=query,
            store=store,
            supplement=supplement,
            embeddings=embeddings,
            llm=llm,
            scorer=scorer,
        )
        rows.append(_comparison_row(name, context, evidence_pieces))
    return Comparison(tuple(rows))


def _are_all(kind: type, values: object) -> bool:
    """True if `values` are a sequence of `kind`. A string is no sequence of strings here."""
    return isinstance(values, Sequence) and not isinstance(values, str) and all(isinstance(x, kind) for x in values)


def _comparison_row(name: str, context: Context, evidence: Sequence[Evidence]) -> ComparisonRow:
    passages = context.passages
    pieces = locate_evidence(context, evidence)
    return ComparisonRow(
        name=name,
        tokens=context.token_count,
        chunks=sum(decision.is_in_context for decision in context.trace.decisions),
        documents=len({passage.document_id for passage in passages}),
        passages=len(passages),
        mean_passage_chars=fmean(len(passage.text) for passage in passages) if passages else 0.0,
        evidence=fmean(map(_share_read, pieces)) if pieces else None,
        order=tuple((citation.document_id, citation.source) for citation in context.citations),
        context=context,
        located_evidence=pieces,
    )


def _share_read(piece: LocatedEvidence) -> float:
    """The share of a span that stands; a text counts whole or not at all."""
    return float(piece.share_read >= 1) if isinstance(piece.evidence, str) else piece.share_read


def _default_names(configs: Sequence[AssemblyConfig]) -> list[str]:
    """A name for each of `configs`: its settings that differ, defaults left out; numbered if names would be equal."""
    names = [", ".join(_changed_settings(config, configs)) or "default" for config in configs]
    return [name if names.count(name) == 1 else f"{place}. {name}" for place, name in enumerate(names, 1)]


def _changed_settings(config: AssemblyConfig, configs: Sequence[AssemblyConfig]) -> Iterator[str]:
    default = AssemblyConfig()
    for name in (field.name for field in fields(config)):
        value = getattr(config, name)
        if value != getattr(default, name) and any(getattr(other, name) != value for other in configs):
            yield f"{name}={safe_repr(value, 60)}"
