"""HTML read as a browser would, strict about what is open and blind to nothing; and what the views are shown with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

from builders import numbered, split
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, assemble

VOID = {"meta", "input", "br", "hr", "img", "link"}


@dataclass
class Element:
    name: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    def walk(self) -> Iterator[Element]:
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    def all(self, name: str = "", class_: str = "") -> list[Element]:
        """Below this one, by element name or class or both."""
        return [each for each in self.walk() if name in ("", each.name) and (not class_ or class_ in each.classes)]

    def rows(self, caption: str) -> list[list[str]]:
        """The cells of the one table whose caption begins so."""
        (found,) = [each for each in self.all("table") if each.all("caption")[0].text.startswith(caption)]
        return [
            [cell.text.strip() for cell in row.children if isinstance(cell, Element)] for row in found.all("tr")[1:]
        ]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(set(names)) == len(names), f"an attribute twice in {tag}: {attrs}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].name == tag, f"</{tag}> closes {self.open[-1].name}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def read(html: str) -> Element:
    """The tree of a page, every element of which is closed in its place."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert len(reader.open) == 1, f"left open: {[each.name for each in reader.open[1:]]}"
    return reader.open[0]


def unanchored(html: str) -> str:
    """`html` without the digest in its ids, which differs where a notebook shows the same again."""
    return re.sub(r"\bcxa-[0-9a-f]{8}(?=-)", "cxa", html)


def documents(words: int = 200) -> list[Chunk]:
    """Two documents in overlapping chunks, the first with a page summary."""
    a = split(
        "A", numbered("a", words), size=200, overlap=60, metadata={"source": "a.pdf", "page_summary": "All of a."}
    )
    return a + split("B", numbered("b", words), size=200, overlap=60, metadata={"source": "b.pdf"})


def assembled(**options) -> Context:
    """Three hits and an exact copy of the best, with their neighbors."""
    chunks = documents()
    hits = [Hit(chunks[1], 0.9), Hit(chunks[2], 0.8), Hit(chunks[9], 0.7), Hit(chunks[1], 0.6)]
    return assemble(hits, AssemblyConfig(**{"max_tokens": 500, **options}), store=MemoryStore(chunks))
