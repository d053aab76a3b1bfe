"""The settings of enrichment. A wrong value is an error at construction that names parameter, range and value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ctxassembly.config.retrieval import CONTENT_CATEGORIES
from ctxassembly.data.enrichment import LABEL_KEYS
from ctxassembly.data.validation import MAX_INTEGER, NonBlank, Range, check_fields
from ctxassembly.errors import ConfigError

MAX_SUMMARY_CHARS, MAX_CONTEXT_CHARS, MAX_QUESTION_CHARS = 600, 400, 200
"""What is longer is dropped: it would outweigh the text that it is to find."""
REPLY_TOKENS = 4_000
"""The most tokens of a reply: it bounds how many chunks a call takes."""
_CHARS_PER_TOKEN = 2
"""In a reply, at the least: 99 of 100 pieces of 400 characters have 2.7 and more, in English, Dutch and German."""
MAX_LABEL_CHARS = 100
"""The same for a category, a type, a place or a date."""
_LABEL_TOKENS = 30
"""Of a reply, for one of these, its name included."""
_OVERHEAD_TOKENS = 50
"""Of a reply, for the names of fields and punctuation: once, and once for each chunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnrichmentConfig:
    """The settings of `enrich`.

    >>> config = EnrichmentConfig(language="Dutch", questions=1)
    >>> config.max_reply_tokens(chunks=4), config.chunks_per_call
    (1840, 10)
    """

    language: Annotated[str, NonBlank()] | None = None
    """The language of the documents, in English ("Dutch"), in which the notes are to be written. None leaves it to the
    model to write in the language of each document."""
    summary: bool = True
    """True asks for a summary of each document, which a context shows once above its text."""
    questions: Annotated[int, Range(0, 5)] = 2
    """The most questions that are asked for of each chunk, 0 to 5. They are searched with it, and shown nowhere."""
    context: bool = True
    """True asks for a sentence that places each chunk in its document. It is searched, and shown nowhere."""
    categories: tuple[str, ...] = CONTENT_CATEGORIES
    """The kinds of content, of which each document gets one, as "category" in the metadata of its chunks: for
    `RetrievalConfig.affinity`, whose default knows these. () asks for none."""
    entity_types: tuple[str, ...] = ()
    """The types of things, such as the types of your taxonomy, of which each document gets the one that it is about, as
    "entity_type": boosts fire for it. () asks for none."""
    place: bool = True
    """True asks for the place that a document is about, as "place", in words that the document has."""
    date: bool = True
    """True asks for the date that a document states for itself, as "date" (2026-05-31), for a boost that decays by age:
    `Boost("recent", 1.2, half_life_days=365, date_key="date")`."""
    varying_keys: tuple[str, ...] = ()
    """Metadata keys whose values differ within a document, and say nothing of who may read it. Chunks that differ in
    another key, except the name of a place (`page`, `chunk_index`, `section`), are separate documents, as a tenant's
    are: the estimate names the keys that split documents."""
    concurrency: Annotated[int, Range(1, 64)] = 8  # half of the threads: each waits for the database and the model
    """The documents that are under way at the same time, 1 to 64."""

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("categories", "entity_types", "varying_keys"):
            value = getattr(self, name)
            if not isinstance(value, tuple) or not all(isinstance(one, str) and one.strip() for one in value):
                raise ConfigError(name, "a tuple of non-empty strings", value)
        if not (self.summary or self.context or self.questions or self.labels):
            raise ConfigError("summary, questions and context", "one of them at least", "none")

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that are asked for of a document, by their metadata keys."""
        asked = (self.categories, self.entity_types, self.place, self.date)
        return tuple(name for name, is_asked in zip(LABEL_KEYS, asked, strict=True) if is_asked)

    @property
    def chunks_per_call(self) -> int:
        """The most chunks of a call, so that its reply has room."""
        each = self._tokens_per_chunk
        return max(1, (REPLY_TOKENS - self.max_reply_tokens(0)) // each) if each else MAX_INTEGER

    def max_reply_tokens(self, chunks: int) -> int:
        """An upper bound of the tokens in the reply to a call with so many chunks."""
        summary = self.summary * MAX_SUMMARY_CHARS // _CHARS_PER_TOKEN
        return _OVERHEAD_TOKENS + summary + len(self.labels) * _LABEL_TOKENS + chunks * self._tokens_per_chunk

    @property
    def _tokens_per_chunk(self) -> int:
        characters = self.context * MAX_CONTEXT_CHARS + self.questions * MAX_QUESTION_CHARS
        return characters // _CHARS_PER_TOKEN + _OVERHEAD_TOKENS if characters else 0
