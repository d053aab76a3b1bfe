"""The names and pages of sources as readers write them, through both adapters."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from adapter_doors import Door
from ctxassembly import AssemblyConfig, Chunk, Hit, MetadataKeys, assemble

NAMES: dict[str, tuple[dict[str, Any], str]] = {
    "a page under source": (
        {"source": "1", "file_name": "berlin.pdf", "total_pages": 2},
        "berlin.pdf, page 1",
    ),
    "a page under source, as a number": ({"source": 12, "file_path": "/data/miete.pdf"}, "miete.pdf, page 12"),
    "a page in other digits": ({"source": "٣", "file_name": "عقد.pdf"}, "عقد.pdf, page 3"),
    "a page without a name": ({"source": "7", "total_pages": 9}, "unknown, page 7"),
    "the printed label first": ({"source": "3", "page_label": "iv", "file_name": "a.pdf"}, "a.pdf, page iv"),
    "a number that is the name": ({"source": "2024"}, "2024"),
    "filename": ({"filename": "huur.pdf"}, "huur.pdf"),
    "a path": ({"file_path": "/home/jane/rent.pdf"}, "rent.pdf"),
    "a path of Windows": ({"file_path": "C:\\Users\\José\\alquiler.pdf"}, "alquiler.pdf"),
    "a folder": ({"file_path": "docs/handbook/"}, "handbook/"),
    "source before a path": ({"source": "loyer.pdf", "file_path": "/tmp/x1.pdf"}, "loyer.pdf"),
    "a path that is the source, too": ({"source": "/docs/a.pdf", "file_path": "/docs/a.pdf"}, "/docs/a.pdf"),
    "URL": ({"URL": "https://hospital.example/rent"}, "https://hospital.example/rent"),
    "title before URL": ({"title": "Rent", "URL": "https://hospital.example/rent"}, "Rent"),
}


@pytest.mark.parametrize(("metadata", "shown"), NAMES.values(), ids=NAMES)
def test_a_source_is_named_by_what_readers_write(door: Door, metadata: dict[str, Any], shown: str) -> None:
    read = door.read([Chunk("a", "a", "Rent is due.", 0, metadata=metadata)])
    assert read.text.partition("\n")[0] == f"[1] Source: {shown}"


def test_pages_under_source_count_from_one_whatever_other_pages_do() -> None:
    metadata = {"source": "3", "file_name": "a.pdf"}
    context = assemble(
        [Hit(Chunk("a", "a", "Rent.", metadata=metadata))], AssemblyConfig(keys=MetadataKeys(page_base=0))
    )
    assert context.citations[0].pages == (3,)


def test_files_of_one_name_in_two_folders_are_two_documents(door: Door) -> None:
    paths = ("/berlin/rent.pdf", "/bonn/rent.pdf")
    read = door.read([Chunk(path, path, f"Rent of {path}.", metadata={"file_path": path}) for path in paths])
    assert [block.text.partition("\n")[0] for block in read.blocks] == ["[1] Source: rent.pdf", "[2] Source: rent.pdf"]


def test_roman_pages_come_first() -> None:
    pages = (4, "xii", "A-1", 3, "ix")
    chunks = [
        Chunk(f"a#{at}", "a", f"Page {page}.", at, metadata={"page_label": page}) for at, page in enumerate(pages)
    ]
    context = assemble([Hit(chunk) for chunk in chunks], AssemblyConfig(cite="document"))
    assert context.citations[0].pages == ("xii", "ix", 3, 4, "A-1")


SCRIPT = """
import warnings
from ctxassembly import AssemblyConfig, Chunk, Hit, MetadataKeys, assemble
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    named = Chunk("b", "b", "Then rest.", metadata={"source": "b.pdf"})
    assemble([Hit(named)])
    assert not given
    for _ in range(2):
        assemble([Hit(Chunk("a", "a", "Drink.", metadata={"page": 3})), Hit(named)])
    assemble([Hit(Chunk("a", "a", "Drink."))], AssemblyConfig(language="nl"))
    assemble([Hit(Chunk("a", "a", "Drink."))], AssemblyConfig(keys=MetadataKeys(source="file")))
print(*(each.message for each in given), sep="\\n")
"""


def test_what_has_no_name_gets_one_warning() -> None:
    said = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    fix = "AssemblyConfig(keys=MetadataKeys(source='file'))"
    assert said == [
        f"The metadata of 1 of 2 sources have no name (first: 'a'). The model reads 'unknown' instead. Fix: {fix}",
        f"The metadata of 1 of 1 sources have no name (first: 'a'). The model reads 'unknown' instead. Fix: {fix}",
    ]
