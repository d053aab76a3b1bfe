"""The pictures of the readme show what a page shows now."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from ctxassembly import Chunk, Context
from ctxassembly.tokens.counter import counter_for
from tour.execute import documents
from tour.picture import CROP, DOCUMENTS, HITS, THEMES, WORDS, chunks, context, draw, page, recorded, words

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
SIZE = (CROP[2] - CROP[0], CROP[3] - CROP[1])
each_picture = pytest.mark.parametrize(("theme", "path"), THEMES.items(), ids=THEMES)
MOST_BYTES = 200_000
count = counter_for("cl100k_base")


@pytest.fixture(scope="module")
def shown() -> Context:
    return context()


def brightness(path: Path) -> float:
    """The mean gray of a picture, 0 to 255."""
    with Image.open(path) as picture:
        gray = picture.convert("L")
        return sum(value * count for value, count in enumerate(gray.histogram())) / (gray.width * gray.height)


@each_picture
def test_a_picture_was_made_of_what_a_page_shows_now(theme: str, path: Path, shown: Context) -> None:
    stored = recorded(path)
    if stored[DOCUMENTS] != documents():
        pytest.skip("the picture was made on another version of Python's documents")
    assert stored[WORDS] == words(page(shown)), "the page has other words by now: make picture"


@each_picture
def test_a_picture_has_its_size_and_its_theme(theme: str, path: Path) -> None:
    with Image.open(path) as picture:
        assert picture.size == SIZE
    assert path.stat().st_size < MOST_BYTES
    assert (brightness(path) > 200) is (theme == "light")
    assert (brightness(path) < 60) is (theme == "dark")


def test_the_table_below_the_picture_has_its_figures(shown: Context) -> None:
    if recorded(THEMES["light"])[DOCUMENTS] != documents():
        pytest.skip("the picture was made on another version of Python's documents")
    by_id = {chunk.id: chunk for chunk in chunks()}
    hits = [by_id[decision.chunk_id] for decision in shown.trace.decisions if not decision.distance]
    assert len(hits) == HITS
    repeated = 0
    for number, hit in enumerate(hits):
        better = hits[:number]
        seen = {place for own in better if own.document_id == hit.document_id for place in _places(own)}
        is_copy = any(own.text == hit.text for own in better)
        repeated += len(hit.text) if is_copy else len(seen.intersection(_places(hit)))
    tokens = count("\n\n".join(hit.text for hit in hits))
    share = repeated / sum(len(hit.text) for hit in hits)
    assert f"| tokens | {tokens} | {shown.token_count}, nothing set |" in README
    assert f"| repeated text | {share:.0%} | none |".replace("%", " %") in README
    assert f"| sources | none | {len(shown.citations)} labels;" in README
    answer = shown.text[shown.text.index("**Default parameter values are") : shown.text.index("function, e.g.:")]
    assert not any(answer in hit.text for hit in hits)
    assert [answer[:100] in hit.text for hit in hits].index(True) == 0
    assert answer[-100:] in hits[-1].text


def _places(chunk: Chunk) -> range:
    return range(chunk.start or 0, (chunk.start or 0) + len(chunk.text))


@pytest.mark.browser
@each_picture
def test_drawn_again_a_picture_looks_much_the_same(theme: str, path: Path, shown: Context, tmp_path: Path) -> None:
    """Fonts differ from machine to machine, so lines break elsewhere: the brightness stays."""
    again = tmp_path / path.name
    draw(page(shown), theme, again)
    with Image.open(again) as picture:
        assert picture.size == SIZE
    assert recorded(again) == {WORDS: words(page(shown)), DOCUMENTS: documents()}
    assert abs(brightness(again) - brightness(path)) < 10
