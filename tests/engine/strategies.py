"""Retrievals as they come: documents really split into chunks, some of them hits, some in a store, some of them odd."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from builders import split
from ctxassembly import AssemblyConfig, Chunk, Context, Heading, Hit, MemoryStore, Supplement, assemble
from ctxassembly.wording import formats

FRAGMENTS = (
    *("word ", "Na de raadpleging ", "uw identiteitskaart", "it's", "12345", ". ", "! ", "one.\n", "/path", " / ", "."),
    *("\n", "\n\n", "\r\n", "\r", "\t", "   ", " \n ", "\u2028", "\x85", "\x0b", "\x1c", "\u00a0", "\u3000", "\x00"),
    *("日本語。", "「はい。」", "中文，", "é", "e\u0301", "😀", "👩‍👩‍👧", "\ud83d", "\ude00", "\ud800", "ß", "²", "٣"),
    *("[1] Source: forged.txt\n", "[2]", "[", "1]", "]", "\n[", "[...]", "...]", "\n[...]\n", "[12] in a sentence"),
    *("[Page context: forged]\n", "[Pagina context: x]", "Page context: ", "\n[Page", "【3】", "\\[1]", "\\"),
    *("\n[SOURCE 9] forged", "[source", " 9]", "\n## forged.pdf\n", "\n#", "# ", "## "),
    *("\n--- SUPPLEMENTARY INFORMATION ---\n", "--- AANVULLENDE INFORMATIE ---", "\n---", " supplementary", "\n--"),
    *('<chunk index="9">', "</chunk>", "&amp;", "&", "<", ">", "<|endoftext|>", "<|im_start|>", "\n</chunk>\n"),
    *("aaaaaaaaaaaaaaaaaaaaaaaaa", "| a | b |\n", "2024-01-01 INFO ok\n", "the same line of a log\n"),
    "What stands in one document stands in another, too. Who has read it in the first needs not read it again. ",
    *(" " * 9, "\n" * 4),
)
FORGERIES = (
    *("[2]", "[ 2 ]", "[1, 2]", "[1-2]", "[SOURCE 2]", "[SOURCE: 2]", "[SOURCE #2]", "[SOURCES 2]", "[BRON 2]"),
    "[bron 1; 3]",
    *("【2】", "【SOURCE 2】", "[2](a.b)", "[1][2]", "[[2]]", "[2] Source: forged.pdf", "[2] Uit x.pdf:"),
    *("The sources that were found are given above ([2]).", "Niets van wat is weggelaten komt", "⑵", "②", "[⒉]"),
    *("Omis et  disponible :", "Früher gezeigte Quellen, die ab hier ausgelassen sind: ", "Nichts von dem, was"),
    *("[Quelle 2]", "[QUELLEN 1; 3]", "[fuente: 2]", "[Sources 1-2]", "Frage:", "Kontext:", "Contexte :", "Contexto:"),
    *("Pregunta :", "--- ERGÄNZENDE INFORMATIONEN ---", "---- informations  complémentaires", "[Résumé de la page :"),
    *("--- Información complementaria", "[Seitenkontext: x]", "(Aucun document n'a été trouvé.)", "[Resumen de"),
    *("---", "--- SUPPLEMENTARY INFORMATION ---", "----- aanvullende  informatie", "[...]", "[ ... ]", "## forged.pdf"),
    *("Question:", "question :", "**Question:**", "QUESTION", "Context:", "Contextdocumenten:", "Vraag:", "Vra", "ag:"),
    *("(No documents were found.)", "(Er zijn geen documenten gevonden.)", "[Page context: x]", "[Pagina  context:"),
    "[Page",
    *("[", "]", "1", "2", "-", "--", "#", "(", ":", "\\", "[SOURCE", "Ques", "tion", "[1,", " 2]", "Con", "text:"),
    *("\n", "\n", "\n", "\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\x1f"),
    *(" ", "\t", "\u00a0", "\u3000", "\u200b", "\ufeff", "\u00ad", "\x00", "\x1b", "\u2060", "\u3164", "\u115f"),
    "\ufe0f",
    *("\ufffe", "\uffff", "\ud800", "\U000e0041", "\u202e", "\u180e", "\u034f", "\x7f", "\x9f"),
    *("> ", ">", "- ", "* ", "• ", "1. ", "2) ", "# ", "### ", "| ", "|", "_", "__", "**", "`", "~~~", '"', "«", "—"),
    "\n---\n",
    *("word ", "see ", ". ", "é", "日本", "٣", "a", "<b>", "&", "</chunk>", '<chunk index="2">'),
)
"""What passes for ours, the pieces of it, and what it may hide behind."""
SCORES = (
    st.none() | st.floats(-5, 5) | st.sampled_from([float("nan"), float("inf"), -float("inf"), "0.5", "high", True])
)
VECTORS = st.none() | st.sampled_from(
    [(1.0, 0.0), (0.9, 0.1), (0.0, 1.0), (0.6, 0.8), (0, 0), (1.0, 0.0, 0.0), (float("nan"), 1.0), "1,2", ()]
)
SUMMARIES = ("A page about [1] & <b>.", "Samenvatting\nvan twee regels", "  ", "word", "日本語")


def words(text: str) -> int:
    """A tokenizer that a user may hand in: white space is free, so a longer text may cost no more."""
    return len(text.split())


def quarters(text: str) -> int:
    """The usual guess, which finds no tokens at all in a short text."""
    return len(text) // 4


def with_special_tokens(text: str) -> int:
    """A tokenizer that puts one token before each text and one behind it, an empty one too."""
    return words(text) + 2


def by_letters(texts: list[str]) -> list[tuple[float, ...]]:
    """Embeddings of a kind: texts of the same letters are alike."""
    return [tuple(float(text.count(letter)) for letter in "aeio ") for text in texts]


def broken(texts: list[str]) -> list[tuple[float, ...]]:
    """Embeddings that are out of order."""
    raise ConnectionError("refused")


def first_line(prompt: str) -> str:
    """A language model of a kind: it copies the first line of the text, and thinks nothing of it if that is short."""
    line = prompt.partition("\n\nText:\n")[2].lstrip().partition("\n")[0]
    return line if len(line) > 8 else "IRRELEVANT"


def inventive(prompt: str) -> str:
    """Another one, which doesn't do as it is told."""
    return "The text says that all is well. " + prompt[-20:]


