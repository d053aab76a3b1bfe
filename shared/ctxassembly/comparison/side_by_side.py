"""The rows of a comparison and their pages: the numbers of each context, and the texts side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from statistics import fmean
from typing import TYPE_CHECKING

from ctxassembly.comparison.align import (
    AlignedDocument,
    ContextSentence,
    SentenceRow,
    align_documents,
    decisions_by_chunk,
    explain_absence,
    joined_marks,
)
from ctxassembly.context import Context
from ctxassembly.data.trace import Decision
from ctxassembly.safe_repr import pluralize
from ctxassembly.views.evidence import (
    EvidenceMarks,
    LocatedEvidence,
    evidence_report,
    evidence_status,
    highlight_evidence,
    mark_evidence,
    quote_evidence,
    status_tag,
)
from ctxassembly.views.html import (
    ID_CHARS,
    STYLE,
    VALUE_CHARS,
    Html,
    byte_size,
    font_class,
    format_number,
    join_html,
    make_visible,
    meter,
    more_line,
    read_style,
    render_section,
    table,
    tag,
    truncate,
)
from ctxassembly.views.names import NamedDocument, name_documents
from ctxassembly.wording.languages import LANGUAGES

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


SIDE_BY_SIDE_BYTES = 400_000
"""Bytes of the texts side by side with their markup: some 50,000 tokens in all."""
SLIDER_BYTES = 600_000
"""Bytes of the texts of all stops of a slider: each has an equal share."""
_STYLES = STYLE + read_style("ctxassembly.comparison", "comparison.css")


def comparison_html(rows: Sequence[ComparisonRow]) -> Html:
    """Return the table, the letters of the documents, what became of the evidence, and the texts side by side."""
    documents = documents_by_id(rows)
    items = [tag("li", documents[known].letter_tag, f" {documents[known].name}") for known in document_sources(rows)]
    return render_section(
        "The same hits, configured differently",
        _numbers_table(rows, documents),
        tag("ul", *items, class_="cxa-legend", aria_label="Documents"),
        _evidence_table(rows),
        *((tag("h3", "Side by side"), side_by_side(rows, documents, SIDE_BY_SIDE_BYTES)) if len(rows) > 1 else ()),
        styles=_STYLES,
    )


def slider_html(stops: Sequence[ComparisonRow], setting: str) -> Html:
    """Return a slider whose stops show each context next to the one before it."""
    documents = documents_by_id(stops)
    digest = blake2b("\0".join(stop.context.text for stop in stops).encode("utf-8", "replace"), digest_size=4)
    group = f"cxa-{digest.hexdigest()}-stop"
    title = setting[:1].upper() + setting[1:]
    buttons, panes, rules = [], [], ""
    for number, name in enumerate(row_titles(stops, VALUE_CHARS), 1):
        checked = " checked" if number == 1 else ""
        button = Html(f'<input type="radio" name="{group}" class="cxa-stop{number}"{checked}>')
        buttons.append(tag("label", button, tag("span", name)))
        stop, neighbors = stops[number - 1], stops[max(number - 2, 0) : number]
        content = (
            _numbers_table([stop], documents),
            evidence_report(stop.context, stop.located_evidence),
            side_by_side(neighbors, documents, SLIDER_BYTES // len(stops)),
        )
        css_class = f"cxa-pane cxa-pane{number}"
        panes.append(tag("div", *content, class_=css_class, role="region", aria_label=f"{title} {name}"))
        rules += f".cxa.cxa:has(.cxa-stop{number}:checked) .cxa-pane{number}{{display:block}}"
    track = tag("div", *buttons, class_="cxa-track")
    fieldset = tag("fieldset", tag("legend", title), track, class_="cxa-slider")
    form = tag("form", fieldset, method="dialog")  # Enter in a form of another method would leave the page
    heading = f"What the model reads, by {setting}"
    return render_section(heading, form, *panes, styles=f"{_STYLES}<style>{rules}</style>")


def render_rows(rows: Sequence[ComparisonRow], setting: str = "configuration") -> Iterator[Table | Text]:
    """Yield a terminal's table with a row for each configuration, and the letters of the documents."""
    from rich.text import Text

    from ctxassembly.views.terminal import add_row, make_table

    documents = documents_by_id(rows)
    table = make_table(setting, *NUMBERS, "order of labels")
    for title, row in zip(row_titles(rows, VALUE_CHARS), rows, strict=True):
        order = " ".join(documents[document_id].letter for document_id in row.document_order)
        add_row(table, title, *row_numbers(row), order + row.more_labels)
    yield table
    for document_id in document_sources(rows):
        yield Text(f"{documents[document_id].letter} {make_visible(documents[document_id].name)}", style="dim")


def documents_by_id(rows: Sequence[ComparisonRow]) -> dict[str, NamedDocument]:
    """Return all documents of `rows` by id; the documents of `document_sources` come first, with the same letters."""
    return name_documents({**document_sources(rows), **document_sources(rows, None)})


