"""Answers kept under the question that was meant, for a cache of the caller's.

The key is the SHA-256 of these as JSON: the question as it was rewritten, in small letters and single blanks; the
intent, keywords, filter and sub-questions that the model gave; all that the call may read, as `reach` names it; the
mode; the settings of answers. So tenants may share a cache. The model isn't named: each needs a cache of its own. A
cache has to forget what the index no longer says.

An answer that was given in a conversation may speak of it, so it isn't kept. A question in a conversation finds a kept
answer only if a model has rewritten it as a standalone question, or has found that it is one.

Kept are the context and the model's words. Citations, quotes and quality are computed from them again.

The reach of a call is the filters that apply to it, and the places that they apply to, as plain data. A kept answer is
found again only by a call that may read the same. So its key has every filter, wherever it was given: with the call, in
a retriever, an index, a store, an assembler. If one can't be written as data, nothing is kept. An object that may hide
a filter is named by itself once the caller has said what it hides: two of them may search two places, under whatever
filter.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

from ctxassembly.config.answering import AnswerConfig
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.data.chunks import Hit
from ctxassembly.data.filters import MAX_LEVELS, check_levels, is_filter
from ctxassembly.data.retrieval import QueryUnderstanding
from ctxassembly.data.sanitize import sanitize_hit
from ctxassembly.errors import FilterNotSeenWarning
from ctxassembly.serialization import from_plain, to_plain
from ctxassembly.user_warnings import with_remedy

CACHE_FORMAT_VERSION = 2
"""Raised when what is kept changes its form, so that older entries are no longer found."""


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """What a cache keeps of an answer."""

    raw_text: str
    context: Context
    hits: tuple[Hit, ...]

    def dump_answer(self) -> str:
        """Return a cached answer as JSON."""
        hits = (sanitize_hit(hit, position) for position, hit in enumerate(self.hits))
        plain_hits = [to_plain(replace(hit, chunk=replace(hit.chunk, vector=None))) for hit in hits]
        return json.dumps({"written": self.raw_text, "context": self.context.to_dict(), "hits": plain_hits})

    @classmethod
    def load_answer(cls, text: str) -> CachedAnswer:
        """Return the entry that `dump_answer` wrote."""
        data = json.loads(text)
        hits = tuple(from_plain(Hit, hit) for hit in data["hits"])
        return cls(data["written"], Context.from_dict(data["context"]), hits)


def cache_key(
    question: str, mode: str, reach: Reach, understanding: QueryUnderstanding, config: AnswerConfig
) -> str | None:
    """Return the key of an answer; None if something that the call may read has no name."""
    if reach.hidden_reason is not None:
        return None
    effective_query = " ".join((understanding.rewritten or question).casefold().split())
    settings = {field.name: to_plain(getattr(config, field.name)) for field in fields(config)}
    inferred = [
        understanding.intent,
        to_plain(understanding.filter),
        understanding.keywords,
        understanding.sub_questions,
    ]
    key_data = [CACHE_FORMAT_VERSION, effective_query, inferred, reach.names, mode, settings]
    return sha256(json.dumps(key_data, sort_keys=True, default=str).encode()).hexdigest()


_SCALAR_TYPES = (str, int, float, bool, type(None))
_STRINGABLE_TYPES = (date, datetime, time, Decimal, UUID)


@dataclass(frozen=True, slots=True, eq=False)
class HiddenFilter:
    """An object that may filter in a way that can't be seen."""

    class_name: str
    """Its name in a warning."""
    thing: Any
    """The object that searches, or whatever else it does."""
    call: Any = None
    """Those parts of a call by which it may search elsewhere."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What one call may read."""

    names: Any = None
    """Every filter and place of the call, as plain data."""
    hidden_reason: str | None = None
    """The reason that nothing is kept; None if everything has a name."""

    def warning(self, call: str) -> FilterNotSeenWarning | None:
        """Return the warning if nothing can be cached; `call` is the line to write."""
        if self.hidden_reason is None:
            return None
        fact = f"Answers are not cached: {self.hidden_reason.rstrip('.')}"
        return FilterNotSeenWarning(with_remedy(fact, "The model is asked again for each question", call))


def reach(declared: Collection[str] = (), /, **facts: Any) -> Reach:
    """Return the reach of a call by its `facts`: filters, places, and `HiddenFilter` for objects that may filter.

    >>> reach(filter={"tenant": "a"}, index=("public", "chunks")).names
    {'filter': {'tenant': 'a'}, 'index': ['public', 'chunks']}
    >>> reach(filter=None, retriever=HiddenFilter("OwnRetriever", print)).hidden_reason
    "OwnRetriever may filter in a way that can't be seen."

    Args:
        declared: names of the facts whose hidden filters the caller has declared: the object that hides a filter then
            serves as its name.
        facts: each by its name. None means that there is none. With `neighbors="unfiltered"`, an object that may
            filter isn't a reason against caching, since this setting lets everybody read everything.

    Raises:
        ConfigError: a filter is nested too deep.
    """
    is_unfiltered = facts.get("neighbors") == "unfiltered"
    check_levels(facts, 2 * MAX_LEVELS)  # they contain filters, in a few levels of their own
    try:
        return Reach(
            {
                name: _to_plain_data(fact, is_unfiltered=is_unfiltered, is_declared=name in declared)
                for name, fact in facts.items()
                if is_filter(fact)
            }
        )
    except _UnnamedError as reason:
        return Reach(hidden_reason=str(reason))


