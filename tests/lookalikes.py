"""Metadata that only look like ours, as a document of somebody else may have them."""

from __future__ import annotations

from typing import Any

TEXT = "The web says that leave is 25 days."
SECRET = "The director earns 900,000"
CHUNK = {
    "id": "globex#1", "index": 1, "start": None, "prev_id": "globex#0", "next_id": "globex#2", "origin": None,
    "unread": [], "unnamed": [], "metadata": {"tenant": "globex", "no_neighbors": False}, "lacks": [],
    "score": 9.0, "rank": 0, "distance": 0,
}  # fmt: skip
PIECES = {
    "length": len(TEXT),
    "header": "",
    "chunks": [CHUNK],
    "slices": [[0, 0, len(TEXT), 0, [[0, len(TEXT), 0]]]],
}
CITATION = {"label": "1", "document_id": "handbook.pdf", "source": "handbook.pdf", "span": [0, len(TEXT)]}
BLOCK: dict[str, Any] = {"citation": CITATION, "pieces": PIECES}
LOOKALIKES: list[dict[str, Any]] = [
    BLOCK,
    {"citation": {**CITATION, "pieces": PIECES, "text": TEXT, "header": "", "parts": [CHUNK]}, "supplement": True},
    {"pieces": BLOCK, "supplement": BLOCK, "citation": BLOCK},
    {"nested": BLOCK},
    {"citation": {"label": "Smith2020"}},
]
