"""Chunks by the million, and questions about them, without a download.

The sentences are those of the documentation in Python's standard library (some 20,000, 10,000 words), dealt out anew:
a document takes most of its sentences from one module, so words and vectors have topics. The words of real sentences
follow Zipf's law, but there are only so many of them: a library of a million chunks has ever more names. So every third
sentence has a word exchanged for one made of two, drawn from a law of the same kind that has no end. The words that
there are then grow with the table, and most of them are rare.

A sentence has a vector: that of its module and as much noise again. A chunk's vector is the mean of its sentences',
with some more noise: clusters, as embeddings have them. A question is made of two of a chunk's sentences, a run of
words of each, and of their vectors. In every fourth one a word is misspelt.

Each document is made of its own number and the seed: the first 10,000 chunks of a million are the 10,000.
"""

from __future__ import annotations

import ast
import re
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CHUNKS_A_DOCUMENT = 12
WORDS = 200
"""Of a chunk, at least."""
OWN_SHARE = 0.7
"""Of a document's sentences are of its own module."""
NAMED_SHARE = 0.3
"""Of the sentences have a made-up name."""
NAMES_EXPONENT, NAMES_OFFSET = 1.25, 20
"""The law of Zipf and Mandelbrot that names follow: the n-th has a share of (n + 20) ** -1.25."""
RUNS = (7, 5)
"""Words of a question, from a sentence each."""
MISSPELT_EVERY = 4
TENTHS, WARDS = 10, 333
"""Values of the two columns to filter by, which pass 10 % and .3 % of the documents."""
_LEFT_OUT = frozenset({"site-packages", "test", "tests", "idlelib", "lib2to3"})
_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n\s*\n")
_LONG = re.compile(r"[A-Za-z]{6,}")


class Row(NamedTuple):
    """A chunk as it is stored."""

    id: str
    document_id: str
    place: int
    """In its document, from 0."""
    tenth: str
    ward: str
    text: str
    vector: list[float]


class Asked(NamedTuple):
    """A question, its vector, and the chunk that it is made of."""

    text: str
    vector: list[float]
    gold: str
    unknown: str
    """A name that some other chunk may have, misspelt: asked for besides, it has to be rescued."""


class _Chunk(NamedTuple):
    sentences: Sequence[str]
    numbers: Sequence[int]
    """Of its sentences, before names were put in."""
    vector: NDArray[np.float32]


