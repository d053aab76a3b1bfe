"""Questions that a language model writes on chunks, for a team that has none yet."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any

from ctxassembly.concurrency import iter_completed
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.validation import check_int
from ctxassembly.errors import InputError
from ctxassembly.evaluate.models import text_model
from ctxassembly.evaluate.questions import Evidence, LabeledQuestion
from ctxassembly.evaluate.results import read_chunk
from ctxassembly.safe_repr import describe_error

MIN_CHUNK_CHARS = 80
"""Characters of a chunk below which nothing is asked about it: a title or a page number has no answer."""
CONCURRENT_CALLS = 4
_JSON = re.compile(r"\{.*\}", re.DOTALL)
PROMPT = """Write one question that a reader could ask who has never seen the text below, and that the text answers.
Don't mention "the text". Use your own words in the question, not the words of the text.
Copy from the text, character by character, the one or two sentences that answer it.
Reply with JSON only: {{"question": "...", "quotation": "..."}}. If the text answers no useful question: {{}}.

Text:
{text}"""


def questions_from(chunks: Iterable[Any], llm: Any, n: int = 50) -> tuple[LabeledQuestion, ...]:
    '''Return up to `n` questions that `llm` writes, each on another chunk, marked as `made`.

    The evidence is a quotation of the chunk, taken verbatim. A reply whose quotation isn't in the chunk is thrown away,
    and the next chunk is tried, up to twice `n` calls. The chunks are chosen by a hash, so that a second
    run chooses the same. Read the questions before you rely on them: models ask easy ones.

    >>> text = "Drink water until two hours before the examination. Eat nothing for six hours, and bring the leaflet."
    >>> def llm(prompt):
    ...     return """{"question": "When do I stop drinking?", "quotation": "Drink water until two hours before"}"""
    >>> [question] = questions_from([Chunk("gastro#0", "gastro", text)], llm)
    >>> question.text, question.evidence[0].quotation, question.made
    ('When do I stop drinking?', 'Drink water until two hours before', True)

    Args:
        chunks: the chunks of your index, or a sample of them: `Chunk`, documents of LangChain, or nodes of LlamaIndex.
        llm: a LangChain or LlamaIndex model, or a function from a prompt to a text. It is called from several threads.
        n: the maximum number of questions.

    Raises:
        ConfigError: `n` is no integer from 1.
        InputError: `chunks` has something else, `llm` is no model, or it failed on all chunks.
    '''
    check_int("n", n, 1)
    ask = text_model("llm", llm)
    usable = [chunk for chunk in map(read_chunk, chunks) if len(chunk.text.strip()) >= MIN_CHUNK_CHARS]
    usable.sort(
        key=lambda chunk: sha256(f"{chunk.document_id}\0{chunk.id}\0{chunk.text}".encode("utf-8", "replace")).digest()
    )
    found: dict[str, LabeledQuestion] = {}
    failures: list[str] = []
    for chunk, question in iter_completed(lambda chunk: _ask_about(chunk, ask), usable[: 2 * n], CONCURRENT_CALLS):
        if isinstance(question, Exception):
            failures.append(f"{chunk.id}: {describe_error(question)}")
        elif question:
            found.setdefault(question.id, question)
        if len(found) == n:
            break
    if failures and not found:
        raise InputError(f"the model wrote no question; the first failure: {failures[0]}")
    return tuple(found.values())


def _ask_about(chunk: Chunk, ask: Callable[[str], str]) -> LabeledQuestion | None:
    """Return the question that the model writes about `chunk`; None if its quotation isn't in the chunk."""
    reply = _JSON.search(ask(PROMPT.format(text=chunk.text)))
    try:
        written = json.loads(reply[0]) if reply else {}
    except ValueError:
        return None
    question, quotation = written.get("question"), written.get("quotation")
    if not isinstance(question, str) or not question.strip() or not isinstance(quotation, str):
        return None
    verbatim = verbatim_quotation(quotation, chunk.text)
    if verbatim is None:
        return None
    return LabeledQuestion(question.strip(), (Evidence(chunk.document_id or None, quotation=verbatim),), made=True)


def verbatim_quotation(quotation: str, text: str) -> str | None:
    r"""Return the slice of `text` that is `quotation` but for white space; None if there is none.

    >>> verbatim_quotation("Drink water.", "First: Drink\n water. Then rest.")
    'Drink\n water.'
    """
    words = quotation.split()
    found = re.search(r"\s+".join(map(re.escape, words)), text) if words else None
    return found and found[0]
