"""A small question set that needs no download: Python's language reference, which ships with Python.

The heading of a section, with the topic that it stands in, is the question; it is taken out of the text. The evidence
is the section's first paragraph. Good for tests and for a first look, not for claims: headings aren't questions.
"""

from __future__ import annotations

import re
from pydoc_data.topics import topics

from ctxassembly.text.titles import comparable, comparable_title
from quality.data import Document, Span
from quality.sources import Asked, Source

LEAST_CHARS = 80
"""Of evidence: shorter paragraphs only announce what follows."""
_HEADING = re.compile(r"^([^\n]+)\n([*=\-~])\2{2,}\n+", re.MULTILINE)


def python_reference() -> Source:
    """All topics, and a question for each section that begins with a paragraph."""
    documents, questions = [], []
    for name, full in sorted(topics.items()):
        # What split gives: the text before the first heading, then heading, underline and text of each section.
        before, *rest = _HEADING.split(full)
        text, title = before, name
        for number, (heading, _, body) in enumerate(zip(rest[::3], rest[1::3], rest[2::3], strict=True)):
            title = heading if not number and not before.strip() else title
            first = body.split("\n\n")[0].rstrip()
            if len(first) >= LEAST_CHARS and not first[0].isspace():
                asked = heading if heading == title else f"{title}: {heading}"
                evidence = Span(name, len(text), len(text) + len(first))
                questions.append(Asked(f"{name}-{number:02}", asked, (evidence,)))
            text += body
        documents.append(Document(name, title, text))
    return Source(tuple(documents), tuple(questions))


def python_two_hops() -> Source:
    """The same with questions whose evidence mentions another topic by its title, not mentioned in the question.

    The evidence is that paragraph and the first one of the other topic.
    """
    source = python_reference()
    texts = {document.id: document.text for document in source.documents}
    titles = {document.id: comparable_title(document.title) for document in source.documents}
    first = {span.document_id: span for question in reversed(source.questions) for span in question.evidence}
    questions = []
    for question in source.questions:
        (span,) = question.evidence
        paragraph, asked = comparable(texts[span.document_id][span.start : span.end]), comparable(question.text)
        mentioned = (name for name, title in titles.items() if title and title in paragraph and title not in asked)
        other = next((name for name in mentioned if name != span.document_id and name in first), None)
        if other is not None:
            questions.append(Asked(f"{question.id}-{other}", question.text, (span, first[other])))
    return Source(source.documents, tuple(questions))
