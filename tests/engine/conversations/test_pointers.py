"""Sentences in place of a context, in each language and format."""

from __future__ import annotations

import pytest

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from ctxassembly.conversations.messages import dropped_sources_note, see_above_note
from ctxassembly.wording.languages import LANGUAGES

HITS = [Hit(Chunk(name, name, f"The {name}.", metadata={"source": f"{name}.pdf"})) for name in ("falcon", "ember")]


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_says_where_sources_are(language: str) -> None:
    context = assemble(HITS, AssemblyConfig(language=language, first_label=11))  # type: ignore[arg-type]
    above, earlier = see_above_note(context, HITS), dropped_sources_note(context)
    assert above.endswith(" ([11], [12]).")
    assert earlier.endswith(": [11], [12]")
    assert language == "en" or not above.startswith("The sources")
    assert len({see_above_note(assemble(HITS, AssemblyConfig(language=code)), HITS) for code in LANGUAGES}) == len(
        LANGUAGES
    )


@pytest.mark.parametrize(
    ("form", "above", "earlier"),
    [
        ("source", " ([SOURCE 2]).", ": [SOURCE 1], [SOURCE 2]"),
        ("xml", " ([2]).", ": [1], [2]"),
        ("minimal", " above.", ": falcon.pdf, ember.pdf"),
        ("grouped", " above.", ": falcon.pdf, ember.pdf"),
    ],
)
def test_labels_are_written_as_an_answer_cites_them(form: str, above: str, earlier: str) -> None:
    context = assemble(HITS, AssemblyConfig(format=form))  # type: ignore[arg-type]
    assert see_above_note(context, HITS[1:]).endswith(above)
    assert dropped_sources_note(context).endswith(earlier)


def test_a_copy_stands_under_the_label_of_its_original() -> None:
    """The line names its document, of which nothing else would tell."""
    copy = Hit(Chunk("copy", "copy", "The falcon.", metadata={"source": "copy.pdf"}))
    context = assemble([*HITS, copy])
    assert see_above_note(context, [copy]).endswith(" ([1]). The same text is in: copy.pdf")
    unnamed = Hit(Chunk("copy", "copy", "The falcon."))
    assert see_above_note(assemble([*HITS, unnamed]), [unnamed]).endswith(" ([1]).")


def test_what_was_dropped_has_no_label() -> None:
    dropped = Hit(Chunk("long", "long", "A long text. " * 50))
    context = assemble([*HITS, dropped], AssemblyConfig(max_tokens=30, granularity="chunk"))
    assert see_above_note(context, [dropped]) == "The sources that were found are given above."
