"""The settings of enrichment. A wrong value is an error at construction that names parameter, range and value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ctxassembly.config.documented import DocumentedConfig
from ctxassembly.data.validation import MAX_INTEGER, check_int, check_number
from ctxassembly.errors import ConfigError

MAX_QUESTIONS = 5
MAX_CONCURRENCY = 64
"""Half of the threads that there are, since each of them waits for others: of the database, and of the model."""
MAX_SUMMARY_CHARS, MAX_CONTEXT_CHARS, MAX_QUESTION_CHARS = 600, 400, 200
"""What is longer is dropped: it would outweigh the text that it is to find."""
_CHARS_PER_TOKEN = 2
"""In a reply, at the least: 99 of 100 pieces of 400 characters have 2.7 and more, in English, Dutch and German."""
_OVERHEAD_TOKENS = 50
"""Of a reply, for the names of fields and punctuation: once, and once for each chunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnrichmentConfig(metaclass=DocumentedConfig):
    """The settings of `enrich`.

    >>> config = EnrichmentConfig(language="Dutch", questions=1)
    >>> config.max_reply_tokens(chunks=4), config.chunks_per_call
    (1750, 10)
    """

    language: str | None = None
    """The language of the documents, in English ("Dutch"), in which the notes are to be written. None leaves it to the
    model to write in the language of each document."""
    summary: bool = True
    """True asks for a summary of each document, which a context shows once above its text."""
    questions: int = 2
    """The most questions that are asked for of each chunk, 0 to 5. They are searched with it, and shown nowhere."""
    context: bool = True
    """True asks for a sentence that places each chunk in its document. It is searched, and shown nowhere."""
    call_tokens: int = 6_000
    """The most tokens of text in one call. A longer document takes several, one after the other, and each gets the
    summary so far. A single chunk beyond it has a call of its own."""
    reply_tokens: int = 4_000
    """The most tokens of a reply, from 1,000: it bounds how many chunks a call takes."""
    encoding: str | Callable[[str], int] = "cl100k_base"
    """The tokenizer that counts, by name or as a function, as in `AssemblyConfig`."""
    timeout_seconds: float = 120.0
    """The time for each call, above 0."""
    concurrency: int = 8
    """The documents that are under way at the same time, 1 to 64."""
    max_failures: int = 10
    """The number of documents, from 1, that end the run when they fail one after the other. One failure may be the
    document's; ten in a row are the model's, or the key's."""

    def __post_init__(self) -> None:
        if self.language is not None and (not isinstance(self.language, str) or not self.language.strip()):
            raise ConfigError("language", "a non-empty string or None", self.language)
        for name in ("summary", "context"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(name, "True or False", getattr(self, name))
        check_int("questions", self.questions, 0, MAX_QUESTIONS)
        if not (self.summary or self.context or self.questions):
            raise ConfigError("summary, questions and context", "one of them at least", "none")
        if not (callable(self.encoding) or (isinstance(self.encoding, str) and self.encoding)):
            raise ConfigError("encoding", "the name of an encoding, or a function", self.encoding)
        check_int("call_tokens", self.call_tokens, 100)
        check_int("reply_tokens", self.reply_tokens, 1_000)
        check_number("timeout_seconds", self.timeout_seconds, above=0)
        check_int("concurrency", self.concurrency, 1, MAX_CONCURRENCY)
        check_int("max_failures", self.max_failures, 1)

    @property
    def chunks_per_call(self) -> int:
        """The most chunks of a call, so that its reply has room."""
        each = self._tokens_per_chunk
        return max(1, (self.reply_tokens - self.max_reply_tokens(0)) // each) if each else MAX_INTEGER

    def max_reply_tokens(self, chunks: int) -> int:
        """An upper bound of the tokens in the reply to a call with so many chunks."""
        return _OVERHEAD_TOKENS + self.summary * MAX_SUMMARY_CHARS // _CHARS_PER_TOKEN + chunks * self._tokens_per_chunk

    @property
    def _tokens_per_chunk(self) -> int:
        characters = self.context * MAX_CONTEXT_CHARS + self.questions * MAX_QUESTION_CHARS
        return characters // _CHARS_PER_TOKEN + _OVERHEAD_TOKENS if characters else 0
