"""What is uploaded: the wheel, the source distribution, and the page that an index makes of them."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

pytestmark = pytest.mark.release
ROOT = Path(__file__).parents[2]
PACKAGES = ("ctxassembly", "langchain_ctxassembly", "llamaindex_ctxassembly")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both, built from a copy of what git would give a stranger."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(next(built.glob("*.whl")))


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode("utf-8"))


def test_an_index_takes_both(built: Path) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, built.iterdir())]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.count("PASSED") == 2


def test_the_wheel_has_all_modules_and_their_data_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    modules = {
        f"{package}/{path.relative_to(folder).as_posix()}"
        for package in PACKAGES
        for folder in [ROOT / "shared" / package if package == "ctxassembly" else ROOT / package]
        for path in folder.rglob("*")
        if path.suffix in (".py", ".pyi", ".css", ".html", ".ini", ".txt") or path.name == "py.typed"
    }
    packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == modules
    assert {f"{package}/py.typed" for package in PACKAGES} <= packed


def test_the_source_distribution_can_be_built_tested_and_read(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "requirements-dev.txt",
        "Makefile",
        "constraints.txt",
    } <= names
    assert {"tests/conftest.py", "docs/assets/context.png", "docs/install.md", "noxfile.py", ".ci/run"} <= names
    assert not [name for name in names if name.startswith((".git/", ".venv", "dist", "results"))]


def test_the_page_of_an_index_links_only_to_addresses(metadata: Message) -> None:
    """It shows README alone: a link into the repository would lead nowhere there."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", str(metadata.get_payload()), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)|(?:src|srcset|href)=\"([^\"\s]+)", text)
    targets = [one or other for one, other in links]
    assert len(targets) >= 5
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    inside = (blob(metadata), raw(metadata))
    for target in targets:
        if target.startswith(inside):
            path = target.removeprefix(inside[0]).removeprefix(inside[1]).partition("#")[0]
            assert (ROOT / path).exists(), target
    pictures = [target for target in targets if target.startswith(inside[1])]
    assert len(pictures) == 4, "of two pictures, light and dark"
    assert "not on the index" not in str(metadata.get_payload())


def test_the_addresses_are_the_same_everywhere(metadata: Message) -> None:
    repository = url(metadata, "Repository")
    site = (ROOT / "mkdocs.yml").read_text("utf-8")
    assert f"site_url: {url(metadata, 'Documentation')}\n" in site
    assert f"link: {repository}\n" in site


def test_who_made_it_and_for_what(metadata: Message) -> None:
    assert metadata["Author"] == "the ctxassembly developers"
    assert "the ctxassembly developers" in (ROOT / "LICENSE").read_text("utf-8")
    assert metadata["Requires-Python"] == ">=3.10"
    minors = [one.rpartition("3.")[2] for one in metadata.get_all("Classifier", []) if "Python :: 3." in one]
    assert minors == ["10", "11", "12", "13", "14"]
    assert metadata.get_all("Provides-Extra") == sorted(metadata.get_all("Provides-Extra", []))


def url(metadata: Message, name: str) -> str:
    (found,) = (one for one in metadata.get_all("Project-URL", []) if one.startswith(f"{name}, "))
    return str(found.partition(", ")[2])


def blob(metadata: Message) -> str:
    return f"{url(metadata, 'Repository')}/blob/v{metadata['Version']}/"


def raw(metadata: Message) -> str:
    return blob(metadata).replace("//github.com/", "//raw.githubusercontent.com/").replace("/blob/", "/")
