"""Chunks of documents: as they are stored, as they are found, and how a store is asked for them.

Offsets count characters (code points) and are half-open, `(start, end)`. Scores are whatever the retriever gave, higher
is better; the rank decides.

An offset counts in the page or section that the chunk comes from, found in its metadata (`section_of`): loaders make a
document of each page, and splitters by headings one of each section, so offsets start again at 0 in each.

Documents of several searches may share an id but not their texts: each is a document of its own
(`separate_shared_ids`). Two tools over two collections may both find chunks of a `handbook.pdf`. Where both have a
chunk of the same id, and its texts differ, the two documents aren't one: as one they would be cited by one label, and
their chunks joined as if the one went on in the other. What one search found is of one collection, so all its chunks of
such a document go together.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from ctxassembly.data.metadata_keys import MetadataKeys, normalize_key, with_first_keys
from ctxassembly.safe_repr import to_id, to_text

Span = tuple[int, int]
Identity = tuple[str, str, str]
"""The document, the id and the text that make a chunk: see `Chunk.identity`."""
SectionKey = tuple[tuple[str, "str | int | float"], ...]
"""A page or a section of a document, by the metadata that name it, sorted; empty for the document itself."""


@dataclass(frozen=True, slots=True)
class ChunkOrigin:
    """The origin of a chunk, as its reader or splitter recorded it.

    The adapters fill it in. Chunks made by hand, with offsets that count in the document, need none.

    Here page 7 of a file, whose offsets count from its own beginning, is a document of its own in the store:

    >>> page = ChunkOrigin(section=(("page", 7),), lookup_id="leaflet.pdf/7")
    >>> chunk = Chunk("leaflet#9", "leaflet.pdf", "Drink water.", start=0, origin=page)
    >>> chunk.document_id, chunk.lookup_id
    ('leaflet.pdf', 'leaflet.pdf/7')
    """

    section: SectionKey = ()
    """The page, the section or the larger chunk (its id under `PARENT_KEY`) that `start` counts in."""
    near: int | None = None
    """Approximate offset, where `start` is unknown because another tool replaced the slice by a longer text."""
    lookup_id: str | None = None
    """The id by which the store finds the document; None if it is `Chunk.document_id`."""
    has_no_id: bool = False
    """True if the chunk came without an id, so that its own follows from its place: the pieces of a chunk share it."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored slice of a document.

    >>> Chunk("gastro#0", "gastro", "Drink water.", index=0, metadata={"source": "gastro.pdf"}).document_id
    'gastro'
    """

    id: str
    document_id: str
    text: str
    index: int | None = None
    """Place among the chunks of its document, from 0; None if the store keeps no order."""
    start: int | None = None
    """Character offset of `text` in the document, if known. The engine checks it against the text before using it."""
    prev_id: str | None = None
    next_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    vector: Sequence[float] | None = field(default=None, repr=False, compare=False)
    """The embedding of `text`, if it is at hand. Semantic deduplication then doesn't compute one."""
    origin: ChunkOrigin | None = None
    hidden_from_model: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """Metadata keys that the model must not read in a summary or under `header_keys`. LlamaIndex's nodes have such."""
    hidden_from_header: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """The keys of `hidden_from_model` that no header may use for a source, a page or a section; it uses the next key
    that holds one. A citation, which the model doesn't read, uses them."""

    def is_hidden_from_model(self, key: str) -> bool:
        """Return True if the model must not read the value under `key`, which may be a dotted path."""
        return key in self.hidden_from_model or ("." in key and key.partition(".")[0] in self.hidden_from_model)

    @property
    def identity(self) -> Identity:
        """The key under which a chunk is the same one. The same id with another text is another chunk.

        Two collections may both have a `handbook.pdf#0`. White space around the text doesn't count.

        >>> one, other = Chunk("gastro#0", "gastro", "Drink."), Chunk("gastro#0", "gastro", "Don't drink.")
        >>> one.identity == other.identity, one.identity == Chunk("gastro#0", "gastro", " Drink. ").identity
        (False, True)
        """
        text = self.text
        # Nobody has checked the chunk yet: its text may be anything.
        return self.document_id, self.id, text.strip() if isinstance(text, str) else repr(text)

    @property
    def lookup_id(self) -> str:
        """The id by which the store finds the document."""
        return self.document_id if self.origin is None else self.origin.lookup_id or self.document_id


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved chunk. Its rank is its place in the list of hits, best first.

    >>> Hit(Chunk("gastro#0", "gastro", "Drink water."), score=0.9).chunk.text
    'Drink water.'
    """

    chunk: Chunk
    score: float | None = None


@dataclass(frozen=True, slots=True)
class ReadHit(Hit):
    """A hit out of an earlier context, with the text that is read there.

    For the same query it stays relevant: otherwise each further assembly would leave out some of what the one before
    it chose.
    """

    query: str | None = None
    """The query of that context."""
    given: str = ""
    """The blocks of that context of which this is the first chunk: the text that the caller had."""


class RetrievedFragment(NamedTuple):
    """A hit as the views of a context show it."""

    rank: int
    chunk: Chunk
    """Without its vector. A long text is reduced to its two ends; a hit that is only named has no text."""
    score: float | None
    characters: int
    """Length of the whole text."""


class OffsetRange(NamedTuple):
    """A request for the chunks around an offset: the last ones that begin before it, those at it, the first after it.

    >>> from ctxassembly import MemoryStore
    >>> said = ((0, "Drink."), (7, "Rest."), (13, "Go home."), (22, "Call us."))
    >>> store = MemoryStore(Chunk(f"gastro@{start}", "gastro", text, start=start) for start, text in said)
    >>> [chunk.text for chunk in store.fetch([ChunkRef("gastro", around_offset=OffsetRange(start=7, per_side=1))])]
    ['Drink.', 'Rest.', 'Go home.']
    """

    start: int
    per_side: int
    """Number of chunks wanted on each side."""
    section: SectionKey = ()
    """The page or section that the offset counts in."""
    page_key: str | None = None
    """The key in `section` that holds the page number. Neighbors may then be on other pages, whatever the other
    keys say. None asks for chunks of this part alone."""
    document_id: str | None = None
    """The id that groups the pages, for a store that keeps each page as a document of its own."""


class ChunkRef(NamedTuple):
    """A request to a store: for one chunk by index or by id, or, with neither, for all chunks of the document.

    With `around_offset` it asks for the chunks next to an offset, and with `named_in` for the first chunk of each other
    document whose title that text mentions. Only a store whose `finds_offsets` or `finds_titles` is True gets such a
    request.

    >>> ChunkRef("gastro", index=1).chunk_id is None
    True
    """

    document_id: str
    index: int | None = None  # type: ignore[assignment]  # it hides the method of tuples
    chunk_id: str | None = None
    around_offset: OffsetRange | None = None
    named_in: str | None = None
    """A text of the document, whose words in a row are compared with titles: see `ctxassembly.text.titles`."""


ChunkFlag = Literal["keep_whole", "no_neighbors"]


def find_flagged(chunks: Iterable[Chunk], flag: ChunkFlag, keys: MetadataKeys) -> list[int]:
    """Return the places of `chunks` whose metadata have the flag: True or 1, also as text, as in some stores."""
    names, found = with_first_keys(getattr(keys, flag)), list[int]()
    for place, chunk in enumerate(chunks):
        if not names.isdisjoint(chunk.metadata):  # nearly none has it
            value = keys.read(chunk.metadata, flag)
            if value is True or (to_text(value) or "").lower() in ("true", "1"):
                found.append(place)
    return found


_MAX_NAME_CHARS = 40
"""More than any name below has; longer names aren't remembered."""
_SECTION_KEYS = re.compile(
    r"""
    page(_label|_number|_name|_no|_num|_index|_idx)?|slide(_number|_no|_index)?|sheet(_name)?
    |(sub)?section|chapter|h[1-6]|header_[1-6]|header|heading|headings
    |(section|chapter|heading|header)_(id|no|number|name|title|path)|parent_headers
    |seq_num|row|row_number|element_id
    """,
    re.VERBOSE,
)
_PLAIN_TYPES = (str, int, float)
"""Exact types only: a class of the caller may raise anything when it is compared."""


