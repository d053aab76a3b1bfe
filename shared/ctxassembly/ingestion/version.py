"""The version of a document, by its text: chunks of two versions aren't neighbors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

VERSION_CHARS = 12
"""Characters of a version: 48 bits, by which two texts of one document differ."""


def document_version(bodies: Iterable[str]) -> str:
    """Return a hash of the text of a document from its chunks without overlaps and headers.

    White space doesn't count, since splitters take it away. So it is the same for nearly all splitters.

    >>> document_version(["Drink water. ", "Then rest."]) == document_version(["Drink", "water. Then rest."])
    True
    """
    text = "".join(["".join(body.split()) for body in bodies])
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:VERSION_CHARS]
