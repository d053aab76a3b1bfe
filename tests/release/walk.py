"""`python walk.py PAGE HEADING ...`: the examples below these headings of a page run, and print what the page says.

It needs nothing but Python: it runs in environments into which a newcomer installed ctxassembly alone.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

_STEP = re.compile(r"```(?:python|{\.python)[^\n]*\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


def walked(page: str, heading: str) -> int:
    """The number of examples below `heading`, each of which printed what the page says.

    Raises:
        SystemExit: there is none, or one printed something else.
    """
    _, found, rest = page.partition(f"\n## {heading}\n")
    steps = _STEP.findall(rest.partition("\n## ")[0])
    if not found or not steps:
        raise SystemExit(f"{heading}: no example")
    shared: dict[str, object] = {}
    for code, output in steps:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, heading, "exec"), shared)
        if printed.getvalue() != output:
            raise SystemExit(f"{heading}: the page says\n{output}\nand it printed\n{printed.getvalue()}")
    return len(steps)


if __name__ == "__main__":
    text = Path(sys.argv[1]).read_text("utf-8")
    for name in sys.argv[2:]:
        print(f"{name}: {walked(text, name)} passed")  # noqa: T201
