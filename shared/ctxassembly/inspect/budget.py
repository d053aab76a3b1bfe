"""The budget as a bar: tokens by document and purpose, tokens that are free, and tokens that had no room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ctxassembly.data.citations import Assembled
from ctxassembly.data.trace import Trace
from ctxassembly.inspect.documents import Names
from ctxassembly.inspect.limits import DOCUMENTS
from ctxassembly.inspect.markup import Html, joined, tag
from ctxassembly.inspect.tables import number, share
from ctxassembly.inspect.tally import Spent, spent
from ctxassembly.safe_repr import counted

LEAST_LETTERED = 0.03
"""Share of the bar from which a part shows its letter; the list below the bar has all letters."""


class _Part(NamedTuple):
    name: str
    amount: int
    key: str = ""
    look: str = ""


def budget(context: Assembled, names: Names) -> Html:
    """The bar, and below it the list of its parts with their numbers."""
    spending = spent(context)
    parts = list(_parts(spending, names))
    room = max(spending.total + spending.free, 1)
    spans = [
        tag(
            "span",
            part.key if part.amount / room >= LEAST_LETTERED else "",
            class_=part.look or None,
            style=f"width:{part.amount / room:.3%}",
            title=part.name,
        )
        for part in parts
        if part.amount > 0
    ]
    said = f"{spending.total:,} {spending.unit}" + (f" of {room:,}" if spending.unit == "tokens" else "")
    bar = tag("div", *spans, class_="cxa-bar", role="img", aria_label=f"{said}; the list below has the parts")
    items = [
        tag(
            "li",
            tag("span", part.key, class_=f"cxa-key {part.look}".rstrip(), aria_hidden="true") if part.key else "",
            f" {part.name} ",
            tag("b", number(part.amount)),
            f" {share(part.amount, room)}",
        )
        for part in parts
    ]
    legend = tag("ul", *items, class_="cxa-legend", aria_label=f"What the {spending.unit} went to")
    return joined(bar, legend, _over(context.trace, room) if spending.unit == "tokens" else "")


def _over(trace: Trace, room: int) -> Html:
    """A bar for the chunks left out, on the scale of the budget and at most as long, with their cost in words."""
    if not trace.left_out:
        return Html()
    cost = trace.left_out_tokens
    chunks = counted(len(trace.left_out), "chunk")
    said = f"Left out: {chunks}, which would have cost {counted(cost, 'token')}, {_beside(cost, room)} the budget"
    bar = tag("span", class_="cxa-over", style=f"width:{min(cost / room, 1):.1%}")
    return tag("p", bar, said, class_="cxa-soft")


def _beside(cost: int, room: int) -> str:
    return f"{share(cost, room)} of" if cost < 2 * room else f"{cost / room:,.0f} times"


def _parts(spending: Spent, names: Names) -> Iterator[_Part]:
    ranked = sorted(spending.documents.items(), key=lambda entry: -entry[1])
    large = dict(ranked[:DOCUMENTS])
    for document_id, amount in spending.documents.items():
        if document_id in large:
            document = names.document(document_id)
            yield _Part(document.name, amount, document.letter, document.look)
    if rest := ranked[DOCUMENTS:]:
        yield _Part(f"{len(rest):,} more documents", sum(amount for _, amount in rest), "+")
    yield _Part("headers", spending.headers, "h")
    for name, amount, key in (
        ("page summaries", spending.summaries, "s"),
        ("supplement", spending.supplement, "x"),
        ("where parts meet", spending.joints, ""),
    ):
        if amount:
            yield _Part(name, amount, key)
    if spending.unit == "tokens":
        yield _Part("free", spending.free, "", "cxa-free")
