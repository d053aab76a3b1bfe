from __future__ import annotations

import datetime as dt
import json
from types import MappingProxyType
from typing import Any

import pytest

from builders import words_of
from ctxassembly import Chunk, Hit, MemoryStore, assemble
from ctxassembly.serialization import to_plain, trace_to_plain


@pytest.mark.parametrize(
    ("rule", "value", "copy"),
    [
        ("builtins stay", [None, True, 1, 0.5, "a"], [None, True, 1, 0.5, "a"]),
        ("tuples and sets are lists", ((1, 2), {3}), [[1, 2], [3]]),
        ("keys are strings", {1: {"a": (2,)}}, {"1": {"a": [2]}}),
        ("any mapping", MappingProxyType({"a": 1}), {"a": 1}),
        ("anything else stands as its str", dt.date(2024, 1, 2), "2024-01-02"),
        ("a class is no instance", Chunk, str(Chunk)),
    ],
)
def test_plain(rule: str, value: Any, copy: Any):
    assert to_plain(value) == copy


CHUNKS = [words_of("A", n, metadata={"page": n, "when": dt.date(2024, 1, 2)}) for n in range(9)]
CONTEXT = assemble([Hit(CHUNKS[5], 0.9), Hit(CHUNKS[1])], store=MemoryStore(CHUNKS))


def test_a_trace_survives_json():
    trace = trace_to_plain(CONTEXT.trace)
    assert json.loads(json.dumps(trace)) == trace
    assert next(iter(trace)) == "summary"
    assert trace["summary"] == CONTEXT.trace.summary
    assert trace["decisions"][0]["chunk_id"] == "A5"
