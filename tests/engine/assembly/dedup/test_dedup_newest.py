"""`prefer_version="newest"`: of two versions the newer one stays, in the better one's place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders import cited, decision, hits_of, lettered, standing, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MetadataKeys, assemble

NEWEST = AssemblyConfig(dedup="near", prefer_version="newest")
TEXT = lettered(60)


def version(name: str, updated_at: Any, changed: int = 0, **more: Any) -> Chunk:
    """A text of 60 words, `changed` of them its own. Two versions are near if they differ in up to 3 words."""
    edited = {n * 11 for n in range(changed)}
    text = " ".join(f"{name}{word}" if n in edited else word for n, word in enumerate(TEXT.split()))
    return Chunk(name, name, text, metadata={"updated_at": updated_at}, **more)


OLD, NEW = version("old", "2023-01-01"), version("new", "2024-01-01", 1)
OTHER = words_of("O", 1)


def newest(*chunks: Chunk, **options: Any) -> Context:
    return assemble(hits_of(chunks), replace(NEWEST, **options))


def test_the_newer_version_stands_in_the_better_ones_place():
    context = assemble([Hit(OLD, 0.9), Hit(OTHER, 0.8), Hit(NEW, 0.7)], NEWEST)
    assert cited(context) == [("1", ("new",)), ("2", ("O1",))]
    assert context.citations[0].score == 0.9
    dropped = decision(context, "old")
    assert (dropped.outcome, dropped.reason, dropped.because_of) == ("duplicate", "near duplicate", "new")


def test_a_newer_version_may_state_other_facts():
    """That is what makes it a version. Without the dates to tell, both are kept."""
    old = replace(OLD, text=f"{OLD.text} Wait 2 hours.")
    new = replace(NEW, text=f"{NEW.text} Wait 3 hours.")
    assert standing(newest(old, new)) == ["new"]
    assert standing(newest(old, replace(new, metadata={}))) == ["old", "new"]
    assert standing(newest(old, new, prefer_version="score")) == ["old", "new"]


@pytest.mark.parametrize(
    ("rule", "first", "second", "stays"),
    [
        ("the newer, ranked first", "2024-01-01", "2023-01-01", "a"),
        ("the newer, ranked second", "2023-01-01", "2024-01-01", "b"),
        ("dates in two forms", "2023-01-01", 1_717_171_717, "b"),
        ("equally old: the better-ranked", "2024-01-01", "2024-01-01T00:00Z", "a"),
        ("no date: the better-ranked", None, "2024-01-01", "a"),
        ("no date: the better-ranked", "2023-01-01", None, "a"),
        ("an unreadable date is none", "soon", "2024-01-01", "a"),
    ],
)
@pytest.mark.parametrize("text", [TEXT, f"Please note: {TEXT}."])
def test_which_one_stays(rule: str, first: Any, second: Any, stays: str, text: str):
    """Exact copies and near duplicates alike."""
    assert standing(newest(version("a", first), replace(version("b", second), text=text))) == [stays]


def test_the_key_of_the_date_can_be_set():
    chunks = [
        Chunk(name, name, TEXT, metadata={"mtime": year}) for name, year in (("a", "2023-01-01"), ("b", "2024-01-01"))
    ]
    assert standing(newest(*chunks)) == ["a"]
    assert standing(newest(*chunks, keys=MetadataKeys(updated_at="mtime"))) == ["b"]


def test_semantic_versions_too():
    chunks = [
        Chunk("old", "A", "6 hours.", vector=(1, 0), metadata={"updated_at": "2023-01-01"}),
        Chunk("new", "B", "Wait 6 hours at least.", vector=(1, 0), metadata={"updated_at": "2024-01-01"}),
    ]
    context = newest(*chunks, dedup="semantic")
    assert standing(context) == ["new"]
    assert decision(context, "old").reason == "semantic duplicate"
