"""The documents of a folder, and their chunks: for a first look, without a framework."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from pathlib import Path

from ctxassembly.data.chunks import Chunk
from ctxassembly.errors import InputError
from ctxassembly.text.sentences import sentence_spans

TEXT_SUFFIXES = (".txt", ".md", ".rst")
CHUNK_CHARS = 1_000
"""The length that a chunk has at most, if it isn't a single longer sentence."""
_PAGE_BREAK = "\n\n"


def read_folder(folder: Path) -> dict[str, str]:
    """Return the texts of all text and PDF files in `folder` and below, by their paths in it.

    Raises:
        InputError: there is none, or a file can't be read.
    """
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (*TEXT_SUFFIXES, ".pdf"))
    texts = {path.relative_to(folder).as_posix(): _read(path) for path in files}
    if not any(text.strip() for text in texts.values()):
        raise InputError(f"{folder} has no text: expected files that end in {', '.join((*TEXT_SUFFIXES, '.pdf'))}")
    return texts


def _read(path: Path) -> str:
    if path.suffix.lower() != ".pdf":
        return path.read_text("utf-8", errors="replace")
    try:
        from pypdf import PdfReader
    except ModuleNotFoundError as error:
        raise InputError(f"{path.name}: reading PDF files needs pypdf: pip install pypdf") from error
    try:
        return _PAGE_BREAK.join(page.extract_text() for page in PdfReader(path).pages)
    except Exception as error:  # pypdf raises errors of many types
        raise InputError(f"{path.name} can't be read: {error}") from error


def split_texts(texts: Mapping[str, str]) -> list[Chunk]:
    """Return the chunks of all documents: as many whole sentences as have room in `CHUNK_CHARS`.

    >>> chunks = split_texts({"a.txt": "Drink water. " * 100})
    >>> [(chunk.id, chunk.index, chunk.start, len(chunk.text)) for chunk in chunks]
    [('a.txt#0', 0, 0, 987), ('a.txt#1', 1, 988, 311)]
    """
    return list(chain.from_iterable(_split(name, text) for name, text in texts.items()))


def _split(name: str, text: str) -> list[Chunk]:
    spans: list[tuple[int, int]] = []
    for start, end in sentence_spans(text):
        if spans and end - spans[-1][0] <= CHUNK_CHARS:
            spans[-1] = spans[-1][0], end
        else:
            spans.append((start, end))
    chunks: list[Chunk] = []
    for start, end in spans:
        whole = text[start:end]
        if stripped := whole.strip():
            at, begin = len(chunks), start + len(whole) - len(whole.lstrip())
            chunks.append(Chunk(f"{name}#{at}", name, stripped, at, begin, metadata={"source": name}))
    return chunks
