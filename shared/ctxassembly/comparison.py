"""`compare`: the same hits under several configurations, a row each.

Experimental: the tables, and the fields of the results, may still change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from statistics import fmean
from typing import Any

from ctxassembly.assembly.arguments import is_config
from ctxassembly.assembly.call import System
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.data.chunks import Hit
from ctxassembly.errors import ConfigError
from ctxassembly.runtime.assemble import assemble
from ctxassembly.safe_repr import safe_repr
from ctxassembly.views.evidence import Evidence, LocatedEvidence, check_evidence, locate_evidence
from ctxassembly.views.html import VALUE_CHARS, format_number, make_visible, render_section, table, truncate

__all__ = ["Comparison", "ComparisonRow", "compare"]

_NUMBERS = ("tokens", "chunks", "documents")


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """The context of one configuration, in numbers.

    >>> from ctxassembly import AssemblyConfig, Chunk, Hit
    >>> hits = [Hit(Chunk("a#0", "a", "Drink water.", 0)), Hit(Chunk("b#0", "b", "Eat nothing.", 0))]
    >>> for row in compare(hits, [AssemblyConfig(), AssemblyConfig(max_tokens=12)]).rows:
    ...     print(f"{row.name}: {row.tokens} tokens, {row.documents} of 2 documents")
    default: 20 tokens, 2 of 2 documents
    max_tokens=12: 10 tokens, 1 of 2 documents
    """

    name: str
    context: Context = field(repr=False)
    evidence: float | None = None
    """The mean share of the evidence that the context has, 0 to 1; None if none was given."""

    @property
    def tokens(self) -> int:
        """The tokens of the context."""
        return self.context.token_count

    @property
    def chunks(self) -> int:
        """The number of chunks with text of their own in the context."""
        return sum(decision.is_in_context for decision in self.context.trace.decisions)

    @property
    def documents(self) -> int:
        """The number of documents in the context."""
        return len({passage.document_id for passage in self.context.passages})


@dataclass(frozen=True, slots=True)
class Comparison:
    """A row for each configuration. `print` shows them as a table, and so does a notebook.

    >>> from ctxassembly import Chunk, Hit
    >>> hits = [Hit(Chunk("a#0", "a", "Drink water.", 0)), Hit(Chunk("b#0", "b", "Eat nothing.", 0))]
    >>> print(compare(hits, [AssemblyConfig(), AssemblyConfig(max_tokens=12)], names=["roomy", "tight"]))
    configuration  tokens  chunks  documents
    roomy              20       2          2
    tight              10       1          1

    Each row has its context: `row.context.view(evidence=...)` shows what was left out and why.
    """

    rows: tuple[ComparisonRow, ...]

    def __str__(self) -> str:
        cells = [[make_visible(" ".join(cell.split())) for cell in line] for line in self._cells()]
        first, *widths = (max(map(len, column)) for column in zip(*cells, strict=True))
        return "\n".join("  ".join([name.ljust(first), *map(str.rjust, numbers, widths)]) for name, *numbers in cells)

    def _repr_html_(self) -> str:
        columns, *rows = self._cells()
        caption = "Evidence: the share of it that is read"
        return render_section("The same hits, configured differently", table(caption, columns, rows, len(rows)))

    def _cells(self) -> Iterator[tuple[str, ...]]:
        """Yield the names of the columns, then the cells of each row."""
        has_evidence = any(row.evidence is not None for row in self.rows)
        yield ("configuration", *_NUMBERS, *(["evidence"] if has_evidence else []))
        for row in self.rows:
            counts = map(format_number, (row.tokens, row.chunks, row.documents))
            share = [format_number(row.evidence, 2)] if has_evidence else []
            yield (truncate(row.name, VALUE_CHARS), *counts, *share)


def compare(
    hits: Sequence[Hit],
    configs: Sequence[AssemblyConfig | System],
    *,
    names: Sequence[str] | None = None,
    evidence: Sequence[Evidence] = (),
    **options: Any,
) -> Comparison:
    """Assemble `hits` under each of `configs`, and compare the contexts.

    Experimental.

    `options` are the arguments of `assemble` besides hits and configuration. `names` are the names of the
    configurations, by default their settings that differ or their class. `evidence` should be read. A text counts
    if a passage has it, whatever its white space, capitals and punctuation. A span of a document counts by the share of
    its characters that the context has.

    >>> from ctxassembly import Chunk, Hit
    >>> hits = [Hit(Chunk("a#0", "a", "Drink water.", 0)), Hit(Chunk("b#0", "b", "Eat nothing.", 0))]
    >>> found = compare(hits, [AssemblyConfig(), AssemblyConfig(max_tokens=12)], evidence=["Eat nothing."])
    >>> [(row.name, row.chunks, row.evidence) for row in found.rows]
    [('default', 2, 1.0), ('max_tokens=12', 1, 0.0)]

    Raises:
        ConfigError: there is no configuration, or another number of names.
        InputError: a piece of evidence is neither a text nor a span.
    """
    if not isinstance(configs, Sequence) or isinstance(configs, str) or not configs or not all(map(is_config, configs)):
        raise ConfigError("configs", "one AssemblyConfig or more, in a list", configs)
    if names is not None and not (_are_all(str, names) and len(names) == len(configs)):
        raise ConfigError("names", f"as many as there are configurations, {len(configs)}, each a text", names)
    evidence_pieces = check_evidence(evidence)
    rows = []
    for name, config in zip(names or _default_names(configs), configs, strict=True):
        context = assemble(hits, config, **options)
        shares = [_share_read(piece) for piece in locate_evidence(context, evidence_pieces)]
        rows.append(ComparisonRow(name, context, fmean(shares) if shares else None))
    return Comparison(tuple(rows))


def _share_read(piece: LocatedEvidence) -> float:
    """Return the share of a span that the context has; a text counts whole or not at all."""
    return float(piece.share_read >= 1) if isinstance(piece.evidence, str) else piece.share_read


def _are_all(kind: type, values: object) -> bool:
    """Return True if `values` is a sequence of `kind`. A string is no sequence of strings here."""
    return isinstance(values, Sequence) and not isinstance(values, str) and all(isinstance(x, kind) for x in values)


def _default_names(configs: Sequence[AssemblyConfig | System]) -> list[str]:
    """Return a name for each of `configs`: its settings that differ, except defaults; numbered if names are equal."""
    names = [_name(config, configs) for config in configs]
    return [name if names.count(name) == 1 else f"{number}. {name}" for number, name in enumerate(names, 1)]


def _name(config: AssemblyConfig | System, configs: Sequence[AssemblyConfig | System]) -> str:
    if not isinstance(config, AssemblyConfig):
        return type(config).__name__
    others = [other for other in configs if isinstance(other, AssemblyConfig)]
    return ", ".join(_changed_settings(config, others)) or "default"


def _changed_settings(config: AssemblyConfig, configs: Sequence[AssemblyConfig]) -> Iterator[str]:
    default = AssemblyConfig()
    for name in (one.name for one in fields(config)):
        value = getattr(config, name)
        if value != getattr(default, name) and any(getattr(other, name) != value for other in configs):
            yield f"{name}={safe_repr(value, 60)}"
