"""Runs the cases of a script, and writes for each the lines at which warnings of ours were shown."""

from __future__ import annotations

import json
import linecache
import sys
import warnings
from collections.abc import Callable, Iterable

from ctxassembly import FilterNotSeenWarning, NothingToJoinWarning


def report(cases: Iterable[Callable[[], object]]) -> None:
    """Write a JSON object: the file and the text of the line of each warning, by the name of its case."""
    shown = {}
    for case in cases:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            case()
        shown[case.__name__] = [
            (each.filename, linecache.getline(each.filename, each.lineno).strip())
            for each in seen
            if issubclass(each.category, (FilterNotSeenWarning, NothingToJoinWarning))
        ]
    sys.stdout.write(json.dumps(shown))
