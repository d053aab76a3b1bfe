"""A question as a model understood it: its intent, in words that stand alone, in parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Understanding:
    """A question as a model understood it. What wasn't asked for, or came malformed, has its default.

    >>> from ctxassembly import AnswerConfig, Exchange, understand
    >>> def model(request):
    ...     return '{"question": "May I eat before a gastroscopy?"}'
    >>> history = [Exchange("May I drink before a gastroscopy?", "Until two hours before [1].")]
    >>> understand("And eat?", AnswerConfig(), model=model, history=history).rewritten
    'May I eat before a gastroscopy?'
    """

    intent: str | None = None
    confidence: float | None = None
    """The model's own for the intent, 0 to 1, even where the default label took its place."""
    rewritten: str | None = None
    """The question in words that stand alone, in the language of the corpus; None if it does so as it is."""
    keywords: tuple[str, ...] = ()
    """Short queries for keyword search."""
    filter: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Conditions on declared metadata fields, which narrow the caller's filter."""
    sub_questions: tuple[str, ...] = ()
    """Questions with evidence of their own; empty for one that needs a single piece."""
    notes: tuple[str, ...] = ()
    """Fallbacks taken."""
