"""The same hits under several configurations, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ctxassembly.assembly.choosing.supplement import Supplement
from ctxassembly.comparing.compared import Compared
from ctxassembly.context import Context
from ctxassembly.data.chunks import Hit
from ctxassembly.drivers.assemble import assemble
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import Embeddings, LanguageModel, Store
from ctxassembly.settings.config import AssemblyConfig
from ctxassembly.shown import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console, ConsoleOptions, RenderResult

Evidence = str | tuple[str, int, int]
"""A text, or a document's id and the characters from and up to which it matters."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One row for each configuration. A notebook shows it as a table, and so does a terminal through rich."""

    rows: tuple[Compared, ...]

    def plot(self) -> Figure:
        """The numbers as bars, one panel for each, and the documents in the order in which they are read.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        from ctxassembly.comparing.plot import plotted

        return plotted(self.rows)

    def _repr_html_(self) -> str:
        from ctxassembly.comparing.contrast import contrast

        return contrast(self.rows)

    def to_html(self) -> str:
        """A page of its own with the table."""
        from ctxassembly.inspect.page import framed

        return framed(self._repr_html_())

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from ctxassembly.comparing.terminal import contrasted
        from ctxassembly.inspect.terminal import printed

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
) -> Comparison:
    """What each of `configs` makes of `hits`; all other arguments are those of `assemble`.

    `names` are by default the settings in which the configurations differ. `evidence` is what should be read: a text
    counts if it stands in a passage, white space apart, a span of a document by the share of its characters.

    Raises:
        ConfigError: there is no configuration, or another number of names.
        InputError: a piece of evidence is neither a text nor a span.
    """
    if not _are(AssemblyConfig, configs) or not configs:
        raise ConfigError("configs", "one AssemblyConfig or more, in a list", configs)
    if names is not None and not (_are(str, names) and len(names) == len(configs)):
        raise ConfigError("names", f"as many as there are configurations, {len(configs)}, each a text", names)
    if isinstance(evidence, str):  # its letters would be looked for
        raise InputError(f"evidence must be a sequence of texts or (document_id, start, end), got {shown(evidence)}")
    spans = [_checked(each) for each in evidence]
    rows = []
    for name, config in zip(names or _differences(configs), configs, strict=True):
        context = assemble(
            hits, config, query=query, store=store, supplement=supplement, embeddings=embeddings, llm=llm
        )
        rows.append(_compared(name, context, spans))
    return Comparison(tuple(rows))


def _are(kind: type, values: object) -> bool:
    """Whether `values` are a sequence of `kind`; a text is none of its letters."""
    return isinstance(values, Sequence) and not isinstance(values, str) and all(isinstance(x, kind) for x in values)


def _compared(name: str, context: Context, evidence: Sequence[Evidence]) -> Compared:
    passages = context.passages
    return Compared(
        name=name,
        tokens=context.token_count,
        chunks=sum(each.stands for each in context.trace.decisions),
        documents=len({passage.document_id for passage in passages}),
        passages=len(passages),
        mean_run_chars=fmean(len(passage.text) for passage in passages) if passages else 0.0,
        evidence=fmean(_found(context, each) for each in evidence) if evidence else None,
        order=tuple((citation.document_id, citation.source) for citation in context.citations),
        context=context,
    )


def _differences(configs: Sequence[AssemblyConfig]) -> list[str]:
    """What tells each of `configs` from the others, defaults unsaid; its number where nothing does."""
    said = [", ".join(_settings(config, configs)) or "default" for config in configs]
    return [each if said.count(each) == 1 else f"{place}. {each}" for place, each in enumerate(said, 1)]


def _settings(config: AssemblyConfig, among: Sequence[AssemblyConfig]) -> Iterator[str]:
    default = AssemblyConfig()
    for name in (each.name for each in fields(config)):
        value = getattr(config, name)
        if value != getattr(default, name) and any(getattr(other, name) != value for other in among):
            yield f"{name}={shown(value, 60)}"


def _checked(evidence: Any) -> Evidence:
    match evidence:
        case str() if evidence.strip():
            return evidence
        case (str(), int(start), int(end)) if 0 <= start < end:
            return evidence  # type: ignore[no-any-return]
    raise InputError(f"evidence must be texts or (document_id, start, end), got {shown(evidence)}")


def _found(context: Context, evidence: Evidence) -> float:
    if isinstance(evidence, str):
        wanted = " ".join(evidence.split())
        return float(any(wanted in " ".join(passage.text.split()) for passage in context.passages))
    document_id, start, end = evidence
    # By the passages, as for texts: what a format escapes stands there all the same.
    standing = sorted(
        (max(offset + piece.start, start), min(offset + piece.end, end))
        for passage in context.passages
        for piece in passage.pieces
        if (offset := piece.candidate.chunk.start) is not None and piece.candidate.chunk.document_id == document_id
    )
    covered, reached = 0, start
    for begin, stop in standing:
        covered += max(stop - max(begin, reached), 0)
        reached = max(reached, stop)
    return covered / (end - start)