def _numbers_table(rows: Sequence[ComparisonRow], documents: Mapping[str, NamedDocument]) -> Html:
    max_tokens = max((compared.tokens for compared in rows), default=0) or 1
    written = []
    for title, compared in zip(row_titles(rows, VALUE_CHARS), rows, strict=True):
        tokens, *numbers, evidence = row_numbers(compared)
        keys = [documents[document_id].letter_tag for document_id in compared.document_order]
        used = join_html(tokens, meter(compared.tokens / max_tokens))
        read = join_html(evidence, "" if compared.evidence is None else meter(compared.evidence))
        written.append((title, used, *numbers, read, join_html(*keys, compared.more_labels if keys else "–")))
    caption = "Mean run: characters of a passage. Evidence: the share of it that is read"
    return table(caption, ("configuration", *NUMBERS, "order of labels"), written)


def _evidence_table(rows: Sequence[ComparisonRow]) -> Html:
    """Return the outcome of each piece of evidence in each context."""
    pieces = rows[0].located_evidence if rows else ()
    if not pieces:
        return Html()

    def cells(index: int) -> Iterator[Html]:
        yield join_html(f"{index + 1} ", quote_evidence(pieces[index]))
        for compared in rows:
            status, explanation = evidence_status(compared.context, compared.located_evidence[index])
            yield join_html(status_tag(status), tag("div", explanation, class_="cxa-does"))

    columns = ("piece", *row_titles(rows, ID_CHARS))
    written = (list(cells(index)) for index in range(len(pieces)))
    whole = table("What became of each piece", columns, written, len(pieces), "pieces of evidence")
    return join_html(tag("h3", "Evidence"), tag("div", whole, class_="cxa-asked"))


def side_by_side(rows: Sequence[ComparisonRow], documents: Mapping[str, NamedDocument], max_bytes: int) -> Html:
    """Return a table of the texts with a column for each of `rows`, and the number of characters that don't fit."""
    names = row_titles(rows, ID_CHARS)
    decisions = [decisions_by_chunk(row.context) for row in rows]
    hidden, bodies = 0, []
    for document in align_documents([each.context for each in rows], [each.marks for each in rows]):
        written = [_document_heading(document, documents[document.document_id], len(rows))]
        for aligned in document.rows:
            line = Html() if hidden else _aligned_row(aligned, document, names, decisions)
            max_bytes -= byte_size(line)
            if hidden or max_bytes < 0:
                hidden += max(sum(len(one.text) for one in cell) for cell in aligned.cells)
            else:
                written.append(line)
        bodies.append(tag("tbody", *written))
    if not bodies:
        return tag("p", "Nothing: these contexts have no chunks.", class_="cxa-soft")
    head = tag("thead", tag("tr", *(tag("th", name, scope="col") for name in names)))
    caption = tag("caption", "By document, sentence by sentence; documents in the order in which they first appear")
    whole = tag("table", caption, head, *bodies, class_="cxa-both", style=f"--contexts:{len(rows)}")
    scroll = tag("div", whole, class_="cxa-scroll cxa-wide", tabindex="0", role="region", aria_label="Side by side")
    legend = _legend(len(rows), with_evidence=any(row.located_evidence for row in rows))
    return join_html(legend, scroll, more_line(hidden, "characters"))


def _legend(contexts: int, *, with_evidence: bool) -> Html:
    marks = []
    if contexts > 1:
        marks = [
            join_html(tag("span", "text", class_="cxa-only"), " one context has and another lacks"),
            join_html(tag("span", "text", class_="cxa-soft"), f" {_all_of(contexts)} have"),
        ]
    if with_evidence:
        marks.append(join_html(tag("mark", "text", class_="cxa-evidence"), " evidence"))
    return tag("ul", *(tag("li", mark) for mark in marks), class_="cxa-legend", aria_label="How to read the marks")


def _all_of(contexts: int) -> str:
    return "both" if contexts == 2 else "all"


def _document_heading(aligned: AlignedDocument, document: NamedDocument, contexts: int) -> Html:
    """Return the line above a document: its name, and how much of it the contexts have in common."""
    shared = sum(len(each.cells[0]) for each in aligned.rows if each.is_shared)
    own_rows = [each.cells for each in aligned.rows if not each.is_shared]
    own = sum(len({one.normalized for cell in cells for one in cell}) for cells in own_rows)
    summary = pluralize(shared, "sentence") + (" in common" if contexts > 1 else "") + (f", {own:,} not" if own else "")
    name = tag("b", f" {document.name} ")
    css_class = f"cxa-doc {document.css_class}"
    return tag("tr", tag("th", document.letter_tag, name, summary, class_=css_class, colspan=str(contexts)))


