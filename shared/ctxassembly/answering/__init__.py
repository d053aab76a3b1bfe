"""From a question in a conversation to an answer with its citations, as one generator.

The public types of answer chains are here; each is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxassembly.lazy import lazy_names

if TYPE_CHECKING:
    from ctxassembly.answering.answer import Answer, AnswerPiece, AnswerStep, Quality, TokenUsage, total_usage
    from ctxassembly.answering.requests import AskModel, Exchange, ModelReply
    from ctxassembly.config.answering import AnswerConfig, Intent, Mode
    from ctxassembly.data.retrieval import QueryUnderstanding

    __all__ = [
        "Answer",
        "AnswerConfig",
        "AnswerPiece",
        "AnswerStep",
        "AskModel",
        "Exchange",
        "Intent",
        "Mode",
        "ModelReply",
        "Quality",
        "QueryUnderstanding",
        "TokenUsage",
        "total_usage",
    ]
else:
    _HOMES = {
        "ctxassembly.answering.answer": "Answer AnswerPiece AnswerStep Quality TokenUsage total_usage",
        "ctxassembly.answering.requests": "AskModel Exchange ModelReply",
        "ctxassembly.config.answering": "AnswerConfig Intent Mode",
        "ctxassembly.data.retrieval": "QueryUnderstanding",
    }
    __all__, __getattr__, __dir__ = lazy_names(__name__, _HOMES)
