"""The pages of the site as tests see them: blocks of code, and what each says that it prints."""

from __future__ import annotations

import contextlib
import io
import re
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from ctxassembly import FilterNotSeenWarning, NothingToJoinWarning

FOLDER = Path(__file__).parents[2] / "docs"
PUBLIC = re.findall(r"`((?:\w+_)?ctxassembly[\w.]*)`", (FOLDER / "api.md").read_text("utf-8"))
"""The modules that the page of public names lists."""
PAGES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.md"))
_BLOCK = re.compile(r"^(?P<indent> *)```(?P<head>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of Python, and the text directly below it: what the page says that it printed."""

    line: int
    """The line of the page on which its code begins, from 1."""
    head: str
    code: str
    output: str | None

    @property
    def runs(self) -> bool:
        """False for ```` ```{.python .no-run} ````."""
        return ".no-run" not in self.head


def blocks(text: str) -> Iterator[Block]:
    """All blocks of Python of a page, in order, those in tabs and notes included."""
    found = list(_BLOCK.finditer(text))
    for each, following in zip(found, [*found[1:], None], strict=False):
        if _language(each["head"]) not in ("python", "py"):
            continue
        printed = None
        if following and _language(following["head"]) == "text" and not text[each.end() : following.start()].strip():
            printed = dedent(following["body"])
        line = text.count("\n", 0, each.start("body")) + 1
        yield Block(line, each["head"], dedent(each["body"]), printed)


def _language(head: str) -> str:
    """The first word of a block's head: `python title="app.py"` and `{.python .no-run}` are Python."""
    return head.strip().lstrip("{").strip().lstrip(".").split(" ")[0].rstrip("}")


def run(block: Block, page: str, module: types.ModuleType) -> str:
    """What a block prints in a module: its text, and a line for each warning of ours, which a terminal shows as well.

    Other warnings are errors, as in all tests. A traceback names the page and its line.
    """
    printed = io.StringIO()

    def warned(message: Warning | str, category: type[Warning], *_: object) -> None:
        print(f"{category.__name__}: {message}", file=printed)

    code = compile("\n" * (block.line - 1) + block.code, f"docs/{page}", "exec")
    with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
        for ours in (FilterNotSeenWarning, NothingToJoinWarning):
            warnings.filterwarnings("always", category=ours)
        warnings.showwarning = warned  # type: ignore[assignment]
        exec(code, module.__dict__)
    return printed.getvalue()
