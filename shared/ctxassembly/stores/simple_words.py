"""Words as PostgreSQL's `simple` configuration keeps and counts them, and how near two are by its trigrams.

An index in memory finds with these what one in the database finds. In scripts without spaces they are the words of an
assembly: every two adjacent characters (`separate_unspaced`). Elsewhere they differ from these: accents count, a
hyphenated word is kept whole and in its parts, and numbers, addresses and paths are one word each. Over 2,800 chunks of
papers, standards and encyclopedia 99.8 % of the words are PostgreSQL's; the others are in formulas and broken
addresses.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, lru_cache

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import get_path
from ctxassembly.data.retrieval import SINGLE_OCCURRENCE
from ctxassembly.text.words import UNSPACED, separate_unspaced

MIN_SIMILARITY = 0.3
"""The least similarity of near words, pg_trgm's own: two of eight letters with two of them swapped have about .38."""
MIN_WORD_CHARS = 3
"""Letters of the shortest word that others are near to."""
QUESTION_KEYS = ("questions", "chunk_metadata.canonical_questions")
"""The metadata keys of questions that a chunk answers; the first that it has counts."""
FieldKeys = str | tuple[str, ...] | None
"""A metadata key, several of which the first that a chunk has counts, or none."""
FIELDS: tuple[FieldKeys, ...] = ("title", QUESTION_KEYS)
"""The metadata keys whose text is searched with the chunk's own: of its title, and of questions that it answers."""
_MAX_PART_CHARS = 200
"""Characters of the longest part of an address that is read as one, so that a hostile text takes no longer."""


@cache
def _token() -> re.Pattern[str]:
    """Markup, which is no word; addresses, hosts with paths, files, numbers; words. In the order of PostgreSQL."""
    some = f"{{0,{_MAX_PART_CHARS}}}"
    return re.compile(
        rf"""(?P<markup></?[a-z][^<>]{some}>|&\#?\w{some};)
        |(?P<mail>(?a:\w[\w.+-]{some}@\w[\w-]{some}(?:\.\w[\w-]{some})+))
        |(?:[a-z]+://)?(?P<host>(?a:[a-z][\w-]{some}(?:\.[^\W_][\w-]{some})+))(?P<path>(?:/[^\s<>"]*)?)
        |(?P<file>(?a:(?:\w[\w.-]{some})?(?:/[\w.-]*\w)+))
        |(?P<unspaced>[{UNSPACED}]+)
        |(?P<number>[-+]?\d+(?:\.\d+)*(?:e[-+]?\d+)?(?![^\W_]))
        |(?P<word>[^\W\d_][^\W_]*(?:-[^\W\d_][^\W_]*)*|[^\W_]+)""",
        re.VERBOSE | re.IGNORECASE,
    )


def lexemes(text: str) -> list[str]:
    """Return the words of `text` in order, in lower case.

    >>> lexemes("Well-known: COVID-19 in Zürich, see www.who.int/covid")
    ['well-known', 'well', 'known', 'covid', '-19', 'in', 'zürich', 'see', 'www.who.int/covid', 'www.who.int', '/covid']
    """
    found: list[str] = []
    for match in _token().finditer(separate_unspaced(text)):
        kind, token = match.lastgroup, match[0].lower()
        if kind == "word" and "-" in token:
            found += [token, *token.split("-")]
        elif kind == "path":
            host, path = match["host"].lower(), match["path"].lower()
            found += [host + path, host, path] if len(path) > 1 else [host]
        elif kind != "markup":
            found.append(token)
    return found


_MAX_POSITION = 16_383
"""The last position that PostgreSQL counts: all words after it share this position."""
_MAX_POSITIONS_PER_WORD = 255
"""PostgreSQL keeps no more places of one word."""


def count_occurrences(parts: Sequence[Sequence[str]]) -> Mapping[str, int]:
    """Count the words of a chunk's `parts`, in the order in which they are indexed, as far as PostgreSQL counts them.

    >>> count_occurrences([["tea"], ["no", "tea"]])
    Counter({'tea': 2, 'no': 1})
    """
    found: Counter[str] = Counter()
    words_before = 0
    for words in parts:
        room = max(_MAX_POSITION - 1 - words_before, 0)
        found.update(words[:room])
        found.update(set(words[room:]))
        words_before += len(words)
    return found


