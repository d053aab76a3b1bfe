"""What the site lists is all that there is: every setting with its range and default, every reason for a loss."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import MISSING, fields
from types import ModuleType
from typing import get_args

import pytest

from ctxassembly import AssemblyConfig, MetadataKeys, RetrievalConfig, TokenBudget
from ctxassembly.answering import AnswerConfig, Intent, Mode
from ctxassembly.data.candidates import Reason, Shortening
from ctxassembly.data.retrieval import StepName
from ctxassembly.enrichment import EnrichmentConfig
from ctxassembly.retrieval import Boost
from site_pages import FOLDER

SETTINGS = (AnswerConfig, AssemblyConfig, Boost, EnrichmentConfig, Intent, Mode, RetrievalConfig)
LOSES_NOTHING = {"resolve", "boost", "rerank", "affinity"}
"""Steps of retrieval that move chunks, and keep all."""


def hook(name: str) -> ModuleType:
    """A hook of the site, loaded as MkDocs loads it."""
    spec = importlib.util.spec_from_file_location(f"hook_{name}", FOLDER / "hooks" / f"{name}.py")
    assert spec
    assert spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture(scope="module")
def settings_page() -> str:
    return str(hook("settings").on_page_markdown((FOLDER / "settings.md").read_text("utf-8")))


def entry(page: str, owner: type, name: str) -> str:
    (found,) = re.findall(
        rf"^#### `{name}` {{ #{owner.__name__}\.{name} }}\n\n(.*?)(?=^#|\Z)", page, re.MULTILINE | re.DOTALL
    )
    return str(found)


@pytest.mark.parametrize("owner", SETTINGS, ids=lambda one: one.__name__)
def test_every_setting_stands_on_the_page_with_range_default_and_meaning(settings_page: str, owner: type):
    for setting in fields(owner):
        text = entry(settings_page, owner, setting.name)
        facts = text.splitlines()[0]
        assert re.fullmatch(r".{5,} · default .+", facts)
        if (owner, setting.name) != (Intent, "label"):
            assert re.search(r"\n\n[A-Z][^#]{20,}\.\)?\n", text), setting.name
        if type(setting.default) is int:
            assert f"default `{setting.default:_}`" in facts
        elif setting.default is MISSING and setting.default_factory is MISSING:
            assert "it must be given" in facts


@pytest.mark.parametrize(
    ("owner", "name", "allowed"),
    [
        (AssemblyConfig, "window", "An integer from 0 to 3 · default `1`"),
        (AssemblyConfig, "cite", '`"document"`, `"passage"`, `"chunk"` · default `"passage"`'),
        (AssemblyConfig, "max_characters", "An integer of at least 1, or None · default `None`"),
        (RetrievalConfig, "keyword_weight", "A number from 0 to 1 · default `0.6`"),
        (EnrichmentConfig, "concurrency", "An integer from 1 to 64 · default `8`"),
    ],
)
def test_a_range_is_the_one_that_is_checked(settings_page: str, owner: type, name: str, allowed: str):
    assert entry(settings_page, owner, name).splitlines()[0] == allowed


@pytest.mark.parametrize("owner", [MetadataKeys, TokenBudget])
def test_every_key_and_zone_stands_in_its_table(settings_page: str, owner: type):
    for each in fields(owner):
        assert f"\n| `{each.name}` | " in settings_page


def sections(page: str) -> dict[str, str]:
    """The text under each third heading, by the words in code of that heading."""
    text = (FOLDER / page).read_text("utf-8")
    found = re.findall(r"^### `([^`]+)`([^\n]*)\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
    return {name + (" of a cut" if more else ""): body for name, more, body in found}


REASONS = {*get_args(Reason), *get_args(Shortening)}
LOST_AT = {*get_args(StepName), "index", "filter", "evidence"} - LOSES_NOTHING


def test_every_reason_has_an_entry():
    assert set(sections("dropped.md")) == REASONS | LOST_AT | {"budget of a cut"}
    for step in LOSES_NOTHING:
        assert f"`{step}`" in sections("dropped.md")["limit"]


@pytest.mark.parametrize("reason", sorted(REASONS))
def test_an_entry_shows_the_trace_and_names_the_setting(reason: str):
    text = sections("dropped.md")[reason]
    assert re.search(
        rf"^\S+: (dropped|duplicate|contained|cut|compressed), {reason}(, because of \S+)?$", text, re.MULTILINE
    )
    assert "](settings.md#AssemblyConfig." in text or "o setting changes" in " ".join(text.split())


@pytest.mark.parametrize("step", sorted(LOST_AT - {"index"}))
def test_an_entry_of_retrieval_names_what_decides(step: str):
    text = sections("dropped.md")[step]
    assert "](settings.md#RetrievalConfig." in text or step in ("filter", "entities")
