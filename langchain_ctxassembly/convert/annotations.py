"""Citations of ours as LangChain's annotations of a text block."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from langchain_core.messages.content import Citation as Annotation
from langchain_core.messages.content import create_citation

from ctxassembly.data.chunks import Span
from ctxassembly.data.citations import Citation, Source
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.integrations.search_results import address
from ctxassembly.serialization.plain import plain


def annotated(
    citation: Citation,
    keys: MetadataKeys,
    place: Span,
    sources: Iterable[Source],
    cited_text: str | None = None,
    **extras: Any,
) -> Annotation:
    """The annotation that says: the text at `place` cites `citation`, of which it means `sources`.

    `cited_text` is the citation's snippet where nothing more exact is known. Everything is plain data.
    """
    title = keys.read(citation.metadata, "title")
    return create_citation(
        url=address(citation, keys) or None,
        title=plain(title) if isinstance(title, str) and title.strip() else citation.source,
        start_index=place[0],
        end_index=place[1],
        cited_text=citation.snippet if cited_text is None else cited_text,
        label=citation.label,
        document_id=citation.document_id,
        reference=citation.reference,
        pages=list(citation.pages),
        sources=[plain(source) for source in sources],
        **extras,
    )
