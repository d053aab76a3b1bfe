"""Answers kept under the question that was meant, for a cache of the caller's.

The key is the SHA-256 of these as JSON: the question as it was rewritten, in small letters and single blanks; the
intent, keywords, filter and sub-questions that the model gave; all that the call may read, as `reach` names it; the
mode; the settings of answers. So tenants may share a cache. The model isn't named: each needs a cache of its own. A
cache has to forget what the index no longer says.

An answer that was given in a conversation may speak of it, so it isn't kept. A question in a conversation finds a kept
answer only if a model has rewritten it as a standalone question, or has found that it is one.

Kept are the context and the model's words. Citations, quotes and quality are computed from them again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from hashlib import sha256

from ctxassembly.answering.call import AnswerCall
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.context import Context
from ctxassembly.data.chunks import Hit
from ctxassembly.data.retrieval import QueryUnderstanding
from ctxassembly.data.sanitize import sanitize_hit
from ctxassembly.serialization.plain import from_plain, to_plain

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


def cache_key(call: AnswerCall, understanding: QueryUnderstanding, config: AnswerConfig) -> str | None:
    """Return the key of an answer; None without a cache, or if something that the call may read has no name."""
    if call.reach is None or call.reach.hidden_reason is not None:
        return None
    effective_query = " ".join((understanding.rewritten or call.question).casefold().split())
    settings = {field.name: to_plain(getattr(config, field.name)) for field in fields(config)}
    inferred = [
        understanding.intent,
        to_plain(understanding.filter),
        understanding.keywords,
        understanding.sub_questions,
    ]
    key_data = [CACHE_FORMAT_VERSION, effective_query, inferred, call.reach.names, call.mode, settings]
    return sha256(json.dumps(key_data, sort_keys=True, default=str).encode()).hexdigest()
