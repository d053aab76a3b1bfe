"""`compare`: the same hits under several configurations, side by side; `compare_budgets`: on a slider over budgets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, TypedDict

from ctxassembly.assembly.selection.supplement import Supplement
from ctxassembly.comparison.side_by_side import ComparisonRow, comparison_html, render_rows, slider_html
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.chunks import Hit
from ctxassembly.errors import ConfigError
from ctxassembly.protocols import Embeddings, LanguageModel, Scorer, Store
from ctxassembly.runtime.assemble import assemble
from ctxassembly.safe_repr import safe_repr
from ctxassembly.views.evidence import Evidence, check_evidence, locate_evidence
from ctxassembly.views.html import wrap_page

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from typing_extensions import Unpack

DEFAULT_BUDGETS = (500, 1_000, 2_000, 4_000, 8_000)
"""From a few sentences for a voice assistant to the default of `AssemblyConfig`."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A row for each configuration, and the contexts side by side.

    A notebook shows it as a table and, below it, the texts with what only some contexts have marked. A terminal with
    rich prints the table.

    >>> from ctxassembly import Chunk, Hit
    >>> hits = [Hit(Chunk("a#0", "a", "Drink water.", 0)), Hit(Chunk("b#0", "b", "Eat nothing.", 0))]
    >>> comparison = compare(hits, [AssemblyConfig(), AssemblyConfig(max_tokens=12)], names=["roomy", "tight"])
    >>> for row in comparison.rows:
    ...     print(row.name, "leaves out", [decision.chunk_id for decision in row.context.trace.excluded])
    roomy leaves out []
    tight leaves out ['b#0']
    """

    rows: tuple[ComparisonRow, ...]
    setting: str = "configuration"
    """The name of what the rows differ in."""

    def slider(self, setting: str = "configuration") -> Slider:
        """Return the contexts in their order as a slider. `setting` is the name of what it moves, for the title.

        >>> from ctxassembly import Chunk, Hit
        >>> hits = [Hit(Chunk("a#0", "a", "Drink water.", 0)), Hit(Chunk("b#0", "b", "Eat nothing.", 0))]
        >>> configs = [AssemblyConfig(min_relevance=value) for value in (0.4, 0.8)]
        >>> [stop.name for stop in compare(hits, configs).slider("min_relevance").stops]
        ['min_relevance=0.4', 'min_relevance=0.8']
        """
        return Slider(self.rows, setting)

    def to_html(self) -> str:
        """Return the view of a notebook as an HTML page, below a megabyte and without scripts."""
        return wrap_page(self._repr_html_())

    def _repr_html_(self) -> str:
        return comparison_html(self.rows)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from ctxassembly.views.terminal import render_encodable

        yield from render_encodable(render_rows(self.rows, self.setting), console, options)


@dataclass(frozen=True, slots=True)
class Slider(Comparison):
    """The contexts of a comparison as the stops of a slider, each next to the one before it.

    A notebook shows the slider, a terminal with rich prints the numbers.

    >>> from ctxassembly import Chunk, Hit
    >>> hits = [Hit(Chunk("a#0", "a", "Drink water.", 0)), Hit(Chunk("b#0", "b", "Eat nothing.", 0))]
    >>> slider = compare_budgets(hits, [12, 50])
    >>> [(stop.name, stop.tokens, stop.documents) for stop in slider.stops]
    [('12', 10, 1), ('50', 20, 2)]
    >>> "not here: budget" in slider.to_html()
    True
    """

    @property
    def stops(self) -> tuple[ComparisonRow, ...]:
        """The rows, in the order of the slider."""
        return self.rows

    def _repr_html_(self) -> str:
        return slider_html(self.rows, self.setting)


class AssemblyOptions(TypedDict, total=False):
    """The arguments of `assemble` besides the configuration."""

    query: str | None
    store: Store | None
    supplement: str | Supplement | None
    embeddings: Embeddings | None
    llm: LanguageModel | None
    scorer: Scorer | None


def compare(
    hits: Sequence[Hit],
    configs: Sequence[AssemblyConfig],
    *,
    names: Sequence[str] | None = None,
    evidence: Sequence[Evidence] = (),
    **options: Unpack[AssemblyOptions],
) -> Comparison:
    """Assemble `hits` under each of `configs`, and compare the contexts.

    Experimental.

    `options` are the arguments of `assemble` besides the configuration. `names` are the names of the
    configurations, by default the settings in which they differ. `evidence` should be read by the model, and is marked
    in the texts. A text counts if a passage has it, whatever its white space, capitals and punctuation. A span of a
    document counts by the share of its characters that the context has.

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
        context = assemble(hits, config, **options)
        rows.append(ComparisonRow(name, context, locate_evidence(context, evidence_pieces)))
    return Comparison(tuple(rows))


def compare_budgets(
    hits: Sequence[Hit],
    budgets: Sequence[int] = DEFAULT_BUDGETS,
    config: AssemblyConfig | None = None,
    *,
    evidence: Sequence[Evidence] = (),
    **options: Unpack[AssemblyOptions],
) -> Slider:
    """Assemble `hits` under each of `budgets`, the smallest first, and return the contexts as a slider for a notebook.

    Experimental.

    Each of `budgets`, a number of tokens, replaces the `max_tokens` of `config`. The other arguments are the same
    as for `compare`.

    >>> from ctxassembly import Chunk, Hit
    >>> hits = [Hit(Chunk("a#0", "a", "Drink water.", 0)), Hit(Chunk("b#0", "b", "Eat nothing.", 0))]
    >>> slider = compare_budgets(hits, [50, 12], evidence=["Eat nothing."])
    >>> [(stop.name, stop.tokens, stop.evidence) for stop in slider.stops]
    [('12', 10, 0.0), ('50', 20, 1.0)]

    Raises:
        ConfigError: there is no budget, or one that isn't a whole number from 1.
        InputError: a piece of evidence is neither a text nor a span.
    """
    if not _are_all(int, budgets) or not budgets or any(isinstance(one, bool) or one < 1 for one in budgets):
        raise ConfigError("budgets", "one number of tokens or more, in a list, each a whole number from 1", budgets)
    ascending = sorted(set(budgets))
    configs = [replace(config or AssemblyConfig(), max_tokens=budget) for budget in ascending]
    names = [f"{budget:,}" for budget in ascending]
    return compare(hits, configs, names=names, evidence=evidence, **options).slider("token budget")


def _are_all(kind: type, values: object) -> bool:
    """Return True if `values` is a sequence of `kind`. A string is no sequence of strings here."""
    return isinstance(values, Sequence) and not isinstance(values, str) and all(isinstance(x, kind) for x in values)


def _default_names(configs: Sequence[AssemblyConfig]) -> list[str]:
    """Return a name for each of `configs`: its settings that differ, except defaults; numbered if names are equal."""
    names = [", ".join(_changed_settings(config, configs)) or "default" for config in configs]
    return [name if names.count(name) == 1 else f"{number}. {name}" for number, name in enumerate(names, 1)]


def _changed_settings(config: AssemblyConfig, configs: Sequence[AssemblyConfig]) -> Iterator[str]:
    default = AssemblyConfig()
    for name in (field.name for field in fields(config)):
        value = getattr(config, name)
        if value != getattr(default, name) and any(getattr(other, name) != value for other in configs):
            yield f"{name}={safe_repr(value, 60)}"
