"""The reasons that a trace gives for a chunk without text of its own in the context."""

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
"""A language model found nothing in it that helps to answer."""
STOPPED: Final = "worth too little"
"""It is worth less than `stop_below` asks for."""
BEYOND: Final = "beyond the window"
"""A neighbour farther from its hit than `window`: it was fetched for the query to choose from, and not chosen."""
EMPTY: Final = "empty"
"""It has no text but white space."""
EXACT: Final = "duplicate"
"""It is an exact copy. It fits only where its original fits, so it is never tried for itself."""
NEAR: Final = "near duplicate"
SEMANTIC: Final = "semantic duplicate"
CONTAINED: Final = "contained"
"""A larger chunk has all of its text."""
REPEATED: Final = "repeated"
"""A better-ranked passage has its sentences: all of them, or those that are left out here."""
