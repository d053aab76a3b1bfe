"""All strategies by name, and what each needs."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Literal, NamedTuple

from quality import (
    baselines,
    context_forge_peer,
    dsrag,
    haystack_peers,
    langchain_peers,
    llamaindex_peers,
    llmslim_peer,
    minilm,
    oracle,
    trimwise_peers,
)
from quality.data import QuestionSet
from quality.filling import Strategy
from quality.ours import CONFIGS, MiniLM, ours

Kind = Literal["baseline", "ours", "peer", "re-implemented", "oracle"]


class Entry(NamedTuple):
    kind: Kind
    make: Callable[[QuestionSet], Strategy]
    needs: tuple[str, ...] = ()
    """Modules that have to be installed."""

    @property
    def missing(self) -> str | None:
        """The first of them that isn't."""
        return next((module for module in self.needs if find_spec(module) is None), None)


STRATEGIES: dict[str, Entry] = {
    "concatenation": Entry("baseline", baselines.concatenation),
    "bm25-rerank": Entry("baseline", baselines.bm25_rerank, ("bm25s",)),
    **{name: Entry("ours", ours(config)) for name, config in CONFIGS.items()},
    "auto-scored": Entry("ours", ours(CONFIGS["auto"], MiniLM()), (minilm.NEEDS,)),
    "langchain-reorder": Entry("peer", langchain_peers.reorder, (langchain_peers.NEEDS,)),
    "langchain-redundant": Entry("peer", langchain_peers.redundant_filter, (langchain_peers.NEEDS, minilm.NEEDS)),
    "langchain-filter": Entry("peer", langchain_peers.embeddings_filter, langchain_peers.FILTER_NEEDS),
    "llamaindex-prev-next": Entry("peer", llamaindex_peers.prev_next, (llamaindex_peers.NEEDS,)),
    "llamaindex-reorder": Entry("peer", llamaindex_peers.reorder, (llamaindex_peers.NEEDS,)),
    "llamaindex-sentences": Entry("peer", llamaindex_peers.sentences, (llamaindex_peers.NEEDS, minilm.NEEDS)),
    "haystack-middle": Entry("peer", haystack_peers.lost_in_the_middle, (haystack_peers.NEEDS,)),
    "haystack-window": Entry("peer", haystack_peers.sentence_window, (haystack_peers.NEEDS,)),
    "llmslim": Entry("peer", llmslim_peer.focused, (llmslim_peer.NEEDS,)),
    "trimwise-auto": Entry("peer", trimwise_peers.auto, (trimwise_peers.NEEDS,)),
    "trimwise-hybrid": Entry("peer", trimwise_peers.hybrid, (trimwise_peers.NEEDS, minilm.NEEDS)),
    "context-forge": Entry("peer", context_forge_peer.forged, (context_forge_peer.NEEDS,)),
    "dsrag-segments": Entry("re-implemented", dsrag.segments),
    "oracle-chunks": Entry("oracle", oracle.oracle_chunks),
    "oracle-sentences": Entry("oracle", oracle.oracle_sentences),
}