class _UnnamedError(Exception):
    """A fact has no name; the message says why."""


def _to_plain_data(value: Any, *, is_unfiltered: bool, is_declared: bool, what: str = "a filter") -> Any:
    """Return `value` as plain data.

    A hidden object is named by its token if everybody may read everything, or if the caller has declared its filter. A
    function is named only if its filter is declared: otherwise it could be specific to the call.

    Raises:
        _UnnamedError: the value can't be distinguished from another one.
    """
    named = partial(_to_plain_data, is_unfiltered=is_unfiltered, is_declared=is_declared, what=what)
    if isinstance(value, HiddenFilter):
        if not (is_unfiltered or is_declared):
            raise _UnnamedError(f"{value.class_name} may filter in a way that can't be seen.")
        return [_token(value), named(value.call, what="an argument")]
    if isinstance(value, _SCALAR_TYPES):
        return value
    if isinstance(value, _STRINGABLE_TYPES):
        return {type(value).__name__: str(value)}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: named(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return [named(one) for one in value]
    if isinstance(value, AbstractSet):
        return sorted((named(one) for one in value), key=repr)
    # The filters of Qdrant and LlamaIndex are pydantic's models, which write themselves.
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return {type(value).__name__: named(value.model_dump(mode="json"))}
    if callable(value) and is_declared:
        return _token(HiddenFilter("a function", value))
    kind = "a function" if callable(value) else f"a {type(value).__name__}"
    raise _UnnamedError(f"{what} that is {kind} can't be compared with another one.")


def _token(hidden: HiddenFilter) -> Any:
    """Return the token of a hidden object whose call is checked.

    Raises:
        _UnnamedError: it has none.
    """
    check_levels(hidden.call, 2 * MAX_LEVELS)
    token = object_token(hidden.thing)
    if isinstance(token, HiddenFilter):
        raise _UnnamedError(f"{hidden.class_name} can't be distinguished from another one.")
    return token


_READ_METHODS = ("search", "asearch", "fetch", "afetch")
"""The methods by which chunks are read."""
_tokens: dict[int, tuple[Any, str]] = {}
"""By the `id` of an object a weak reference to it and its token, for as long as it lives."""


def reach_over(index: Any, filter: Any, assembly: AssemblyConfig, channels: Mapping[Any, Any], **facts: Any) -> Reach:
    """Return what a call with `filter` may read of `index`, of the named `channels` and of further `facts`."""
    return reach(
        filter=filter,
        index=index_identity(index),
        channels=dict(channels),
        neighbors=assembly.neighbors,
        **facts,
    )


def index_identity(index: Any) -> Any:
    """Return the name of an index or a store: its place and the filters that it applies.

    One whose class says neither by `place` nor by `under` may filter by itself; so may a class that searches otherwise
    than the one above it that says so.
    """
    if index is None:
        return None
    index_type = type(index)
    depth = min(_depth(index_type, name) for name in ("place", "with_filter"))
    if depth == len(index_type.__mro__) or any(_depth(index_type, name) < depth for name in _READ_METHODS):
        return HiddenFilter(index_type.__name__, index)
    return {"place": location_of(index), "filters": list(getattr(index, "filters", None) or ())}


def location_of(thing: Any) -> Any:
    """Return the `place` of an index or store, equal for two over the same chunks; for others a token.

    A token means the object itself, in this process: objects in memory have no other name.
    """
    return getattr(thing, "place", None) or object_token(thing)


def object_token(thing: Any) -> Any:
    """Return a token for an object, valid as long as it lives; hidden if its lifetime can't be observed."""
    object_id = id(thing)
    known = _tokens.get(object_id)
    if known is not None and known[0]() is thing:
        return known[1]
    try:
        entry = (weakref.ref(thing, lambda _: _tokens.pop(object_id, None)), uuid4().hex)
    except TypeError:
        return HiddenFilter(type(thing).__name__, thing)
    _tokens[object_id] = entry
    return entry[1]


def _depth(kind: type, method: str) -> int:
    """Return how far up the class hierarchy `method` is defined, 0 for `kind` itself; beyond all if nowhere."""
    found = [place for place, parent in enumerate(kind.__mro__) if method in vars(parent)]
    return found[0] if found else len(kind.__mro__)
