"""Values, and a whole context, as plain data and back: for JSON, a cache, a queue, or the checkpoint of an agent.

Many parts of a context refer to one chunk, whose text is written once: `passages` has the chunks, and pieces and hits
have their numbers. Blocks have the numbers of their citations, and the text of a block is its span of the text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache
from types import MappingProxyType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ctxassembly.data.chunks import Chunk, Span
from ctxassembly.data.citations import Block, Citation, ContextData, check_labels
from ctxassembly.data.trace import Trace
from ctxassembly.errors import InputError
from ctxassembly.lazy import LateTuple
from ctxassembly.safe_repr import safe_repr, to_text
from ctxassembly.tokens.counter import is_encoding
from ctxassembly.wording.languages import language_of
from ctxassembly.wording.unicode import make_encodable

MAX_LEVELS = 50
"""Containers in containers that are written; "..." replaces what is deeper."""
_MAX_INTEGER = 2**63
"""Smallest integer that writers of JSON refuse."""
Special = Mapping[type, Callable[[Any], Any]]
"""What values of some types are written as, or read from."""
_NO_SPECIAL: Special = MappingProxyType({})


def to_plain(value: Any, special: Special = _NO_SPECIAL) -> Any:
    """Return a copy of `value` of dict, list, str, int, float, bool and None. Any other value becomes its `str`.

    So do floats that aren't finite and integers of more than 64 bits, which not every reader of JSON takes. A lone half
    of a surrogate pair can't be sent and becomes U+FFFD. A value that contains itself is cut.

    >>> to_plain({"pages": (1, 2), "score": float("inf")})
    {'pages': [1, 2], 'score': 'inf'}
    """
    kind: Any = type(value)
    if kind in _SCALARS:  # as nearly all of a trace is
        return _to_builtin(value)
    if kind in special:
        return special[kind](value)
    if kind in (tuple, LateTuple):
        return [to_plain(item, special) for item in value]
    if names := _field_names(kind):
        items = value if isinstance(value, tuple) else [getattr(value, name) for name in names]
        # Most fields of a decision are None, and a trace has a decision for each chunk.
        return {n: item if item is None else to_plain(item, special) for n, item in zip(names, items, strict=True)}
    return _to_builtin(value)


def _to_builtin(value: Any, levels: int = MAX_LEVELS) -> Any:
    """Return the same for any other value, cut below some levels: it may contain itself."""
    kind = type(value)
    if not levels:
        return "..."
    if kind is str:
        return value if value.isascii() else make_encodable(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if -_MAX_INTEGER <= value < _MAX_INTEGER else to_text(value) or safe_repr(value)
    if kind is float:
        return value if math.isfinite(value) else str(value)
    if issubclass(kind, (dict, MappingProxyType)):
        names = (_to_builtin(key) if type(key) is str else to_text(key) or "None" for key in value)
        return {name: _to_builtin(item, levels - 1) for name, item in zip(names, value.values(), strict=True)}
    if kind in (set, frozenset):
        value = sorted(value, key=safe_repr)  # the same in every run
    if kind in (list, tuple, set, frozenset):
        return [_to_builtin(item, levels - 1) for item in value]
    text = to_text(value)
    return safe_repr(value) if text is None else make_encodable(text)


_SCALARS = frozenset({str, int, float, bool, type(None)})


def trace_to_plain(trace: Trace) -> dict[str, Any]:
    """Return the trace as plain data, with its one-line summary and the tokens of the hits first."""
    return {"summary": trace.summary, "hit_tokens": trace.hit_tokens, **to_plain(trace)}


def from_plain(kind: Any, value: Any, special: Special = _NO_SPECIAL) -> Any:
    """Return the object of type `kind` from `to_plain(value)`. Each field has the type that it declares.

    A value that `to_plain` wrote as its `str` stays a string where the field takes one. A value that `to_plain` never
    writes may raise any error.

    >>> from_plain(tuple[int, ...], to_plain((1, 2)))
    (1, 2)
    """
    if kind in _SCALARS:
        return _scalar(kind, value)
    if kind is Any:
        return _to_builtin(value)
    if kind in special:
        return special[kind](value)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _first_matching(arguments, value, special)
    if origin is Literal:
        return arguments[arguments.index(value)]
    if origin is Mapping:
        return {
            from_plain(arguments[0], name): from_plain(arguments[1], item, special)
            for name, item in dict(value).items()
        }
    if names := _field_names(kind):
        values = zip(names, value, strict=True) if isinstance(value, (list, tuple)) else dict(value).items()
        return kind(**{name: from_plain(_hints(kind)[name], item, special) for name, item in values})
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"a list expected, got {type(value)}")
    many = origin in (Sequence, frozenset) or arguments[1:] == (...,)
    kinds = arguments[:1] * len(value) if many else arguments
    items = tuple(from_plain(one, item, special) for one, item in zip(kinds, value, strict=True))
    if kind == Span and not 0 <= items[0] <= items[1]:
        raise ValueError(f"a span expected, got {items}")
    return frozenset(items) if origin is frozenset else items


def _first_matching(kinds: Sequence[Any], value: Any, special: Special) -> Any:
    """Return `value` as the first of `kinds` that takes it.

    Raises:
        TypeError: none does.
    """
    for kind in sorted(kinds, key=lambda kind: kind is not type(value)):
        try:
            return from_plain(kind, value, special)
        except Exception:  # noqa: BLE001, S112 - it may be of the next kind
            continue
    raise TypeError(f"one of {kinds} expected, got {type(value)}")


def _scalar(kind: Any, value: Any) -> Any:
    """Return `value` if it is of `kind`. A whole number is a float, too, and so is text of one that isn't finite.

    Raises:
        TypeError: it is of another kind.
        ValueError: it is a text of no number, or a larger integer than `to_plain` writes.
    """
    if kind is float and type(value) in (int, float, str):
        return float(value)
    if type(value) is not kind:
        raise TypeError(f"{kind} expected, got {type(value)}")
    if kind is int and not -_MAX_INTEGER <= value < _MAX_INTEGER:
        raise ValueError("an integer of 64 bits expected")
    return value


@lru_cache(maxsize=256)
def _field_names(kind: Any) -> Sequence[str]:
    """Return the names of the fields of a dataclass or a named tuple; none for any other type."""
    if is_dataclass(kind):
        return [field.name for field in fields(kind)]
    names: Sequence[str] = getattr(kind, "_fields", ()) if tuple in getattr(kind, "__mro__", ()) else ()
    return names


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


_FIELDS = (
    "text",
    "token_count",
    "citations",
    "provenance",
    "trace",
    "query",
    "format",
    "language",
    "keys",
    "sanitized",
)
"""The fields of a context that are written as they are."""


def dump_context(context: ContextData) -> dict[str, Any]:
    """Return `context` as plain data, by the names of its fields, without vectors and counting function."""
    numbers: dict[tuple[Any, ...], int] = {}
    chunks: list[dict[str, Any]] = []
    labels = {id(citation): number for number, citation in enumerate(context.citations)}

    def chunk_number(chunk: Chunk) -> int:
        # Copies of a chunk share their metadata, so its identity is as good as its value, and faster.
        key = (chunk.id, chunk.document_id, chunk.text, chunk.index, chunk.start, chunk.origin, id(chunk.metadata))
        if key not in numbers:
            numbers[key] = len(chunks)
            chunks.append({name: to_plain(getattr(chunk, name)) for name in _field_names(Chunk) if name != "vector"})
        return numbers[key]

    special: Special = {
        Chunk: chunk_number,
        Block: lambda block: {"span": list(block.span), "citation": labels.get(id(block.citation))},
    }
    passages = to_plain(context.passages, special)
    return {
        **{name: to_plain(getattr(context, name)) for name in _FIELDS},
        "blocks": to_plain(context.blocks, special),
        "hits": to_plain(context.hits, special),
        "passages": {"chunks": chunks, "passages": passages},
        "encoding": context.encoding if isinstance(context.encoding, str) else None,
    }


def load_context(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the context that `dump_context` turned into `data`, by name.

    Raises:
        InputError: `data` doesn't come from `dump_context`.
    """
    try:
        return _load(data)
    except Exception:  # noqa: BLE001 - broken data can raise anything: OverflowError, RecursionError, errors of a mapping
        raise InputError(f"a context must be as Context.to_dict() gave it, got {safe_repr(data)}") from None