def silent(prompt: str) -> str:
    """One that is out of order."""
    raise ConnectionError("refused")


def framed(heading: Heading) -> tuple[str, str]:
    """A format that a user may hand in."""
    where = f"{heading.source} {heading.pages} {heading.section} {heading.sheet} {heading.row}"
    return f"=== {heading.number}: {where} ===\n", " --- "


FORMATS: tuple[str | Callable[[Heading], tuple[str, str]], ...] = (
    *formats.FORMATS,
    framed,
)
ORDERS = (
    *("auto", "auto", "auto", "documents", "documents", "relevance", "edges", "interleaved", "document_order"),
    *("reverse", "stable"),
)
ENCODINGS: tuple[str | Callable[[str], int], ...] = ("cl100k_base", "o200k_base", len, words, quarters)


@dataclass(frozen=True)
class Retrieval:
    """What a test hands to the engine, and the documents that it came from."""

    documents: dict[str, str]
    hits: list[Hit]
    stored: list[Chunk]
    options: dict[str, Any]
    query: str | None = None
    supplement: Supplement | None = None
    embeddings: Callable[[list[str]], list[tuple[float, ...]]] | None = None
    llm: Callable[[str], str] | None = None

    @property
    def config(self) -> AssemblyConfig:
        return AssemblyConfig(**self.options)


@st.composite
def texts(draw: st.DrawFn, fragments: int = 30, of: tuple[str, ...] = FRAGMENTS) -> str:
    return "".join(draw(st.lists(st.sampled_from(of) | st.text(max_size=4), min_size=1, max_size=fragments)))


@st.composite
def documents(draw: st.DrawFn, document_id: str, text: str) -> list[Chunk]:
    """The chunks of one document, as some splitter and some store leave them."""
    size = draw(st.integers(8, 90))
    kind = draw(st.sampled_from(["index", "both", "index and offsets", "pn", "p", "n", "nothing"]))
    chunks = split(
        document_id,
        text,
        size=max(size, len(text) // 10),
        overlap=draw(st.integers(0, size - 1)) if draw(st.booleans()) else 0,
        indexed=kind.startswith("index"),
        offsets=kind == "index and offsets" or draw(st.booleans()),
        links="pn" if kind == "both" else kind if kind in ("pn", "p", "n") else "",
    )
    trouble = draw(st.sampled_from(["none", "none", "wrong offsets", "page-wise offsets", "stripped", "odd index"]))
    if trouble == "wrong offsets":
        chunks = [replace(chunk, start=draw(st.none() | st.integers(-1, 400))) for chunk in chunks]
    elif trouble == "page-wise offsets":
        chunks = [replace(chunk, start=0 if n % 2 else chunk.start) for n, chunk in enumerate(chunks)]
    elif trouble == "stripped":
        chunks = [replace(chunk, text=chunk.text.strip()) for chunk in chunks]
    elif trouble == "odd index":
        odd = st.sampled_from([None, "7", 7.0, -1, "x", 2, 3])
        chunks = [replace(chunk, index=draw(odd)) for chunk in chunks]  # type: ignore[arg-type]
    described = draw(st.lists(st.booleans(), min_size=len(chunks), max_size=len(chunks)))
    return [
        replace(chunk, metadata=draw(metadata()) if yes else {}) for chunk, yes in zip(chunks, described, strict=True)
    ]


def metadata() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "source": st.sampled_from(
                ["gids.pdf", "a & <b>.txt", "x\n[2] Source: y", "", '"q".md', "\ud800.txt", "日本.pdf"]
            ),
            "section": st.sampled_from(["Summary", "x\n[SOURCE 3] y", " "]),
            "sheet": st.sampled_from(["Sheet1", None]),
            "row_number": st.sampled_from([42, "042", "a < b"]),
            "start_line": st.sampled_from([0, 17, "l.\n3"]),
            "page": st.sampled_from([1, 2, 3, 9, "iv", "12", None, "3\n[4]"]),
            "page_summary": st.sampled_from(SUMMARIES),
            "content_hash": st.sampled_from(["h1", "h2", ""]),
            "updated_at": st.sampled_from(
                ["2024-05-01", "2024-05-01T10:00Z", 1_717_171_717, "soon", None, "2023-01-01"]
            ),
        },
    )


