"""A comparison as HTML: a row for each configuration, and the texts side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ctxassembly.comparing.both import both
from ctxassembly.comparing.compared import Compared, sources, titles
from ctxassembly.comparing.look import styles
from ctxassembly.inspect.asked_for import outcome, quoted, verdict
from ctxassembly.inspect.documents import Named, named
from ctxassembly.inspect.limits import EVIDENCE_BYTES, ID_CHARS, ORDER_LABELS, VALUE_CHARS
from ctxassembly.inspect.markup import Html, joined, more, tag, within
from ctxassembly.inspect.tables import meter, number, row, table

_NUMBERS = (1, 2, 3, 4, 5, 6)


def contrast(rows: Sequence[Compared]) -> Html:
    """The table, below it the letters of the documents, and the texts."""
    documents = documents_of(rows)
    most = max((compared.tokens for compared in rows), default=0) or 1
    columns = ("configuration", "tokens", "chunks", "documents", "passages", "mean run", "evidence", "order of labels")
    said = "Mean run: characters of a passage. Evidence: the share of it that is read"
    written = [
        row(*_cells(title, compared, most, documents), numbers=_NUMBERS)
        for title, compared in zip(titles(rows, VALUE_CHARS), rows, strict=True)
    ]
    whole = table(said, columns, written, _NUMBERS)
    items = [tag("li", documents[known].key, f" {documents[known].name}") for known in sources(rows)]
    legend = tag("ul", *items, class_="cxa-legend", aria_label="Documents")
    title = tag("h2", "The same hits, configured differently")
    inside = title, whole, legend, _evidence(rows), both(rows, documents)
    return joined(styles(), tag("section", *inside, class_="cxa", lang="en", aria_label="Comparison"))


def documents_of(rows: Sequence[Compared]) -> dict[str, Named]:
    """All documents that stand in one of `rows`, by id; first those of `sources`, with the same letters."""
    first = sources(rows)
    return named({**first, **sources(rows, None), **first})


def _evidence(rows: Sequence[Compared]) -> Html:
    """The outcome of each piece of evidence in each context."""
    pieces = rows[0].located if rows else ()
    if not pieces:
        return Html()

    def cells(place: int) -> Iterator[Html]:
        yield joined(f"{place + 1} ", quoted(pieces[place]))
        for compared in rows:
            became, where = verdict(compared.context, compared.located[place])
            yield joined(outcome(became), tag("div", where, class_="cxa-does"))

    written = within((row(*cells(place)) for place in range(len(pieces))), EVIDENCE_BYTES)
    whole = table("What became of each piece", ("evidence", *titles(rows, ID_CHARS)), written)
    shown = tag("div", whole, class_="cxa-asked")
    return joined(tag("h3", "Evidence"), shown, more(len(pieces) - len(written), "pieces of evidence"))


def _cells(title: str, compared: Compared, most: int, documents: Mapping[str, Named]) -> Iterator[str]:
    yield title
    yield joined(number(compared.tokens), meter(compared.tokens / most))
    yield from map(number, (compared.chunks, compared.documents, compared.passages))
    yield number(compared.mean_run_chars, 0)
    yield joined(number(compared.evidence, 2), "" if compared.evidence is None else meter(compared.evidence))
    keys = [documents[document_id].key for document_id, _ in compared.order[:ORDER_LABELS]]
    rest = len(compared.order) - ORDER_LABELS
    yield joined(*keys, f" and {rest:,} more" if rest > 0 else "" if keys else "–")