def section_of(metadata: Mapping[str, Any], keys: MetadataKeys) -> SectionKey:
    """Return the metadata that name a page or section, sorted by key; empty if there is none.

    >>> section_of({"page": 3, "source": "gastro.pdf", "Header 2": "Fasting"}, MetadataKeys())
    (('Header 2', 'Fasting'), ('page', 3))
    """
    found: dict[str, Any] = {}
    if type(metadata) is not dict:  # callers can assign anything to a document
        return ()
    for name in (*keys.page, *keys.section, *keys.sheet, *keys.row_number):
        value = metadata.get(name)
        if type(value) in _PLAIN_TYPES:
            found[name] = value
    found |= {
        name: value
        for name, value in metadata.items()
        if type(value) in _PLAIN_TYPES and type(name) is str and len(name) <= _MAX_NAME_CHARS and _is_section_key(name)
    }
    return tuple(sorted(found.items()))


def origin_of(metadata: Mapping[str, Any], keys: MetadataKeys) -> ChunkOrigin | None:
    """Return the page or section of an unindexed chunk's offset, and the store's name of its document.

    >>> origin_of({"page": 3, "source": "gastro.pdf"}, MetadataKeys()).section
    (('page', 3),)
    """
    part, lookup_id = section_of(metadata, keys), keys.read(metadata, "lookup_id")
    return ChunkOrigin(part, lookup_id=to_id(lookup_id)) if part or lookup_id is not None else None


