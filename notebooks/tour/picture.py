"""`python -m tour.picture`: the pictures of the readme, light and dark: a context's page as a browser shows it.

The documents come with Python and are searched by words, so one Python always shows the same page but for its times:
the picture has none. The words on the page are recorded in the file by their digest, and so are the documents'.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from pydoc_data.topics import topics

from langchain_text_splitters import RecursiveCharacterTextSplitter
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from ctxassembly import AssemblyConfig, Chunk, Context, MemoryIndex, RetrievalConfig, assemble, retrieve
from demo.corpus import located
from tour.execute import FOLDER, documents

QUESTION = "When are default parameter values evaluated?"
CONFIG = AssemblyConfig()
HITS = 8
CHUNK_CHARS, OVERLAP_CHARS = 420, 120
"""Small, so that a picture has room for several."""
_ASSETS = FOLDER.parent / "docs" / "assets"
THEMES = {"light": _ASSETS / "context.png", "dark": _ASSETS / "context-dark.png"}
"""The file of each theme. GitHub and the site show the one that goes with the reader's."""
SIZE = (1200, 1200)
CROP = (0, 358, 1200, 1010)
"""Left, top, right and bottom of the picture in the page: fragments and context, without the figures above them."""
WORDS, DOCUMENTS = "ctxassembly:words", "ctxassembly:documents"
"""The keys under which a file records the digests of its words and of the documents."""
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_SCHEME = {"light": 1, "dark": 0}
"""Chromium's numbers of the themes."""
_LINE_BREAK = re.compile(r"(?<=[^\s*=~\-])[ ]*\n(?=[^\s*=~\-+|.>])")
"""The break of a line that was only full: the documents have lines of 72 characters. Code is indented."""
_HYPHEN_BREAK = re.compile(r"(?<=\w-)\n(?=\w)")
_TIME = re.compile(r"<li><b>[\d.,]+ ms</b>[^<]*</li>")
_MARKUP = re.compile(r"<style>.*?</style>|<[^>]+>", re.DOTALL)


def main() -> int:
    """The exit code: 0, or an exception if there is no browser."""
    html = page(context())
    for theme, path in THEMES.items():
        draw(html, theme, path)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    return 0


def context() -> Context:
    """What a model reads for `QUESTION`, with the neighbors of what was found."""
    index = MemoryIndex(list(chunks()))
    retrieved = retrieve(QUESTION, RetrievalConfig(strategy="keyword", limit=HITS), index=index)
    return assemble(retrieved.hits, CONFIG, query=QUESTION, store=index)


def page(context: Context) -> str:
    """The page of `context` without the time that the assembly took.

    Raises:
        ValueError: the page shows that time otherwise than it did.
    """
    html, times = _TIME.subn("", context.to_html())
    if times != 1:
        raise ValueError(f"the facts of a page must show one time in ms, got {times}")
    return html


def words(html: str) -> str:
    """A digest of the words above the tables, which are what the picture shows."""
    seen = html.partition("<table")[0]
    return hashlib.sha256(" ".join(_MARKUP.sub(" ", seen).split()).encode()).hexdigest()[:16]


def draw(html: str, theme: str, path: Path) -> None:
    """Write the page's `CROP` as a PNG.

    Raises:
        FileNotFoundError: there is no Chromium.
    """
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        raise FileNotFoundError(f"a picture needs one of {', '.join(PROGRAMS)} on the path")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        file, drawn = Path(folder, "page.html"), Path(folder, "page.png")
        file.write_text(html, "utf-8")
        options = (
            *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/profile"),
            f"--blink-settings=preferredColorScheme={_SCHEME[theme]}",
            f"--window-size={SIZE[0]},{SIZE[1]}",
            f"--screenshot={drawn}",
        )
        subprocess.run([program, *options, file.as_uri()], capture_output=True, timeout=300, check=True)
        recorded = PngInfo()
        recorded.add_text(WORDS, words(html))
        recorded.add_text(DOCUMENTS, documents())
        with Image.open(drawn) as picture:
            # 256 colors are all that the page has, and a third of the bytes.
            picture.convert("RGB").crop(CROP).quantize(256).save(path, optimize=True, pnginfo=recorded)


def recorded(path: Path) -> dict[str, str]:
    """The digests that a picture was made with, by `MAX_WORDS` and `MAX_DOCUMENTS`."""
    with Image.open(path) as picture:
        return {key: str(value) for key, value in picture.info.items() if key in (WORDS, DOCUMENTS)}


def chunks() -> Iterator[Chunk]:
    """Yield the documents in small chunks that overlap."""
    splitter = RecursiveCharacterTextSplitter(chunk_size=CHUNK_CHARS, chunk_overlap=OVERLAP_CHARS)
    for topic, written in sorted(topics.items()):
        text = _LINE_BREAK.sub(" ", _HYPHEN_BREAK.sub("", written))
        for at, (start, piece) in enumerate(located(text, splitter.split_text(text))):
            yield Chunk(f"{topic}#{at}", topic, piece, at, start, metadata={"source": f"{topic}.txt"})


if __name__ == "__main__":
    raise SystemExit(main())