@dataclass(frozen=True)
class Corpus:
    """Rows and questions without end, the same for the same seed."""

    dimensions: int
    seed: int = 0

    @cached_property
    def modules(self) -> list[list[str]]:
        """The sentences of each module."""
        return [found for texts in _documentation() if len(found := list(_sentences(texts))) >= CHUNKS_A_DOCUMENT]

    @cached_property
    def sentences(self) -> list[str]:
        return [sentence for module in self.modules for sentence in module]

    @cached_property
    def words(self) -> list[str]:
        """Those that names are made of."""
        return sorted({word.lower() for sentence in self.sentences for word in _LONG.findall(sentence)})

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """Of the sentences."""
        random = np.random.default_rng(self.seed)
        centers = random.normal(size=(len(self.modules), self.dimensions))
        of_module = np.repeat(np.arange(len(self.modules)), [len(module) for module in self.modules])
        noise = random.normal(size=(len(self.sentences), self.dimensions))
        return _normed(centers[of_module] + noise)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.cumsum([0, *(len(module) for module in self.modules)])

    def rows(self, chunks: int) -> Iterator[Row]:
        """The first `chunks` of them."""
        return islice(self._rows(), chunks)

    def _rows(self) -> Iterator[Row]:
        document = 0
        while True:
            for index, chunk in enumerate(self._document(document)):
                name, text, vector = f"d{document}", " ".join(chunk.sentences), _written(chunk.vector)
                yield Row(f"{name}#{index}", name, index, f"t{document % TENTHS}", f"w{document % WARDS}", text, vector)
            document += 1

    def questions(self, count: int, chunks: int) -> list[Asked]:
        """Questions about the first `chunks` chunks."""
        random = np.random.default_rng((self.seed, 1))
        places = (random.random(count) * chunks).astype(int)  # the same part of any number of chunks
        return [self._question(divmod(int(place), CHUNKS_A_DOCUMENT), at) for at, place in enumerate(places)]

    def _question(self, place: tuple[int, int], number: int) -> Asked:
        document, index = place
        chunk = self._document(document)[index]
        random = np.random.default_rng((self.seed, 2, number))
        chosen = random.choice(len(chunk.sentences), size=len(RUNS), replace=False)
        runs = [_run(chunk.sentences[one].split(), most, random) for one, most in zip(chosen, RUNS, strict=True)]
        words = [word for run in runs for word in run]
        if number % MISSPELT_EVERY == MISSPELT_EVERY - 1:
            longest = max(range(len(words)), key=lambda at: len(words[at]))
            words[longest] = _misspelt(words[longest])
        mean = self.vectors[[chunk.numbers[one] for one in chosen]].mean(axis=0)
        noisy = mean + random.normal(size=self.dimensions) * 0.3 / np.sqrt(self.dimensions)
        unknown = _misspelt(self._name(random.uniform(0.5, 0.9)))
        return Asked(" ".join(words), _written(_normed(noisy)), f"d{document}#{index}", unknown)

    def _document(self, number: int) -> list[_Chunk]:
        random = np.random.default_rng((self.seed, 3, number))
        module = int(np.searchsorted(self._starts, random.integers(len(self.sentences)), side="right")) - 1
        low, high = self._starts[module], self._starts[module + 1]
        return [self._chunk(random, int(low), int(high)) for _ in range(CHUNKS_A_DOCUMENT)]

    def _chunk(self, random: np.random.Generator, low: int, high: int) -> _Chunk:
        most = 40  # sentences have 5 words at least
        own = random.random(most) < OWN_SHARE
        drawn = np.where(own, random.integers(low, high, most), random.integers(len(self.sentences), size=most))
        named, names = random.random(most) < NAMED_SHARE, random.random(most)
        sentences: list[str] = []
        words = 0
        for number, has_name, name in zip(drawn, named, names, strict=True):
            parts = self.sentences[number].split()
            if has_name:
                parts[int(name * 1e6) % len(parts)] = self._name(name)
            sentences.append(" ".join(parts))
            words += len(parts)
            if words >= WORDS:
                break
        numbers = [int(number) for number in drawn[: len(sentences)]]
        mean = self.vectors[numbers].mean(axis=0)
        noise = random.normal(size=self.dimensions) * 0.2 / np.sqrt(self.dimensions)
        return _Chunk(sentences, numbers, _normed(mean + noise))

    def _name(self, drawn: float) -> str:
        number = int(NAMES_OFFSET * (1 - drawn) ** (-1 / (NAMES_EXPONENT - 1))) - NAMES_OFFSET
        first, second = number % len(self.words), number // len(self.words) % len(self.words)
        # The commonest names aren't all of the first words of the alphabet.
        return self.words[first * 7919 % len(self.words)] + self.words[(second * 104729 + first) % len(self.words)]


def _documentation() -> Iterator[list[str]]:
    """The documentation of each module of the standard library, and of each topic of the language reference."""
    from pydoc_data.topics import topics

    yield from ([text] for _, text in sorted(topics.items()))
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.rglob("*.py")):
        if _LEFT_OUT.isdisjoint(path.relative_to(library).parts):
            try:
                tree = ast.parse(path.read_bytes())
            except (SyntaxError, ValueError):  # templates of code
                continue
            documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            nodes = [node for node in ast.walk(tree) if isinstance(node, documented)]
            yield [text for node in nodes if (text := ast.get_docstring(node))]


def _sentences(texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        for sentence in _SENTENCE.split(text):
            words = sentence.split()
            if 5 <= len(words) <= 60:
                yield " ".join(words).replace("\0", "")


def _run(words: Sequence[str], most: int, random: np.random.Generator) -> Sequence[str]:
    begin = int(random.integers(max(len(words) - most, 0) + 1))
    return words[begin : begin + most]


def _misspelt(word: str) -> str:
    """The word with two letters in its middle swapped, or one doubled where that is the same."""
    at = len(word) // 2
    swapped = word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :] if len(word) > 3 else word
    return swapped if swapped != word else word[:at] + word[at:][:1] * 2 + word[at:]


def _normed(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    normed: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)
    return normed


def _written(vector: NDArray[np.float32]) -> list[float]:
    """Five digits of each number: enough for a cosine, and shorter to send."""
    return [round(float(one), 5) for one in vector]
