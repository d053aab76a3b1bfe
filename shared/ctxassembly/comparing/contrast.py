"""A comparison as HTML: one row for each configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ctxassembly.comparing.compared import Compared, sources, titles
from ctxassembly.inspect.documents import Named
from ctxassembly.inspect.limits import ID_CHARS, ORDER_LABELS, VALUE_CHARS
from ctxassembly.inspect.look import document_class, letter
from ctxassembly.inspect.markup import Html, joined, shortened, tag
from ctxassembly.inspect.page import style
from ctxassembly.inspect.tables import meter, number, row, table

_NUMBERS = (1, 2, 3, 4, 5, 6)


def contrast(rows: Sequence[Compared]) -> Html:
    """The table, and below it the letters of the documents."""
    documents = {
        document_id: Named(letter(place), shortened(source, ID_CHARS), document_class(place))
        for place, (document_id, source) in enumerate(sources(rows).items())
    }
    most = max((compared.tokens for compared in rows), default=0) or 1
    columns = ("configuration", "tokens", "chunks", "documents", "passages", "mean run", "evidence", "order of labels")
    said = "Mean run: characters of a passage. Evidence: the share of it that is read"
    written = [
        row(*_cells(title, compared, most, documents), numbers=_NUMBERS)
        for title, compared in zip(titles(rows, VALUE_CHARS), rows, strict=True)
    ]
    whole = table(said, columns, written, _NUMBERS)
    items = [tag("li", document.key, f" {document.name}") for document in documents.values()]
    legend = tag("ul", *items, class_="cxa-legend", aria_label="Documents")
    title = tag("h2", "The same hits, configured differently")
    return joined(style(), tag("section", title, whole, legend, class_="cxa", lang="en", aria_label="Comparison"))


def _cells(title: str, compared: Compared, most: int, documents: Mapping[str, Named]) -> Iterator[str]:
    yield title
    yield joined(number(compared.tokens), meter(compared.tokens / most))
    yield from map(number, (compared.chunks, compared.documents, compared.passages))
    yield number(compared.mean_run_chars, 0)
    yield joined(number(compared.evidence, 2), "" if compared.evidence is None else meter(compared.evidence))
    keys = [documents[document_id].key for document_id, _ in compared.order[:ORDER_LABELS]]
    rest = len(compared.order) - ORDER_LABELS
    yield joined(*keys, f" and {rest:,} more" if rest > 0 else "" if keys else "–")
