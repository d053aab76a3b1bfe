"""The chunks of a Postgres table that stand next to an offset, told by the database: no document is read whole.

The rows of the documents in question are numbered there, by page and offset, and only those beside the ones that were
named come back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Numeric, Select, Text, and_, any_, bindparam, case, cast, func, select
from sqlalchemy.dialects.postgresql import ARRAY

from ctxassembly.data.chunks import ChunkRef

_NUMBER = r"^[0-9]{1,15}(\.0+)?$"
"""JSON keeps a number as it was written: 7 or 7.0."""


class Form(NamedTuple):
    """What says where an offset counts."""

    page: str | None
    """The name under which metadata have the page's number."""
    names: tuple[str, ...]
    """Without one the names of what all chunks of the page or section share."""


def asked_beside(refs: Sequence[ChunkRef]) -> tuple[tuple[Form, ...], dict[str, Any]]:
    """The forms in which `refs` ask for chunks beside offsets, and the values to bind; empty if none does."""
    rows: dict[Form, list[list[Any]]] = defaultdict(list)
    each_side = 0
    for ref in refs:
        if ref.beside is None:
            continue
        start, wanted, part, page, _ = ref.beside
        named = dict(part)
        names = () if page is not None else tuple(named)
        each_side = max(each_side, wanted)
        place = [int(float(named[page]))] if page is not None else [str(named[name]) for name in names]
        rows[Form(page, names)].append([ref.document_id, start, *place])
    bound: dict[str, Any] = {"beside": each_side} if rows else {}
    for at, (form, asked) in enumerate(rows.items()):
        bound |= zip(_parameters(at, form), map(list, zip(*asked, strict=True)), strict=True)
    return tuple(rows), bound


@dataclass(frozen=True)
class Spots:
    """Where a table says of its chunks where they begin; all of it as text."""

    id: ColumnElement[Any]
    document_id: ColumnElement[Any]
    start: ColumnElement[Any]
    named: Callable[[str], ColumnElement[Any]]
    rows: Select[Any]
    name: str = "spots"
    """Of what is numbered, in the statement."""

    def documents(self, at: int, form: Form) -> str:
        """The name of the parameter with the documents of the form at place `at`."""
        return _parameters(at, form)[0]

    def beside(self, at: int, form: Form) -> Select[Any]:
        """The ids of the chunks beside what the parameters of the form at place `at` say, within `beside` rows."""
        start, page = _number(self.start), None if form.page is None else _number(self.named(form.page))
        shared = {"document": self.document_id, **{f"part_{n}": self.named(each) for n, each in enumerate(form.names)}}
        own = {"start": start} | ({} if page is None else {"page": page})
        place = func.row_number().over(partition_by=list(shared.values()), order_by=[*reversed(own.values())])
        numbered = (
            self.rows.with_only_columns(
                self.id.label("id"),
                *(each.label(name) for name, each in {**shared, **own}.items()),
                place.label("place"),
            )
            .where(self.document_id == any_(cast(bindparam(self.documents(at, form)), ARRAY(Text))), start.is_not(None))
            .cte(f"{self.name}_{at}")
        )
        one, two = (numbered.alias(f"{self.name}_{at}_{each}") for each in ("one", "two"))
        asked = _asked(at, form)
        reach = bindparam("beside", type_=BigInteger)
        named = and_(*(one.c[name] == asked.c[name] for name in (*shared, *own)))
        near = two.c.place.between(one.c.place - reach, one.c.place + reach)
        same = and_(*(two.c[name] == one.c[name] for name in shared), near, two.c.place != one.c.place)
        return select(two.c.id).select_from(asked.join(one, named).join(two, same)).distinct()


def _parameters(at: int, form: Form) -> list[str]:
    """The names of the arrays of one form, in the order in which `asked_beside` fills them."""
    return [f"beside_{at}_{name}" for name in ("document", "start", *_last(form))]


def _last(form: Form) -> list[str]:
    return [f"part_{n}" for n in range(len(form.names))] if form.page is None else ["page"]


def _asked(at: int, form: Form) -> Any:
    """The table of what is asked for, with a row for each offset."""
    names = ["document", "start", *_last(form)]
    arrays = [
        cast(bindparam(parameter), ARRAY(BigInteger if name in ("start", "page") else Text))
        for parameter, name in zip(_parameters(at, form), names, strict=True)
    ]
    return func.unnest(*arrays).table_valued(*names).render_derived(name=f"asked_{at}")


def _number(text: ColumnElement[Any]) -> ColumnElement[Any]:
    return case((text.regexp_match(_NUMBER), cast(cast(text, Numeric), BigInteger)))
