"""`compare`: the same hits under several configurations, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import TYPE_CHECKING

from ctxassembly.assembly.selection.supplement import Supplement
from ctxassembly.comparison.row import Compared
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.data.chunks import Hit
from ctxassembly.errors import ConfigError
from ctxassembly.protocols import Embeddings, LanguageModel, Scorer, Store
from ctxassembly.runtime.assemble import assemble
from ctxassembly.safe_repr import shown
from ctxassembly.views.evidence import Evidence, Located, checked, located

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
    ...     print(row.name, "leaves out", [decision.chunk_id for decision in row.context.trace.left_out])
    roomy leaves out []
    tight leaves out ['b#0']
    """

    rows: tuple[Compared, ...]

    def plot(self) -> Figure:
        """A figure with a panel of bars for each number, and one with the documents in reading order.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        from ctxassembly.comparison.plot import plotted

        return plotted(self.rows)

    def slider(self, of: str = "configuration") -> Slider:
        """The contexts one at a time, in their order, with what is new and what is lost at each stop of a slider.

        `of` is the setting that it moves, for the title.

        >>> from ctxassembly import Chunk, Hit
        >>> hits = [Hit(Chunk("a#0", "a", "Drink water.", 0)), Hit(Chunk("b#0", "b", "Eat nothing.", 0))]
        >>> configs = [AssemblyConfig(stop_below=value) for value in (0.2, 0.8)]
        >>> [stop.name for stop in compare(hits, configs).slider("stop_below").stops]
        ['stop_below=0.2', 'stop_below=0.8']
        """
        from ctxassembly.comparison.slider import Slider

        return Slider(self.rows, of)

    def _repr_html_(self) -> str:
        from ctxassembly.comparison.side_by_side import contrast

        return contrast(self.rows)

    def to_html(self) -> str:
        """The table and the contexts side by side as an HTML page, below a megabyte and without scripts."""
        from ctxassembly.views.page import framed

        return framed(self._repr_html_())

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from ctxassembly.comparison.terminal import contrasted
        from ctxassembly.views.terminal import printed

        yield from printed(contrasted(self.rows), console, options)


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
    if not _are(AssemblyConfig, configs) or not configs:
        raise ConfigError("configs", "one AssemblyConfig or more, in a list", configs)
    if names is not None and not (_are(str, names) and len(names) == len(configs)):
        raise ConfigError("names", f"as many as there are configurations, {len(configs)}, each a text", names)
    wanted = checked(evidence)
    rows = []
    for name, config in zip(names or _differences(configs), configs, strict=True):
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
        rows.append(_compared(name, context, wanted))
    return Comparison(tuple(rows))


def _are(kind: type, values: object) -> bool:
    """True if `values` are a sequence of `kind`. A string is no sequence of strings here."""
    return isinstance(values, Sequence) and not isinstance(values, str) and all(isinstance(x, kind) for x in values)


def _compared(name: str, context: Context, evidence: Sequence[Evidence]) -> Compared:
    passages = context.passages
    found = located(context, evidence)
    return Compared(
        name=name,
        tokens=context.token_count,
        chunks=sum(decision.stands for decision in context.trace.decisions),
        documents=len({passage.document_id for passage in passages}),
        passages=len(passages),
        mean_run_chars=fmean(len(passage.text) for passage in passages) if passages else 0.0,
        evidence=fmean(map(_read, found)) if found else None,
        order=tuple((citation.document_id, citation.source) for citation in context.citations),
        context=context,
        located=found,
    )


def _read(one: Located) -> float:
    """The share of a span that stands; a text counts whole or not at all."""
    return float(one.share >= 1) if isinstance(one.evidence, str) else one.share


def _differences(configs: Sequence[AssemblyConfig]) -> list[str]:
    """A name for each of `configs`: its settings that differ, defaults left out; numbered if names would be equal."""
    said = [", ".join(_settings(config, configs)) or "default" for config in configs]
    return [name if said.count(name) == 1 else f"{place}. {name}" for place, name in enumerate(said, 1)]


def _settings(config: AssemblyConfig, among: Sequence[AssemblyConfig]) -> Iterator[str]:
    default = AssemblyConfig()
    for name in (field.name for field in fields(config)):
        value = getattr(config, name)
        if value != getattr(default, name) and any(getattr(other, name) != value for other in among):
            yield f"{name}={shown(value, 60)}"
