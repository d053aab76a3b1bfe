"""What each kind of note is worth on the made set: `python tests/bench/enrichment.py`.

The pages are without the name of their subject, as pieces of a longer document are: a summary or a context has it. The
notes are written by hand, as a model would write them. Share of questions whose best chunk is the right one, and mean
reciprocal rank.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ctxassembly import MemoryIndex, RetrievalConfig, retrieve
from ctxassembly.answering import AskModel
from ctxassembly.enrichment import EnrichmentConfig, enrich, estimate_enrichment, question_channel, question_chunks
from ctxassembly.retrieval import Node, Question, Taxonomy
from made_set import CATEGORIES, PAGES, affinity, embed, embed_all

NONE = EnrichmentConfig(summary=True, questions=0, context=False, categories=(), place=False, date=False)
KINDS: Mapping[str, EnrichmentConfig | None] = {
    "nothing": None,
    "summary": NONE,
    "questions": replace(NONE, summary=False, questions=2),
    "context": replace(NONE, summary=False, context=True),
    "category": replace(NONE, summary=False, categories=CATEGORIES),
    "entity type": replace(NONE, summary=False, entity_types=tuple(dict.fromkeys(page.subject for page in PAGES))),
    "place": replace(NONE, summary=False, place=True),
    "all of these": EnrichmentConfig(
        categories=CATEGORIES, entity_types=tuple(dict.fromkeys(page.subject for page in PAGES))
    ),
}
PIECES = {page.id: page.text.partition(": ")[2] or page.text for page in PAGES}
SUBJECTS = Taxonomy([Node(name, name, name) for name in dict.fromkeys(page.subject for page in PAGES)])
"""Each subject is a type of its own, which its pages are about."""
PLACES = ("campus North", "campus South", "building C", "the villa")


def note(request: AskModel) -> str:
    """The notes on a page, of which `enrich` takes what it asked for."""
    text = json.loads(request.messages[-1]["content"])["chunks"][0]["text"]
    page = next(page for page in PAGES if PIECES[page.id] == text)
    place = next((place for place in PLACES if place in text), "")
    chunk = {"chunk": 1, "questions": page.noted, "context": f"On the {page.subject}."}
    labels = {"category": page.category, "entity_type": page.subject, "place": place, "date": ""}
    return json.dumps({"summary": f"About the {page.subject}.", "chunks": [chunk], **labels})


def measure(config: EnrichmentConfig | None, *, has_channel: bool = False) -> tuple[float, float, Any]:
    """The share of right chunks, the mean reciprocal rank, and the price."""
    chunks = [replace(page.chunk, text=PIECES[page.id], metadata={"title": ""}) for page in PAGES]
    index = MemoryIndex(chunks, embed_all([chunk.text for chunk in chunks]))
    price = config and estimate_enrichment(index, config)
    if config:
        enrich(index, note, config, embed=embed_all, progress=False)
    channels: dict[Any, Any] = {}
    if has_channel:
        asked = list(question_chunks(index))
        channels = {"questions": question_channel(MemoryIndex(asked, embed_all([q.text for q in asked])), index, embed)}
    ranks: list[float] = []
    for page in PAGES:
        asked_for = Question(page.question, intent=page.category)
        settings = RetrievalConfig(rescue="off", affinity=affinity())
        found = retrieve(asked_for, settings, index=index, embed=embed, channels=channels, taxonomy=SUBJECTS)
        ids = [one.chunk.id for one in found.chunks]
        ranks.append(1 / (ids.index(page.id) + 1) if page.id in ids else 0.0)
    return ranks.count(1.0) / len(ranks), sum(ranks) / len(ranks), price


def main() -> None:
    """Print a row for each kind of note."""
    print("noted                  best  MRR   tokens in  out at most")
    for name, config in KINDS.items():
        best, mean, price = measure(config)
        cost = f"{price.tokens_in:9,}  {price.max_tokens_out:11,}" if price else ""
        print(f"{name:21}  {best:.2f}  {mean:.2f}  {cost}")
    best, mean, _ = measure(KINDS["questions"], has_channel=True)
    print(f"questions as vectors   {best:.2f}  {mean:.2f}")


if __name__ == "__main__":
    main()