@lru_cache(maxsize=256)
def ts_rank(times: int) -> float:
    """Return the `ts_rank` of a word that occurs so many times: each occurrence counts less than the previous.

    >>> round(ts_rank(1), 3), round(ts_rank(2), 3)
    (0.061, 0.076)
    """
    return SINGLE_OCCURRENCE * sum(1 / place**2 for place in range(1, min(times, _MAX_POSITIONS_PER_WORD) + 1))


def trigrams(word: str) -> set[str]:
    """Return the trigrams of `word` as pg_trgm makes them: with two blanks before each run of letters and one after it.

    >>> sorted(trigrams("cat"))
    ['  c', ' ca', 'at ', 'cat']
    """
    padded = [f"  {run} " for run in re.findall(r"[^\W_]+", word.lower())]
    return {run[at : at + 3] for run in padded for at in range(len(run) - 2)}


class NearWords:
    """Words to be found by others that are part of them, or nearly equal them.

    >>> near = NearWords(["kinderepilepsie", "epileptisch", "knie"])
    >>> near.find("epilepsie", 4), near.find("epiletpisch", 4)
    (['kinderepilepsie', 'epileptisch'], ['epileptisch'])
    """

    def __init__(self, words: Collection[str]) -> None:
        self._trigram_counts: dict[str, int] = {}
        self._words_by_trigram: dict[str, list[str]] = defaultdict(list)
        for word in words:
            own = trigrams(word)
            self._trigram_counts[word] = len(own)
            for trigram in own:
                self._words_by_trigram[trigram].append(word)

    def find(self, word: str, limit: int) -> list[str]:
        """Return the `limit` words nearest to `word`: first those that contain it, then the others by similarity."""
        if len(word) < MIN_WORD_CHARS:
            return []
        own = trigrams(word)
        shared = Counter(other for trigram in own for other in self._words_by_trigram.get(trigram, ()))
        ranked: list[tuple[bool, float, str]] = []
        for other in {*shared, *(other for other in self._trigram_counts if word in other)}:
            shared_count = shared[other]
            similarity = shared_count / ((len(own) + self._trigram_counts[other] - shared_count) or 1)
            if word in other or similarity >= MIN_SIMILARITY:
                ranked.append((word not in other, -similarity, other))
        return [other for _, _, other in sorted(ranked)[:limit]]


def term_counts(
    chunk: Chunk,
    fields: Sequence[FieldKeys] = FIELDS,
    words: Callable[[str], Sequence[str]] = lexemes,
    notes: Sequence[str] = (),
) -> dict[str, float]:
    """Return the words of `chunk` with their saturated counts; the keyword score is the sum of weight x count.

    >>> from ctxassembly import Chunk
    >>> counts = term_counts(Chunk("a", "d", "No water, no tea.", metadata={"title": "Water"}))
    >>> {word: round(count, 3) for word, count in counts.items()}
    {'water': 0.076, 'no': 0.076, 'tea': 0.061}

    Args:
        chunk: whose text is searched.
        fields: metadata keys, or dotted paths, whose values are searched with it.
        words: a function from a text to its words as they are to be found.
        notes: a model's notes on it, which are searched as its text.
    """
    texts = (*(_field_text(key, chunk) for key in fields), "\n".join((*notes, chunk.text)))
    return {word: ts_rank(times) for word, times in count_occurrences([words(text) for text in texts]).items()}


def key_tuple(keys: FieldKeys) -> tuple[str, ...]:
    """Return the keys of a field as a tuple.

    >>> key_tuple("title"), key_tuple(None)
    (('title',), ())
    """
    return (keys,) if isinstance(keys, str) else tuple(keys or ())


def _field_text(keys: FieldKeys, chunk: Chunk) -> str:
    """Return the text under a metadata key or path; for any other value its JSON, whose words a table would index."""
    values = (get_path(chunk.metadata, key) for key in key_tuple(keys))
    value = next((value for value in values if value is not None), None)
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)
