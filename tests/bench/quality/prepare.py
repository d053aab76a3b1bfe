"""`python -m quality.prepare NAME PATH --out FOLDER`: a downloaded question set in the form that is measured.

NAME is one of those that `quality.sources` describes, with their homes and licenses; or `python`, a small set made of
the language reference that every Python carries, for which there is nothing to download; or `python-hops`, those of its
questions whose evidence mentions a second document by its title.

Documents are split by LangChain's RecursiveCharacterTextSplitter into 350 tokens with 70 overlapping. The 20 best
chunks for each question are found by all-MiniLM-L6-v2, or by BM25 where sentence-transformers isn't installed.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quality import minilm
from quality.baselines import bm25
from quality.data import DataError, Document
from quality.filling import count
from quality.python_reference import python_reference, python_two_hops
from quality.sources import READERS, Source

INCLUDED = {"python": python_reference, "python-hops": python_two_hops}
CHUNK_TOKENS, OVERLAP_TOKENS = 350, 70
HITS = 20
Hits = list[tuple[int, float]]
"""Places of chunks with their scores, best first."""


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, or 2 with one line that says what is wrong."""
    parser = argparse.ArgumentParser(prog="quality.prepare", description=__doc__)
    parser.add_argument("name", choices=[*READERS, *INCLUDED])
    parser.add_argument("path", type=Path, nargs="?", help="the downloaded file or folder")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write, which names the set")
    parser.add_argument("--retriever", choices=["minilm", "bm25"], default="minilm" if _has_minilm() else "bm25")
    args = parser.parse_args(arguments)
    if (args.path is None) != (args.name in INCLUDED):
        parser.error(f"{args.name} takes no path" if args.path else f"{args.name} needs the path of its download")
    try:
        source = INCLUDED[args.name]() if args.path is None else READERS[args.name](args.path)
        prepare(source, args.out, args.retriever)
    except (DataError, OSError) as error:
        sys.stderr.write(f"quality.prepare: {error}\n")
        return 2
    return 0


def prepare(source: Source, folder: Path, retriever: str) -> None:
    """Write the set: split, and with what was retrieved.

    Raises:
        DataError: there is nothing in it.
    """
    chunks = [chunk for document in source.documents for chunk in split(document)]
    if not chunks or not source.questions:
        raise DataError("no documents or no questions were found")
    hits = (by_minilm if retriever == "minilm" else by_bm25)(
        [chunk["text"] for chunk in chunks], [question.text for question in source.questions]
    )
    folder.mkdir(parents=True, exist_ok=True)
    _write(
        folder / "corpus.jsonl",
        ({"document_id": each.id, "title": each.title, "text": each.text} for each in source.documents),
    )
    _write(folder / "chunks.jsonl", chunks)
    _write(
        folder / "questions.jsonl",
        (
            {
                "qid": question.id,
                "question": question.text,
                "spans": [span._asdict() for span in question.evidence],
                "hits": [[chunks[place]["id"], round(score, 5)] for place, score in found],
                **({"answers": question.answers} if question.answers else {}),
            }
            for question, found in zip(source.questions, hits, strict=True)
        ),
    )
    about = {"retriever": retriever, "documents": len(source.documents), "chunks": len(chunks)}
    (folder / "meta.json").write_text(
        json.dumps({**about, "questions": len(source.questions)}) + "\n", encoding="utf-8"
    )


def split(document: Document) -> Iterator[dict[str, Any]]:
    """The document's chunks. Each stands where its offsets say: what the splitter gives is looked up."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=CHUNK_TOKENS, chunk_overlap=OVERLAP_TOKENS, length_function=count
    )
    start = -1
    for index, text in enumerate(splitter.split_text(document.text)):
        start = document.text.index(text, start + 1)
        place = {"document_id": document.id, "index": index, "start": start, "end": start + len(text)}
        yield {"id": f"{document.id}#{index}", **place, "text": text}


def by_minilm(texts: Sequence[str], questions: Sequence[str]) -> Iterator[Hits]:
    """The best by cosine."""
    vectors = minilm.embed(texts, progress=True)
    for vector in minilm.embed(questions):
        yield _best(vectors @ vector)


def by_bm25(texts: Sequence[str], questions: Sequence[str]) -> Iterator[Hits]:
    """The best by BM25 on stems of six letters."""
    score = bm25(list(texts))
    return (_best(np.array(score(question))) for question in questions)


def _best(scores: NDArray[Any]) -> Hits:
    places = np.argsort(-scores, kind="stable")[:HITS]
    return [(int(place), float(scores[place])) for place in places]


def _write(file: Path, rows: Iterable[dict[str, Any]]) -> None:
    with file.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _has_minilm() -> bool:
    return find_spec(minilm.NEEDS) is not None


if __name__ == "__main__":
    sys.exit(main())
