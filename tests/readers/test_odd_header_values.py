"""No value under a key that a header or a citation reads costs a context, whatever a reader wrote there."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any
from uuid import uuid4

import pytest
from fuzz.odd import ODD
from langchain_core.documents import Document
from llama_index.core.schema import NodeWithScore, TextNode

from ctxassembly import AssemblyConfig, Context, Heading, MetadataKeys
from langchain_ctxassembly import ContextAssembler
from llamaindex_ctxassembly import ContextAssemblyPostprocessor

# The indexes are ordinary ones, whose chunks don't know their places.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.errors.NothingToJoinWarning")

NAMES = [field.name for field in fields(MetadataKeys) if field.name != "page_base"]
NESTED = {key.partition(".")[0] for name in NAMES for key in getattr(MetadataKeys(), name) if "." in key}
KEYS = sorted({*(getattr(MetadataKeys(lookup_id="lookup_id"), name)[0] for name in NAMES), *NESTED, "page_summary"})
"""One key of each particular, and what has several of them nested in it."""
TEXTS = ("The looms came.", "Wool was dyed.", "Flax was spun.")


def metadata(key: str, value: Any, place: int) -> dict[str, Any]:
    """The second chunk has the odd value, and the first one an ordinary page of the same file."""
    own = {"source": "valley.pdf", "page": place}
    return {**own, key: value} if place == 1 else own


def by_langchain(key: str, value: Any, config: AssemblyConfig) -> Context:
    documents = [
        Document(text, id=str(uuid4()), metadata=metadata(key, value, place)) for place, text in enumerate(TEXTS)
    ]
    made = ContextAssembler(config=config).as_context().invoke({"documents": documents, "query": None})
    assert isinstance(made, Context)
    return made


def by_llamaindex(key: str, value: Any, config: AssemblyConfig) -> Context:
    nodes = [TextNode(text=text, metadata=metadata(key, value, place)) for place, text in enumerate(TEXTS)]
    return ContextAssemblyPostprocessor(config=config).context([NodeWithScore(node=each, score=0.5) for each in nodes])


def everything(heading: Heading) -> str:
    """A header of all that a header may show."""
    return f"[{heading.number}] {heading.source} {heading.section} {heading.sheet} {heading.row} {heading.pages}"


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("assembled", [by_langchain, by_llamaindex])
def test_an_odd_value_costs_no_text(assembled: Any, key: str) -> None:
    config = AssemblyConfig(format=everything, header_keys=(key,), prefer_version="newest")
    for name in ODD:
        value = ODD[name]()
        context = assembled(key, value, config)
        assert all(text in context.text for text in TEXTS), name
        json.dumps(context.to_dict(), allow_nan=False)
