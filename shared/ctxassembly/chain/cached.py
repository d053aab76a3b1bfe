"""Answers kept under the question that was meant, for a cache of the caller's.

The key is the SHA-256 of these as JSON: the question as it was rewritten, in small letters and single blanks; the
intent, keywords, filter and sub-questions that the model gave; the caller's filter; the mode; the settings of answers.
So tenants may share a cache if their filters differ. Neither the index nor the model is named: each pair of them needs
a cache of its own, which has to forget what the index no longer says.

Kept are the context and the model's words. Citations, quotes and quality are read from these anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from typing import Any

from ctxassembly.chain.call import Call
from ctxassembly.context import Context
from ctxassembly.data.chunks import Hit
from ctxassembly.data.understood import Understanding
from ctxassembly.saving.plain import plain, revived
from ctxassembly.settings.answering import AnswerConfig

FORMAT = 1
"""Raised when what is kept changes its form, so that older entries are no longer found."""
_SCALARS = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True)
class Kept:
    """What a cache keeps of an answer."""

    written: str
    context: Context
    hits: tuple[Hit, ...]

    def dumped(self) -> str:
        """The same as JSON."""
        hits = [plain(replace(hit, chunk=replace(hit.chunk, vector=None))) for hit in self.hits]
        return json.dumps({"written": self.written, "context": self.context.to_dict(), "hits": hits})

    @classmethod
    def loaded(cls, text: str) -> Kept:
        """The entry that `dumped` gave."""
        data = json.loads(text)
        hits = tuple(revived(Hit, hit) for hit in data["hits"])
        return cls(data["written"], Context.from_dict(data["context"]), hits)


def key_of(call: Call, understood: Understanding, config: AnswerConfig) -> str | None:
    """The key of an answer; None if the filter is no plain data, so that two of them can't be told apart."""
    if not _is_plain(call.filter):
        return None
    meant = " ".join((understood.rewritten or call.question).casefold().split())
    settings = {field.name: plain(getattr(config, field.name)) for field in fields(config)}
    inferred = [understood.intent, plain(understood.filter), understood.keywords, understood.sub_questions]
    named = [FORMAT, meant, inferred, call.filter, call.mode, settings]
    return sha256(json.dumps(named, sort_keys=True, default=str).encode()).hexdigest()


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(one) for key, one in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return isinstance(value, _SCALARS)