def _aligned_row(
    aligned: SentenceRow, document: AlignedDocument, names: Sequence[str], decisions: Sequence[Mapping[str, Decision]]
) -> Html:
    cells = []
    for index, cell in enumerate(aligned.cells):
        # The name is shown on a narrow screen only, where the contexts are below one another.
        name = tag("span", _all_of(len(names)) if aligned.is_shared else names[index], class_="cxa-who")
        if cell:
            cells.append(tag("td", name, _cell_text(cell), class_="cxa-same" if aligned.is_shared else "cxa-only"))
        else:
            missing = [one for other in aligned.cells for one in other]
            reason = explain_absence(missing, document.sentences[index], decisions[index])
            cells.append(tag("td", name, reason, class_="cxa-none"))
    return tag("tr", *cells)


def _cell_text(cell: Sequence[ContextSentence]) -> Html:
    text = "".join(one.text for one in cell).rstrip()
    css_class = f"cxa-says{font_class(text)}"
    return tag("div", highlight_evidence(text, joined_marks(cell)), class_=css_class, lang="", dir="auto")


MAX_LABELS = 12
"""Labels shown of each context."""


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """The context of one configuration, in numbers.

    >>> from ctxassembly import AssemblyConfig, Chunk, Hit
    >>> from ctxassembly.comparison import compare
    >>> hits = [Hit(Chunk("a#0", "a", "Drink water.", 0)), Hit(Chunk("b#0", "b", "Eat nothing.", 0))]
    >>> for row in compare(hits, [AssemblyConfig(), AssemblyConfig(max_tokens=12)]).rows:
    ...     print(f"{row.name}: {row.tokens} tokens, {row.documents} of 2 documents")
    default: 20 tokens, 2 of 2 documents
    max_tokens=12: 10 tokens, 1 of 2 documents
    """

    name: str
    context: Context = field(repr=False)
    located_evidence: tuple[LocatedEvidence, ...] = field(default=(), repr=False)
    """The pieces of evidence, each with the places where it was found."""

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

    @property
    def passages(self) -> int:
        """The number of passages in the context."""
        return len(self.context.passages)

    @property
    def mean_passage_chars(self) -> float:
        """The mean number of characters of a passage; 0 if there is none."""
        return fmean(len(passage.text) for passage in self.context.passages) if self.context.passages else 0.0

    @property
    def evidence(self) -> float | None:
        """The mean share of the evidence that the context has, 0 to 1; None if none was given."""
        return fmean(map(_share_read, self.located_evidence)) if self.located_evidence else None

    @property
    def order(self) -> tuple[tuple[str, str], ...]:
        """The document id and source of each label, in reading order."""
        return tuple((citation.document_id, citation.source) for citation in self.context.citations)

    @property
    def marks(self) -> EvidenceMarks:
        """The evidence as it is marked in the context."""
        return mark_evidence(self.located_evidence)

    @property
    def document_order(self) -> list[str]:
        """The document ids of the first `MAX_LABELS` labels."""
        return [document_id for document_id, _ in self.order[:MAX_LABELS]]

    @property
    def more_labels(self) -> str:
        """The number of labels after `document_order`, in words; empty for none."""
        rest = len(self.order) - MAX_LABELS
        return f" and {rest:,} more" if rest > 0 else ""


def _share_read(piece: LocatedEvidence) -> float:
    """Return the share of a span that the context has; a text counts whole or not at all."""
    return float(piece.share_read >= 1) if isinstance(piece.evidence, str) else piece.share_read


NUMBERS = ("tokens", "chunks", "documents", "passages", "mean run", "evidence")
"""The columns of the numbers of a row. A mean run is the mean number of characters of a passage."""


def row_numbers(row: ComparisonRow) -> tuple[str, ...]:
    """Return the numbers of `row`, in the order of `NUMBERS`."""
    counts = map(format_number, (row.tokens, row.chunks, row.documents, row.passages))
    return (*counts, format_number(row.mean_passage_chars, 0), format_number(row.evidence, 2))


def document_sources(rows: Sequence[ComparisonRow], max_labels: int | None = MAX_LABELS) -> dict[str, str]:
    """Return the names of the documents of the first `max_labels` of each row, by id, in the order of their letters.

    A document whose source is unknown is named by its id. None means all labels.
    """
    names: dict[str, str] = {}
    for row in rows:
        unknown = LANGUAGES[row.context.language].unknown
        for document_id, source in row.order[:max_labels]:
            names.setdefault(document_id, document_id if source == unknown else source)
    return names


def row_titles(rows: Sequence[ComparisonRow], max_chars: int) -> list[str]:
    """Return the names of `rows` in `max_chars` characters each; numbered if two would look the same."""
    short = [truncate(row.name, max_chars) for row in rows]
    return [
        name if short.count(name) == 1 else truncate(f"{number}. {name}", max_chars)
        for number, name in enumerate(short, 1)
    ]
