"""What the package remembers from one assembly to the next, found by looking at all that its modules hold; and the
memory of the process.

No two assemblies have the same texts: each takes stretches of the standard library's source, real text and much of it,
that are cut anew.
"""

from __future__ import annotations

import gc
import random
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType
from typing import NamedTuple

from ctxassembly import AssemblyConfig, Chunk, Context, Hit, assemble
from scenario import ENCODING, PlaceStore
from speed.timing import table

PACKAGES = ("ctxassembly", "langchain_ctxassembly", "llamaindex_ctxassembly")
LOOKS = (1_000, 10_000, 30_000, 100_000)
"""Assemblies after which one looks."""
LEAST = 1_024
"""Bytes by which what a module holds has to grow to be shown."""
MIB = 1_024 * 1_024
CHUNK_CHARS, STEP_CHARS, CHUNKS = 900, 780, 5
"""Of a document, which is a stretch of one file."""
DOCUMENTS, HITS = 2, 4
BUDGETS = (500, 1_000, 2_000)
CONFIGS = [
    AssemblyConfig(encoding=ENCODING, dedup=dedup, max_tokens=budget)
    for dedup in ("exact", "near")
    for budget in BUDGETS
]


def held() -> dict[str, int]:
    """Bytes that each module of the packages holds, by the name under which it does. What two hold counts once."""
    seen: set[int] = set()
    found: dict[str, int] = {}
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] in PACKAGES:
            for inner, value in sorted(vars(module).items()):
                if not inner.startswith("__") and _is_of(value, name):
                    found[f"{name}.{inner}"] = _size(value, seen)
    return found


def _is_of(value: object, module: str) -> bool:
    """True unless `value` was imported from another module, as far as one can tell."""
    if isinstance(value, ModuleType):
        return False
    return not callable(value) or getattr(value, "__module__", module) == module  # an object has that of its class


def _size(root: object, seen: set[int]) -> int:
    """Bytes of all that is reached from `root`, but for the code, modules and classes of anyone else."""
    size, waiting = 0, [root]
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, (ModuleType, BuiltinFunctionType, FrameType)):
            continue
        seen.add(id(one))
        if isinstance(one, FunctionType):
            waiting += [one.__closure__, one.__dict__]
        elif isinstance(one, type):
            waiting += vars(one).values() if one.__module__.partition(".")[0] in PACKAGES else ()
        else:
            size += sys.getsizeof(one)
            waiting += gc.get_referents(one)
    return size


def rss() -> int | None:
    """Bytes of the process that are in memory; None where the system doesn't tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return None
    return pages * 4_096


def assembled(numbers: Sequence[int]) -> Iterator[Context]:
    """A context for each number, every other one with a query, each of texts of its own."""
    files = _files()
    for number in numbers:
        draw = random.Random(number)
        chunks = [chunk for at in range(DOCUMENTS) for chunk in _document(f"{number}-{at}", draw.choice(files), draw)]
        hits = [Hit(chunk, 1 - rank / HITS) for rank, chunk in enumerate(draw.sample(chunks, HITS))]
        store = PlaceStore({(chunk.document_id, chunk.index or 0): chunk for chunk in chunks})
        query = " ".join(draw.sample(hits[0].chunk.text.split(), 6)) if number % 2 else None
        yield assemble(hits, CONFIGS[number % len(CONFIGS)], query=query, store=store)


def _files() -> list[str]:
    """The files of the standard library that are long enough for a document."""
    found = (file.read_text("utf-8", "replace") for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")))
    return [text for text in found if len(text) > 4 * STEP_CHARS * CHUNKS]


def _document(document_id: str, file: str, draw: random.Random) -> Iterator[Chunk]:
    begin = draw.randrange(len(file) - STEP_CHARS * CHUNKS)
    for index in range(CHUNKS):
        text = file[begin + index * STEP_CHARS :][:CHUNK_CHARS]
        # A key of its own, as tools make them of a document's headings.
        metadata = {"source": f"{document_id}.py", f"Header {document_id}": "Source", "category": document_id}
        yield Chunk(f"{document_id}#{index}", document_id, text, index, metadata=metadata)


class Look(NamedTuple):
    held: dict[str, int]
    rss: int | None


def looks(at: Sequence[int], done: Callable[[], object]) -> dict[int, Look]:
    """What is found after 20 assemblies, under 0, and after each number of `at`; `done` is told of each assembly."""
    for _ in assembled(range(-20, 0)):
        pass
    found, begun = {0: Look(held(), rss())}, 0
    for upto in sorted(at):
        for _ in assembled(range(begun, upto)):
            done()
        begun = upto
        gc.collect()
        found[upto] = Look(held(), rss())
    return found


def grown(look: Look, first: Look) -> dict[str, int]:
    """Bytes by which what is held has grown, by the name under which it is."""
    more = {name: size - first.held.get(name, 0) for name, size in look.held.items()}
    return {name: size for name, size in more.items() if size >= LEAST}


def caches_table(at: Sequence[int], done: Callable[[], object]) -> Iterator[str]:
    """A row for the process, and one for each name under which more is held after the last look than at the first."""
    found = looks(at, done)
    first = found.pop(0)
    rows = [["the process (RSS)", *(_mib(look.rss) for look in found.values())]]
    rows += [
        [name, *(_mib(look.held.get(name)) for look in found.values())] for name in grown(found[max(found)], first)
    ]
    yield from table(["MiB after", *(f"{number:,}" for number in found)], rows)


def _mib(size: int | None) -> str:
    return "–" if size is None else f"{size / MIB:,.2f}"
