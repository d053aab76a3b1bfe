"""The site as it is built: strictly, whole, and without anything from the network."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from inspect import ismodule
from pathlib import Path

import pytest

from ctxassembly import AssemblyConfig, presets
from ctxassembly.published.common import Published
from site_pages import FOLDER, PAGES, PUBLIC

pytestmark = pytest.mark.site
ROOT = FOLDER.parent
LOADED = re.compile(
    r"""<(?:script|img|iframe|source)[^>]*\ssrc="(https?:)?//"""
    r"""|<link(?![^>]*\srel="canonical")[^>]*\shref="(https?:)?//"""
)
"""What a browser fetches by itself. The canonical address of a page is only told to search engines."""
IN_STYLES = re.compile(r"""(?:url\(|@import)\s*["']?(?:https?:)?//""")


def build(folder: Path, *options: str, config: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config), *options]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        [*command, "--site-dir", str(folder)], cwd=ROOT, env=quiet, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_there(site: Path):
    assert {Path(page).with_suffix(".html").as_posix() for page in PAGES} | {"404.html"} == {
        path.relative_to(site).as_posix() for path in site.rglob("*.html")
    }


def test_nothing_is_loaded_from_the_network(site: Path):
    for page in site.rglob("*.html"):
        assert not LOADED.search(page.read_text("utf-8")), page
    for sheet in site.rglob("*.css"):
        assert not IN_STYLES.search(sheet.read_text("utf-8")), sheet


def test_language_models_find_every_page_as_text(site: Path):
    links = (site / "llms.txt").read_text("utf-8").partition("## Docs")[2]
    listed = re.findall(r"^- \[.+\]\(https://[^/]+/ctxassembly/(\S+\.html)\)$", links, re.MULTILINE)
    assert sorted(listed) == sorted(Path(page).with_suffix(".html").as_posix() for page in PAGES)
    assert listed[:2] == ["index.html", "start.html"]
    whole = (site / "llms-full.txt").read_text("utf-8")
    headings = re.findall(r"^# (.+)$", whole, re.MULTILINE)
    assert {"Context assembly for RAG", "Start in 5 minutes", "Benchmarks"} <= set(headings)
    assert "#### `max_tokens`" in whole, "settings are written out"


def test_the_search_knows_settings_warnings_and_names(site: Path):
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    titles = {entry["location"]: re.sub(r"<[^>]+>", "", entry["title"]).strip() for entry in index["docs"]}
    assert titles["settings.html#AssemblyConfig.max_tokens"] == "max_tokens"
    assert titles["dropped.html#near-duplicate"] == "near duplicate"
    assert "api/engine.html#ctxassembly.assemble" in titles
    assert "_" in index["config"]["separator"]
    # As files, pages get the same from a script.
    assert (site / "search" / "search_index.js").read_text("utf-8").startswith("var __index = {")


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_is_listed(site: Path, package: str):
    page = "".join(path.read_text("utf-8") for path in (site / "api").glob("*.html"))
    exported = import_module(package)
    names = [name for name in getattr(exported, "__all__", ()) if not ismodule(getattr(exported, name))]
    assert [name for name in names if f'id="{package}.{name}"' not in page] == []


def test_every_preset_is_listed(site: Path):
    page = (site / "api" / "engine.html").read_text("utf-8")
    names = [name for name, it in vars(presets).items() if isinstance(it, (AssemblyConfig, Published))]
    assert len(names) > 8
    assert [name for name in names if f'id="ctxassembly.presets.{name}"' not in page] == []


def test_a_broken_link_an_anchor_that_is_gone_and_a_page_in_no_menu_are_errors(tmp_path: Path):
    shutil.copytree(FOLDER, tmp_path / "docs")
    links = "# Public names\n\n[a page](no-page.md) [an anchor](index.md#no-anchor)\n"
    (tmp_path / "docs" / "api.md").write_text(links, "utf-8")
    (tmp_path / "docs" / "forgotten.md").write_text("# Forgotten\n", "utf-8")
    (tmp_path / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text("utf-8"), "utf-8")
    done = build(tmp_path / "site", config=tmp_path / "mkdocs.yml")
    assert done.returncode != 0
    for broken in ("no-page.md", "#no-anchor", "forgotten.md"):
        assert broken in done.stderr
