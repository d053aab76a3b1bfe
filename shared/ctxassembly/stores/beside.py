"""Neighbours by offset from a Postgres table, found by the database, so that no document is read whole.

The statement numbers the rows of the documents in question by page and offset, finds the rows at the offsets asked for,
and returns the ids of the rows next to them.
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
"""A whole number in JSON, which keeps it as it was written: 7 or 7.0."""


class Form(NamedTuple):
    """The metadata that name the part of a document in which an offset counts."""

    page: str | None
    """The key of the page's number; None if pages don't follow each other."""
    names: tuple[str, ...]
    """Without `page`, the keys whose values all chunks of the page or section share."""


def asked_beside(refs: Sequence[ChunkRef]) -> tuple[tuple[Form, ...], dict[str, Any]]:
    """The forms in which `refs` ask for neighbours by offset, and the values to bind; both empty if none does."""
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
    """The columns of a table that place its chunks by offset, all as text."""

    id: ColumnElement[Any]
    document_id: ColumnElement[Any]
    start: ColumnElement[Any]
    named: Callable[[str], ColumnElement[Any]]
    rows: Select[Any]
    name: str = "spots"
    """Name of the numbered rows in the statement."""

    def documents(self, at: int, form: Form) -> str:
        """The parameter with the documents of the form at index `at`."""
        return _parameters(at, form)[0]

    def beside(self, at: int, form: Form) -> Select[Any]:
        """A statement for the ids of the rows within `beside` rows of those that the parameters of a form name.

        The named rows are among them. The form is the one at index `at`.
        """
        start, page = _number(self.start), None if form.page is None else _number(self.named(form.page))
        # Rows with the same values in `shared` are numbered together, in the order of `own`: page, then offset.
        shared = {"document": self.document_id, **{f"part_{n}": self.named(name) for n, name in enumerate(form.names)}}
        own = {"start": start} | ({} if page is None else {"page": page})
        place = func.row_number().over(partition_by=list(shared.values()), order_by=[*reversed(own.values())])
        numbered = (
            self.rows.with_only_columns(
                self.id.label("id"),
                *(column.label(name) for name, column in {**shared, **own}.items()),
                place.label("place"),
            )
            .where(self.document_id == any_(cast(bindparam(self.documents(at, form)), ARRAY(Text))), start.is_not(None))
            .cte(f"{self.name}_{at}")
        )
        # `one` is a row at an offset asked for, `two` a row near it.
        one, two = (numbered.alias(f"{self.name}_{at}_{which}") for which in ("one", "two"))
        asked = _asked(at, form)
        reach = bindparam("beside", type_=BigInteger)
        named = and_(*(one.c[name] == asked.c[name] for name in (*shared, *own)))
        near = two.c.place.between(one.c.place - reach, one.c.place + reach)
        same = and_(*(two.c[name] == one.c[name] for name in shared), near)
        return select(two.c.id).select_from(asked.join(one, named).join(two, same)).distinct()


def _parameters(at: int, form: Form) -> list[str]:
    """The parameters of the form at index `at`, arrays in the order in which `asked_beside` fills them."""
    return [f"beside_{at}_{name}" for name in ("document", "start", *_last(form))]


def _last(form: Form) -> list[str]:
    """The names of the parameters after document and offset: the page, or one for each key of the part."""
    return [f"part_{n}" for n in range(len(form.names))] if form.page is None else ["page"]


def _asked(at: int, form: Form) -> Any:
    """The table `asked`, with a row for each offset asked for."""
    names = ["document", "start", *_last(form)]
    arrays = [
        cast(bindparam(parameter), ARRAY(BigInteger if name in ("start", "page") else Text))
        for parameter, name in zip(_parameters(at, form), names, strict=True)
    ]
    return func.unnest(*arrays).table_valued(*names).render_derived(name=f"asked_{at}")


def _number(text: ColumnElement[Any]) -> ColumnElement[Any]:
    """The whole number that a text is; NULL if it is none. Postgres would raise at a cast, and lose the statement."""
    return case((text.regexp_match(_NUMBER), cast(cast(text, Numeric), BigInteger)))