@lru_cache(maxsize=4096)
def _is_section_key(key: str) -> bool:
    return _SECTION_KEYS.fullmatch(normalize_key(key)) is not None


def separate_shared_ids(searches: Sequence[Sequence[Chunk]]) -> list[Sequence[Chunk]]:
    """Return the chunks of each search, the later one of two documents that disagree under another id.

    A store still finds a renamed document by its own id (`Chunk.lookup_id`).

    >>> ours, theirs = Chunk("a#0", "a", "Leave is 25 days."), Chunk("a#0", "a", "Leave is 30 days.")
    >>> [[chunk.document_id for chunk in found] for found in separate_shared_ids([[ours], [theirs], [ours, theirs]])]
    [['a'], ['a (2)'], ['a', 'a']]
    """
    if len(searches) < 2:
        return [*searches]
    known: dict[str, list[dict[str, str]]] = defaultdict(list)
    separated: list[Sequence[Chunk]] = []
    for chunks in searches:
        texts: dict[str, dict[str, str]] = defaultdict(dict)
        for chunk in chunks:
            _, chunk_id, text = chunk.identity
            texts[chunk.document_id].setdefault(chunk_id, text)
        numbers = {document_id: _document_number(known[document_id], own) for document_id, own in texts.items()}
        if any(numbers.values()):
            used_ids = {chunk.document_id for some in searches for chunk in some}
            separated.append([renumber_document(chunk, numbers[chunk.document_id], used_ids) for chunk in chunks])
        else:
            separated.append(chunks)
    return separated


def _document_number(known: list[dict[str, str]], texts: Mapping[str, str]) -> int:
    """Return the place of the first of the `known` documents that agrees with `texts`, texts by chunk id; add to it."""
    for place, document in enumerate(known):
        if all(document.get(chunk_id, text) == text for chunk_id, text in texts.items()):
            document.update(texts)
            return place
    known.append(dict(texts))
    return len(known) - 1


def renumber_document(chunk: Chunk, number: int, used_ids: Collection[str]) -> Chunk:
    """Return `chunk` as one of the document at `number` among those with its id; the first keeps the id."""
    if not number or not chunk.document_id:  # without a document, a chunk is one of its own
        return chunk
    name = f"{chunk.document_id} ({number + 1})"
    while name in used_ids:
        name += "*"
    origin = replace(chunk.origin or ChunkOrigin(), lookup_id=chunk.lookup_id)
    return replace(chunk, document_id=name, origin=origin)
