"""A context as one of a conversation: its labels are reserved before it is made, and what is known is pointed to."""

from __future__ import annotations

from dataclasses import replace

from ctxassembly.assembly.outcome import Found
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.render.page import Page
from ctxassembly.assembly.units import PARTS, Barred
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.conversations.messages import given_above_note
from ctxassembly.data.citations import Block
from ctxassembly.wording.metadata_labels import MetadataReader


def most_labels(config: AssemblyConfig, pool: Pool) -> int:
    """Return how many labels a context of `pool` has at most."""
    is_whole = config.enabled and config.cite == "document"
    return len(pool.documents if is_whole else pool.candidates) * (PARTS if config.order == "auto" else 1)


def in_conversation(
    context: Context, page: Page, found: Found, barred: Barred, conversation: Conversation | None
) -> Context:
    """Return `context` with the citations of `conversation`; without new text, a line says where all is."""
    if conversation is None:
        return context
    context = replace(context, earlier_citations=conversation.citations)
    labels = barred.sent_as
    if context.text or not labels:
        return context
    for sources in (_sources_of_copies(page, found), []):
        text = given_above_note(context, labels.values(), sources)
        tokens = page.count(text)
        if tokens <= page.max_tokens and len(text) <= (page.config.max_characters or len(text)):
            trace = replace(context.trace, token_count=tokens, character_count=len(text))
            block = Block(text, (0, len(text)), None)
            return replace(context, text=text, token_count=tokens, blocks=(block,), trace=trace)
    return context


def _sources_of_copies(page: Page, found: Found) -> list[str]:
    """Return the names of the other documents that have the text of chunks which were left out as sent."""
    copies, config = found.copies, page.config
    reader = MetadataReader(config.keys, config.language, for_header=True)
    sent = {page.pool.candidates[number].key for number in page.sent.labels}
    pairs = ((copies[one.key][0], one) for one in (*found.admitted.candidates, *found.neighbors) if one.key in copies)
    return [
        reader.source(copy.chunk)
        for original, copy in pairs
        if original.key in sent and original.chunk.document_id != copy.chunk.document_id
    ]