def _load(data: Mapping[str, Any]) -> dict[str, Any]:
    kinds = _hints(ContextData)
    loaded = {name: from_plain(kinds[name], data[name]) for name in _FIELDS}
    text: str = loaded["text"]
    citations: tuple[Citation, ...] = loaded["citations"]
    chunks = [from_plain(Chunk, chunk) for chunk in data["passages"]["chunks"]]

    def read_block(block: Mapping[str, Any]) -> Block:
        span, number = from_plain(Span, block["span"]), block["citation"]
        return Block(text[slice(*span)], span, None if number is None else _item_at(citations, number))

    special: Special = {Chunk: lambda number: _item_at(chunks, number), Block: read_block}
    loaded |= {name: from_plain(kinds[name], data[name], special) for name in ("blocks", "hits")}
    loaded["passages"] = from_plain(kinds["passages"], data["passages"]["passages"], special)
    loaded["encoding"] = encoding = from_plain(str | None, data["encoding"])
    # What is read later by a name has to be one.
    language_of(loaded["language"])
    if encoding is not None and not is_encoding(encoding):
        raise ValueError("an encoding of tiktoken's expected")
    if not all(passage.pieces for passage in loaded["passages"]):
        raise ValueError("a passage has a piece at least")
    sent_labels = [one.sent_as for one in loaded["trace"].decisions if one.sent_as is not None]
    check_labels((*(citation.label for citation in citations), *sent_labels))
    return loaded


def _item_at(items: Sequence[Any], index: Any) -> Any:
    """Return the item at `index`, which counts from 0.

    Raises:
        IndexError: there is none.
    """
    if type(index) is not int or index < 0:
        raise IndexError(index)
    return items[index]
