"""The published five-stage system: expand, join, group by document, drop from the tail, add summaries and facts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from ctxassembly.assembly.call import Call, SystemFlow
from ctxassembly.assembly.render.headers import page_summary
from ctxassembly.assembly.supplement import Supplement, best_similarity
from ctxassembly.assembly.text_blocks import Style, TextBlock, best_of
from ctxassembly.config.assembly import AssemblyConfig, Neighbors
from ctxassembly.data.candidates import CONTAINED, Candidate, TextPiece
from ctxassembly.data.validation import Choice, NonBlank, Range
from ctxassembly.errors import ConfigError
from ctxassembly.published.common import Published, by_score, drop_copies, longest_fitting, writer
from ctxassembly.wording.languages import LANGUAGES, Code

SUMMARY_KEYS = AssemblyConfig().summary_key
Document = tuple[Candidate, ...]


@dataclass(frozen=True)
class FiveStage(Published):
    """Expand each hit, cut overlap and join, group by document, drop whole documents from the tail, add summaries.

    >>> from ctxassembly import Chunk, Hit, MemoryStore, assemble
    >>> said = ("Visits begin at two.", "Visits end at eight.", "Dogs stay outside.")
    >>> chunks = [Chunk(f"a#{n}", "a", text, n, metadata={"source": "a.pdf", "page": 3}) for n, text in enumerate(said)]
    >>> print(assemble([Hit(chunks[1], 0.9)], FiveStage(), store=MemoryStore(chunks)))
    [1] Uit a.pdf (pagina 3):
    Visits begin at two.
    Visits end at eight.
    Dogs stay outside.
    """

    enabled: bool = True
    """Whether to assemble. False writes each hit as a block of its own, in the order given."""
    expand_window: Annotated[int, Range(0, 3)] = 1
    """The chunks on each side of a hit that are read with it, 0 to 3. A neighbor scores half of its hit per step."""
    max_tokens: Annotated[int, Range(500, 16_000)] = 8_000
    """The most tokens, 500 to 16,000. Whole documents drop from the tail until the text of the chunks fits."""
    min_overlap_chars: Annotated[int, Range(0)] = 20
    """An overlap of more characters than this with the chunk before is cut, at least 0."""
    language: Annotated[Code, Choice(LANGUAGES)] = "nl"
    """The language of headers and prompts."""
    summary_label: Annotated[str, NonBlank()] = "Pagina context"
    """The word before the summary of a page."""
    supplement_separator: Annotated[str, NonBlank()] = "--- AANVULLENDE ZOL INFORMATIE ---"
    """The line above the supplement."""
    supplement_position: Literal["before", "after"] = "after"
    """The place of the supplement: before the documents or after them."""
    supplement_similarity: float | None = None
    """The best vector similarity from which the supplement is left out; None always leaves it out. Read from the hits'
    metadata under `vector_similarity`; if none has it, from their scores. A supplement is never left out where nothing
    was retrieved, nothing has a score, or the intent is one of `supplement_intents`."""
    supplement_intents: tuple[str, ...] = ()
    """The intents of a question for which the supplement is always added: see `Supplement.intent`."""
    format: Literal["numbered", "minimal"] = "numbered"
    """"minimal" writes the text alone, for an answer that is spoken."""
    neighbors: Neighbors = "auto"
    """The access control for neighbors: see `AssemblyConfig.neighbors`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("supplement_separator", "summary_label"):
            if len(getattr(self, name).splitlines()) > 1:
                raise ConfigError(name, "a text on one line", getattr(self, name))
        intents = self.supplement_intents
        if not isinstance(intents, (tuple, list)) or not all(isinstance(one, str) for one in intents):
            raise ConfigError("supplement_intents", "a tuple of strings", intents)
        object.__setattr__(self, "supplement_intents", tuple(intents))

    def flow(self, call: Call) -> SystemFlow:
        """Yield requests, and return the context."""
        own_lines = (self.supplement_separator, f"[{self.summary_label}:")
        style = Style(self.format, self.language, self.keys, own_lines=own_lines)
        if call.supplement is not None and not self._opens_gate(call, call.supplement):
            call = replace(call, supplement=None)
        separator, position = self.supplement_separator, self.supplement_position
        write = writer(call, style, fits=self._fits, separator=separator, position=position)

        def join(documents: Sequence[Document]) -> list[TextBlock]:
            return [self._join(call, style, document) for document in documents]

        def tokens_of(blocks: Sequence[TextBlock]) -> int:
            return self.count(write(blocks)) if self.exact else sum(map(self._chunk_tokens, blocks))

        def fit(blocks: Sequence[TextBlock]) -> Sequence[TextBlock]:
            return longest_fitting(blocks, lambda kept: tokens_of(kept) <= self.max_tokens)

        hits = drop_copies(call, by_score(call.hits), lambda hit: hit.chunk.identity)
        chunks = (yield from call.expand(hits, self.expand_window, self)) if self.enabled else call.hits
        documents = yield from call.stage("group", chunks, self._group)
        joined = yield from call.stage("join", documents, join)
        blocks = yield from call.stage("budget", joined, fit)
        return (yield from write.context(blocks, max_tokens=self.max_tokens))

    def _chunk_tokens(self, block: TextBlock) -> int:
        """Return the tokens of the texts of chunks in a block, without what is between them."""
        return sum(self.count(piece.text) for passage in block.passages for piece in passage)

    def _fits(self, text: str) -> bool:
        return not self.exact or self.count(text) <= self.max_tokens

    def _group(self, chunks: Sequence[Candidate]) -> list[Document]:
        """Return the chunks by document: documents by their best score, chunks by index."""
        if not self.enabled:
            return [(chunk,) for chunk in chunks]
        documents: dict[str, list[Candidate]] = {}
        for chunk in chunks:
            documents.setdefault(chunk.chunk.document_id, []).append(chunk)
        best = {
            name: max([one.score for one in found if one.score is not None], default=-math.inf)
            for name, found in documents.items()
        }
        ranked = sorted(documents, key=lambda name: -best[name])
        return [tuple(sorted(documents[name], key=lambda chunk: chunk.position)) for name in ranked]

    def _join(self, call: Call, style: Style, document: Document) -> TextBlock:
        """Return the block of a document: overlap with the previous index is cut, and a gap is marked."""
        passages: list[list[TextPiece]] = []
        before: Candidate | None = None
        for chunk in document:
            text, overlap = chunk.chunk.text, 0
            is_next = before is not None and chunk.position == before.position + 1
            if is_next and before is not None:
                overlap = _overlap(before.chunk.text, text, self.min_overlap_chars)
            piece = TextPiece(chunk, overlap, len(text), "\n" if is_next and not overlap else "", overlap)
            if overlap == len(text):
                call.drop(chunk, CONTAINED, before)
            elif is_next:
                passages[-1].append(piece)
            else:
                passages.append([piece])
            before = chunk
        summary = next(filter(None, (page_summary(one.chunk, SUMMARY_KEYS) for one in document)), "")
        lines = (f"[{self.summary_label}: {style.safe_text(summary.strip(), at_line=False)}]",) if summary else ()
        return TextBlock(tuple(map(tuple, passages)), style.heading(best_of(document)), lines)

    def _opens_gate(self, call: Call, supplement: Supplement) -> bool:
        """Return True if the supplement is added: by the best vector similarity, and by the intent."""
        best = best_similarity(call.hits)
        if best is None or supplement.force or supplement.intent in self.supplement_intents:
            return True
        is_open = self.supplement_similarity is not None and best < self.supplement_similarity
        if not is_open:
            call.note(f"supplement: suppressed, the best similarity is {best:g}")
        return is_open

    @property
    def token_limit(self) -> int:
        """The same as `max_tokens`."""
        return self.max_tokens


def _overlap(before: str, text: str, min_chars: int) -> int:
    """Return the number of characters that end `before` and begin `text`: more than `min_chars`, else 0."""
    head = text[: min_chars + 1]
    at = before.find(head) if len(head) > min_chars else -1
    while at >= 0 and not text.startswith(before[at:]):  # the first that fits is the longest
        at = before.find(head, at + 1)
    return len(before) - at if at >= 0 else 0
