"""An answer's parts as dicts and lists of builtins, for the outputs, metadata and events of adapters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ctxassembly.adapting.told import Told
from ctxassembly.chain.answer import Answer

_BESIDE = ("question", "answer", "citations", "quotes", "context")
"""Parts that an output has beside its trace."""


def parts_of(answer: Answer, told: Told | None) -> dict[str, Any]:
    """`citations` and `quotes` of an answer, and the `trace` of all that led to it; `told` is its context, if any.

    The trace has the understanding, the steps with their times and tokens, the quality, the searches, and in
    `assembly` the decision on each chunk.
    """
    plain = replace(answer, context=None).to_dict()  # of the context the trace is enough, and the rest is long
    trace = {name: value for name, value in plain.items() if name not in _BESIDE}
    assembly = told.trace if told else None
    return {"citations": plain["citations"], "quotes": plain["quotes"], "trace": {**trace, "assembly": assembly}}
