"""All that the package remembers from one assembly to the next is bounded, whatever it is given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ctxassembly
from ctxassembly.assembly.rendering import render
from ctxassembly.assembly.scoring import features
from ctxassembly.assembly.selection import repeated_sentences
from ctxassembly.data.chunks import section_of
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.tokens.counter import TokenCounter, counter_for
from scenario import ENCODING
from speed.caches import MIB, caches_table, grown, held, looks

pytestmark = pytest.mark.bench  # by themselves: what other tests have loaded is looked through, too

SMALL = 256 * 1024
"""Bytes of each cache of texts, in the place of 8 to 32 MB: they fill up in a hundred assemblies."""
BOUNDS = {
    "ctxassembly.assembly.scoring.features._CACHE": 2 * SMALL,
    "ctxassembly.assembly.selection.repeated_sentences._FINGERPRINTS": 2 * SMALL,
    "ctxassembly.assembly.rendering.render._REPLACEMENTS": 2 * SMALL,
    "ctxassembly.tokens.counter._tiktoken_counter": 6 * SMALL,
    "ctxassembly.data.chunks._is_section_key": 2 * MIB,
    "ctxassembly.text.words._patterns": MIB // 10,
    "ctxassembly.wording.lookalikes._table": MIB // 4,
}
"""Bytes that each name may hold for assemblies."""
LIMITS = Path(__file__).parents[2] / "docs" / "limits.md"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> TokenCounter:
    counter = counter_for(ENCODING)
    caches = [features._CACHE, repeated_sentences._FINGERPRINTS, render._REPLACEMENTS]
    for cache in (*caches, counter._counts, counter._measures, counter._lower_bounds):
        cache.clear()
        monkeypatch.setattr(cache, "_generation_bytes", SMALL // 2)
    return counter


def test_ever_new_texts_and_keys_fill_what_is_bounded_and_nothing_else(small: TokenCounter) -> None:
    first, *others = looks((400, 1_200), lambda: None).values()
    for look in others:
        more = grown(look, first)
        assert more.keys() <= BOUNDS.keys(), "tell of it in docs/limits.md, with its bound"
        assert {name: size for name, size in more.items() if size > BOUNDS[name]} == {}
    assert small._counts._old, "it has been full"
    assert small._measures._old


def test_long_names_are_not_remembered() -> None:
    def remembered() -> int:
        return held()["ctxassembly.data.chunks._is_section_key"]

    before = remembered()
    for number in range(20):
        section_of({f"{number}" + "x" * 1_000_000: "a"}, MetadataKeys())
    assert remembered() == before
    for number in range(10_000):
        section_of({f"{number}".rjust(40, "x"): "a"}, MetadataKeys())
    assert remembered() - before < 2 * MIB


def test_each_cache_stands_in_the_table_with_its_bound() -> None:
    source = Path(ctxassembly.__file__).parent
    makes = re.compile(r"^ *@(lru_)?cache\b|\blru_cache\(|\bTextCache\[.*\]\(", re.MULTILINE)
    named = LIMITS.read_text(encoding="utf-8")
    files = [file for file in source.rglob("*.py") if makes.search(file.read_text(encoding="utf-8"))]
    modules = {".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__") for file in files}
    beside = {"tokens.cache", "assembly.selection.shorten"}  # what others use; and one that ends with its call
    assert "tokens.counter" in modules
    assert {module for module in modules - beside if f"`{module}`" not in named} == set()


def test_the_table_has_a_row_for_the_process_and_for_what_grew() -> None:
    calls: list[None] = []
    head, _, process, *rows = caches_table((5, 40), lambda: calls.append(None))
    assert head == "| MiB after | 5 | 40 |\n"
    assert process.startswith("| the process (RSS) | ")
    assert any("tokens.counter._tiktoken_counter" in row for row in rows)
    assert len(calls) == 40
