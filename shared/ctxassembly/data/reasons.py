"""Why a chunk has no text of its own in the context: every reason that a trace gives for it."""

from __future__ import annotations

from typing import Final, Literal

Reason = Literal[
    "budget",
    "too short",
    "below the relevance floor",
    "irrelevant",
    "worth too little",
    "beyond the window",
    "empty",
    "duplicate",
    "near duplicate",
    "semantic duplicate",
    "contained",
    "repeated",
]

FOR_BUDGET: Final = "budget"
TOO_SHORT: Final = "too short"
BELOW_FLOOR: Final = "below the relevance floor"
IRRELEVANT: Final = "irrelevant"
"""A language model finds nothing in it that helps to answer."""
STOPPED: Final = "worth too little"
BEYOND: Final = "beyond the window"
EMPTY: Final = "empty"
"""It has no text but white space."""
EXACT: Final = "duplicate"
"""Of an exact copy. It fits where its original fits, so there is no use in trying it for itself."""
NEAR: Final = "near duplicate"
SEMANTIC: Final = "semantic duplicate"
CONTAINED: Final = "contained"
"""All of its text stands in a larger one."""
REPEATED: Final = "repeated"
"""Its sentences stand in a better-ranked passage: all of them, or those that are left out here."""
