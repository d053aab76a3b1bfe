"""What valgrind counts: each run once, between two calls of a function that it watches for. Prints the runs' names."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from functools import partial

from ctxassembly.tokens.counter import load_encoding
from reference import assemble_reference
from scenario import BUDGET, ENCODING, Scenario, scenario
from speed.variants import OURS, REFERENCE, Variant, anew, forget

WARM_UPS = 2
"""Runs beforehand, in which Python adapts its bytecode and whatever is made once is made."""


def main() -> None:
    case = scenario()
    encode = load_encoding(ENCODING).encode
    text = assemble_reference(case.hits, case.store.chunks, BUDGET).text
    _marked(REFERENCE, lambda: assemble_reference(case.hits, case.store.chunks, BUDGET))
    _marked("one encode of its text", lambda: encode(text, disallowed_special=()))
    for name, variant in OURS.items():
        _marked(f"{name}, cold", partial(variant.run, case), forget)
        if variant.asks:
            _marked(f"{name}, warm", partial(variant.again, anew(case)), partial(_anew, variant, case))


def _anew(variant: Variant, case: Scenario) -> None:
    """Forget all but an assembly of `case`."""
    forget()
    variant.run(case)


def _marked(name: str, run: Callable[[], object], before: Callable[[], object] = lambda: None) -> None:
    for _ in range(WARM_UPS):
        run()
    before()
    # The collector begins its count of new objects anew, and has nothing old to look through.
    gc.collect()
    gc.freeze()
    os.getppid()
    run()
    os.getppid()
    sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    # Ours counts by tiktoken, as the reference does, whether ctxassembly[fast] is installed or not.
    sys.modules["toktok"] = None  # type: ignore[assignment]
    main()