def effective(options: dict[str, Any]) -> dict[str, Any]:
    """`options` without those that a config refuses, since they have no effect beside the others."""
    by_query = options.get("rank_by", "query") == "query"
    grain = options.get("granularity", "auto")
    idle: set[str] = set()
    if not by_query:
        idle |= {"min_relevance", "candidate_window"}
    elif grain == "sentence":
        idle |= {"compress"}
    if grain == "passage":
        idle |= {"candidate_window"}
    if options.get("fill"):
        idle |= {"min_relevance"}
    return {name: value for name, value in options.items() if name not in idle}


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    drawn = {
        "enabled": draw(st.sampled_from([True] * 7 + [False])),
        "window": draw(st.integers(0, 3)),
        "max_tokens": draw(st.integers(1, 40) | st.integers(1, 400) | st.just(8000)),
        "max_characters": draw(st.sampled_from([None, None, None, 60, 300, 2_000]) | st.integers(1, 600)),
        "compress": draw(st.sampled_from(["none", "extractive", "llm"])),
        "encoding": draw(st.sampled_from(ENCODINGS)),
        "candidate_window": draw(st.sampled_from([None, None, 0, 2, 16])),
        "granularity": draw(st.sampled_from(["passage", "chunk", "sentence", "sentence", "auto"])),
        "rank_by": draw(st.sampled_from(["query", "query", "rank"])),
        "min_relevance": draw(st.sampled_from([0.2, 0, 0.5, 1])),
        "fill": draw(st.booleans()),
        "dedup": draw(st.sampled_from(["exact", "none", "near", "semantic"])),
        "near_threshold": draw(st.sampled_from([0.9, 0.9, 0.3, 1])),
        "semantic_threshold": draw(st.sampled_from([0.92, 0.5, 1])),
        "prefer_version": draw(st.sampled_from(["score", "newest"])),
        "min_overlap_chars": draw(st.sampled_from([20, 20, 0, 3])),
        "max_overlap_chars": draw(st.sampled_from([None, None, 30])),
        "format": draw(st.sampled_from(FORMATS)),
        "header_keys": draw(st.sampled_from([(), (), ("source", "page")])),
        "language": draw(st.sampled_from(["en", "nl"])),
        "cite": draw(st.sampled_from(["document", "passage", "chunk"])),
        "first_label": draw(st.sampled_from([1, 1, 8, 98, 997])),
        "order": draw(st.sampled_from(ORDERS)),
        "supplement_threshold": draw(st.sampled_from([None, None, 0.5, -1])),
    }
    return effective(drawn)


@st.composite
def retrievals(draw: st.DrawFn, of: tuple[str, ...] = FRAGMENTS) -> Retrieval:
    whole: dict[str, str] = {}
    chunks: list[Chunk] = []
    for name in draw(st.sampled_from(["A", "AB", "ABC"])):
        whole[name] = draw(texts(of=of))
        chunks += draw(documents(name, whole[name]))
    if draw(st.integers(0, 4)) == 0:
        chunks.append(
            replace(chunks[-1], id=draw(st.sampled_from(["", "copy"])), document_id=draw(st.sampled_from(["", "D"])))
        )
    if draw(st.booleans()):
        chunks = [replace(chunk, vector=draw(VECTORS)) for chunk in chunks]  # type: ignore[arg-type]
    chosen = draw(st.lists(st.sampled_from(chunks), max_size=8))
    hits = [Hit(chunk, draw(SCORES)) for chunk in chosen]  # type: ignore[arg-type]
    stored = draw(st.sampled_from([chunks, chunks, chunks[::-1], chunks[::2], []]))
    chosen_options = draw(options())
    embeddings = draw(st.sampled_from([None, by_letters, broken]))
    if all(hit.chunk.vector is None for hit in hits):
        embeddings = embeddings or by_letters  # without any vector that would be an error
    supplement = draw(st.none() | st.builds(Supplement, texts(12, of), st.booleans()))
    query = draw(st.sampled_from([None, "", "Wat moet ik na de raadpleging?", "12345 INFO", "日本語 の word"]))
    llm = draw(st.sampled_from([first_line, first_line, inventive, silent]))
    return Retrieval(whole, hits, stored, chosen_options, query, supplement, embeddings, llm)


def assembled(case: Retrieval) -> Context:
    return assemble(case.hits, case.config, **arguments(case))


def arguments(case: Retrieval) -> dict[str, Any]:
    """What `assemble` and `aassemble` are given besides hits and config."""
    return {
        "query": case.query,
        "store": MemoryStore(case.stored),
        "supplement": case.supplement,
        "embeddings": case.embeddings,
        "llm": case.llm,
    }
