"""A warning if labeled nodes are passed to an engine that will split and number them again.

CitationQueryEngine cuts the nodes of its postprocessors into pieces and writes "Source 1:", "Source 2:" ... above them,
so that a marker in the answer names another source than its label. Nothing in a node can notice: the engine reads its
text and copies its fields, as any serialization does. But LlamaIndex's instrumentation keeps the name of the running
object, for spans, whether or not anybody listens; and the engine is what runs when it calls its retriever and
postprocessors. Further down, in a retriever within a retriever, it isn't. `resolve(response)` refuses such nodes in any
case.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from llama_index_instrumentation.dispatcher import DISPATCHER_SPAN_DECORATED_ATTR
from llama_index_instrumentation.span import active_span_id

from ctxassembly.user_warnings import WarnOnce, with_remedy

SPLIT_REMEDY = (
    "index.as_query_engine(node_postprocessors=[postprocessor], text_qa_template=CITATION_QA_TEMPLATE, "
    "refine_template=CITATION_REFINE_TEMPLATE), with the templates of llamaindex_ctxassembly, or "
    "AnswerQueryEngine.from_args(index)"
)
_MODULE = "llama_index.core.query_engine.citation_query_engine"
Method = TypeVar("Method", bound=Callable[..., Any])


def warn_if_split(once: WarnOnce) -> None:
    """Warn if a CitationQueryEngine is running."""
    if (engine := _splitting_engine()) is not None:
        fact = f"{engine[:40]} splits labeled nodes and numbers the pieces, so its answer cites other sources"
        once.warn(with_remedy(fact, SPLIT_REMEDY), key="split")


def without_span(method: Method) -> Method:
    """Return `method`, left as it is where LlamaIndex would put a span around it: it has to see the caller's."""
    setattr(method, DISPATCHER_SPAN_DECORATED_ATTR, True)
    return method


def _splitting_engine() -> str | None:
    """Return the class of the CitationQueryEngine that runs, if one does."""
    span_id, module = active_span_id.get(), sys.modules.get(_MODULE)
    if span_id is None or module is None:
        return None
    name = span_id.partition(".")[0]
    return name if any(kind.__name__ == name for kind in _all_subclasses(module.CitationQueryEngine)) else None


def _all_subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    yield kind
    for one in kind.__subclasses__():
        yield from _all_subclasses(one)
