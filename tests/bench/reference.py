"""The assembly as one would write it in an afternoon: what the engine is measured against.

It fetches by dictionary, finds overlap by the first words of the chunk after it, renders each document's block, counts
it and skips what doesn't fit. It gives the same numbered text as the engine, without citations, provenance or trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ctxassembly import Chunk, Hit
from ctxassembly.tokens.counter import load_encoding


class Reference(NamedTuple):
    text: str
    token_count: int


def assemble_reference(
    hits: Sequence[Hit],
    chunks: Mapping[tuple[str, int], Chunk],
    max_tokens: int,
    window: int = 1,
    min_overlap: int = 20,
) -> Reference:
    """The context for `hits`, whose neighbors are in `chunks`, by document and index."""
    encode = load_encoding("cl100k_base").encode
    documents: dict[str, dict[int, Chunk]] = {}
    for hit in hits:
        document_id, at = hit.chunk.document_id, hit.chunk.index or 0
        found = documents.setdefault(document_id, {})
        for index in range(at - window, at + window + 1):
            if (document_id, index) in chunks:
                found[index] = chunks[document_id, index]
    blocks: list[str] = []
    tokens = 0
    for found in documents.values():
        block = _block(len(blocks) + 1, [found[index] for index in sorted(found)], min_overlap)
        added = len(encode("\n\n" + block if blocks else block, disallowed_special=()))
        if tokens + added <= max_tokens:
            blocks.append(block)
            tokens += added
    text = "\n\n".join(blocks)
    return Reference(text, len(encode(text, disallowed_special=())))


def _block(label: int, chunks: Sequence[Chunk], min_overlap: int) -> str:
    passages: list[str] = []
    before = None
    for chunk in chunks:
        if before is None or chunk.index != (before.index or 0) + 1:
            passages.append(chunk.text)
        elif shared := _overlap(before.text, chunk.text, min_overlap):
            passages[-1] += chunk.text[shared:]
        else:
            passages[-1] += "\n" + chunk.text
        before = chunk
    pages = _ranges(sorted({chunk.metadata["page"] for chunk in chunks}))
    many = "s" if "," in pages or "-" in pages else ""
    body = "\n[...]\n".join(passage.rstrip().lstrip("\n") for passage in passages)
    return f"[{label}] Source: {chunks[0].metadata['source']}, page{many} {pages}\n{body}"


def _overlap(first: str, second: str, min_overlap: int) -> int:
    """Length of the longest end of `first` that `second` begins with, if longer than `min_overlap`, else 0.

    It begins where the first characters of `second` are found, which is nearly always once: linear in usual text.
    """
    head = second[: min_overlap + 1]
    if len(head) <= min_overlap:
        return 0
    at = first.find(head, max(0, len(first) - len(second)))
    while at >= 0 and not second.startswith(first[at:]):
        at = first.find(head, at + 1)
    return len(first) - at if at >= 0 else 0


def _ranges(pages: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for page in pages:
        if runs and page == runs[-1][-1] + 1:
            runs[-1].append(page)
        else:
            runs.append([page])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
