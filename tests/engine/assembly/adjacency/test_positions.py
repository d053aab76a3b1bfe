"""Where chunks without an index stand, and which of them lie in each other."""

from __future__ import annotations

from dataclasses import replace

from builders import decision, hits_of, numbered, split, standing
from ctxassembly import AssemblyConfig, assemble

TEXT = numbered("w", 400)
PLAIN = split("D", TEXT, size=200, overlap=40, indexed=False)


def test_what_lies_in_a_larger_chunk_is_dropped_and_traced():
    whole = split("D", TEXT, size=len(TEXT), indexed=False)[0]
    inner = replace(PLAIN[3], id="inner")
    context = assemble(hits_of([inner, whole], 0.9, 0.2), AssemblyConfig(dedup="none"))
    assert standing(context) == [whole.id]
    assert decision(context, "inner").outcome == decision(context, "inner").reason == "contained"
    assert decision(context, "inner").because_of == whole.id
    assert context.citations[0].score == 0.9
