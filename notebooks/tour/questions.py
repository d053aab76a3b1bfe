"""A small labeled set made of the demo's documents: what is asked, what should be read, and what was retrieved.

The heading of a section, with the topic that it stands in, is the question; it is taken out of the text. The evidence
is the section's first paragraph. Good for a look at the settings, not for claims: headings aren't questions. Your own
set needs no more than a question and the words of a document that answer it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pydoc_data.topics import topics

import numpy as np
from langchain_text_splitters import RecursiveCharacterTextSplitter
from numpy.typing import NDArray

from ctxassembly import Chunk, Hit, MemoryStore
from ctxassembly.text.sentences import sentence_ends
from demo.corpus import CHUNK_TOKENS, OVERLAP_TOKENS, located
from demo.embedding import SentenceEncoder

LEAST_CHARS = 80
"""Of evidence: shorter paragraphs only announce what follows."""
CHARS_A_TOKEN = 4
_HEADING = re.compile(r"^([^\n]+)\n([*=\-~])\2{2,}\n+", re.MULTILINE)


@dataclass(frozen=True)
class Question:
    """A question with its evidence and what the search found for it."""

    text: str
    evidence: str
    hits: tuple[Hit, ...]
    """Best first."""

    def recall(self, context: str) -> float:
        """The share of the evidence's characters that stand in `context`, sentence by sentence."""
        read = _dense(context)
        edges = [0, *sentence_ends(self.evidence), len(self.evidence)]
        sentences = [_dense(self.evidence[start:end]) for start, end in pairwise(edges)]
        return sum(len(each) for each in sentences if each in read) / sum(map(len, sentences))


def labeled_questions(every: int = 3, hits: int = 40) -> tuple[list[Question], MemoryStore]:
    """Every so many of the questions, each with its best `hits` chunks; and the store of all chunks.

    The embedding takes some ten seconds, since without their headings the documents aren't those of the demo.
    """
    chunks, asked = sections()
    encoder = SentenceEncoder()
    stored = np.array(encoder.embed_documents([chunk.text for chunk in chunks]))
    chosen = asked[::every]
    scores = np.array(encoder.embed_documents([text for text, _ in chosen])) @ stored.T
    questions = [
        Question(text, evidence, _best(chunks, row, hits)) for (text, evidence), row in zip(chosen, scores, strict=True)
    ]
    return questions, MemoryStore(chunks)


def sections() -> tuple[list[Chunk], list[tuple[str, str]]]:
    """All chunks of the documents without their headings, and question and evidence of each section."""
    chunks: list[Chunk] = []
    asked: list[tuple[str, str]] = []
    for name, full in sorted(topics.items()):
        text, found = without_headings(name, full)
        chunks += _chunks(name, text)
        asked += found
    return chunks, asked


def without_headings(name: str, full: str) -> tuple[str, list[tuple[str, str]]]:
    """The topic's text, and question and evidence for each section that begins with a paragraph."""
    # What split gives: the text before the first heading, then heading, underline and text of each section.
    before, *rest = _HEADING.split(full)
    text, title, asked = before, name, []
    for number, (heading, body) in enumerate(zip(rest[::3], rest[2::3], strict=True)):
        title = heading if not number and not before.strip() else title
        first = body.split("\n\n")[0].rstrip()
        if len(first) >= LEAST_CHARS and not first[0].isspace():
            asked.append((heading if heading == title else f"{title}: {heading}", first))
        text += body
    return text, asked


def _chunks(name: str, text: str) -> Iterable[Chunk]:
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=CHUNK_TOKENS * CHARS_A_TOKEN,
        chunk_overlap=OVERLAP_TOKENS * CHARS_A_TOKEN,
        strip_whitespace=False,
    )
    for index, (start, piece) in enumerate(located(text, splitter.split_text(text))):
        yield Chunk(f"{name}#{index}", name, piece, index=index, start=start, metadata={"source": f"{name}.txt"})


def _best(chunks: Sequence[Chunk], scores: NDArray[np.float64], hits: int) -> tuple[Hit, ...]:
    places = np.argsort(-scores, kind="stable")[:hits]
    return tuple(Hit(chunks[place], score=round(float(scores[place]), 5)) for place in places)


def _dense(text: str) -> str:
    """Without white space, which a splitter changes."""
    return "".join(text.split())
