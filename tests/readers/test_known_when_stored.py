"""Documents through the frameworks' own chains: splitter, `number_chunks`, an ordinary index, retriever, context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import chromadb
import pytest
from langchain_chroma import Chroma
from langchain_classic.indexes import SQLRecordManager, index
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_text_splitters import (
    CharacterTextSplitter,
    MarkdownTextSplitter,
    RecursiveCharacterTextSplitter,
    TextSplitter,
)
from llama_index.core import Document as Source
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter, TokenTextSplitter
from llama_index.core.schema import BaseNode, MetadataMode, TransformComponent
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.vector_stores.chroma import ChromaVectorStore

from ctxassembly import AssemblyConfig, Context
from ctxassembly.errors import NothingToJoinWarning
from langchain_ctxassembly import ContextAssembler, VectorStoreNeighbors, number_chunks, number_stored_chunks
from llamaindex_ctxassembly import ContextAssemblyPostprocessor
from llamaindex_ctxassembly import number_chunks as number_nodes

EMBEDDINGS = DeterministicFakeEmbedding(size=8)
CONFIG = AssemblyConfig(neighbors="unfiltered", max_tokens=100_000, format="minimal", dedup="none")
STORES: dict[str, Callable[[], VectorStore]] = {
    "chroma": lambda: Chroma(client=chromadb.EphemeralClient(), embedding_function=EMBEDDINGS),
    "memory": lambda: InMemoryVectorStore(EMBEDDINGS),
}


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> VectorStore:
    made = STORES[request.param]()
    if isinstance(made, Chroma):
        made.reset_collection()
    return made


def split(text: str, splitter: TextSplitter, **metadata: Any) -> list[Document]:
    return number_chunks(splitter.split_documents([Document(text, metadata={"source": "a.md", **metadata})]))


def whole(store: VectorStore, chunks: Sequence[Document], config: AssemblyConfig = CONFIG) -> Context:
    """What is read of all chunks, found by a search."""
    store.add_documents([*chunks])
    found = store.as_retriever(search_kwargs={"k": len(chunks)}).invoke("anything")
    return ContextAssembler(config=config, store=VectorStoreNeighbors(store)).as_context().invoke(found)


def apart(size: int) -> TextSplitter:
    return CharacterTextSplitter(separator="\n\n", chunk_size=size, chunk_overlap=0)


REPEATED = {
    "an opposite": ("The old limit was 50", "50 is not allowed any more"),
    "the same in French": ("L'ancienne limite: 30", "30 ne sont plus permis"),
    "the same in Chinese": (
        "\u65e7\u7684\u9650\u5236\u662f\u4e94\u5341",
        "\u4e94\u5341\u5df2\u7ecf\u4e0d\u5141\u8bb8\u4e86",
    ),
    "a number of a heading": ("<h1>Lift 2</h1>", "2 lifts are new"),
    "a word of a heading": ("D.3.2. Installer la base", "la base est petite"),
}


@pytest.mark.parametrize("rule", REPEATED)
def test_words_that_end_a_chunk_and_begin_the_next_are_read_twice(rule: str, store: VectorStore) -> None:
    first, second = REPEATED[rule]
    chunks = split(f"{first}\n\n{second}", apart(max(len(first), len(second)) + 1))
    assert len(chunks) == 2
    assert whole(store, chunks).text == f"{first}\n{second}"


@pytest.mark.parametrize("words", ["boxes of gloves", "cajas de guantes de nitrilo azul", "箱一次性手套"])
@pytest.mark.parametrize("size", [40, 62, 95])
def test_rows_that_are_there_twice_are_read_twice(words: str, size: int, store: VectorStore) -> None:
    rows = [f"2024-03-{day:02d} {9 + day} {words}" for day in (1, 2, 3, 4, 5, 6, 6, 7, 8, 9, 10, 11)]
    assert whole(store, split("\n\n".join(rows), apart(size))).text.split() == " ".join(rows).split()


YEARS = [f"In year {year} the weavers of the valley paid {year * 7} bales of wool." for year in range(60)]
SPLITTERS: dict[str, TextSplitter] = {
    "recursive 400/80": RecursiveCharacterTextSplitter(chunk_size=400, chunk_overlap=80),
    "recursive 200/20": RecursiveCharacterTextSplitter(chunk_size=200, chunk_overlap=20),
    "lines 300/100": CharacterTextSplitter(separator="\n", chunk_size=300, chunk_overlap=100),
    "markdown 250/60": MarkdownTextSplitter(chunk_size=250, chunk_overlap=60),
}


@pytest.mark.parametrize("name", SPLITTERS)
@pytest.mark.parametrize("glue", [" ", "\n"])
def test_overlaps_of_a_splitter_are_read_once(name: str, glue: str, store: VectorStore) -> None:
    text = glue.join(YEARS)
    chunks = split(text, SPLITTERS[name])
    if len(chunks) > 1:  # lines, of which there is one
        assert whole(store, chunks).text.split() == text.split()


@pytest.mark.parametrize("sizes", [(100, 400), (400, 100), (150, 151)])
def test_a_text_in_chunks_of_two_sizes_is_read_once(sizes: tuple[int, int], store: VectorStore) -> None:
    document = Document(" ".join(YEARS[:20]), metadata={"source": "a.md"})
    pieces = [
        piece
        for size in sizes
        for piece in RecursiveCharacterTextSplitter(
            chunk_size=size, chunk_overlap=20, add_start_index=True
        ).split_documents([document])
    ]
    chunks = number_chunks(pieces)
    assert {chunk.metadata["document_id"] for chunk in chunks} == {"a.md"}
    assert whole(store, chunks).text == document.page_content


@pytest.mark.parametrize("other", [["Another text."], YEARS[30:], YEARS[:3]])
def test_two_files_of_one_name_are_two_documents(other: list[str], store: VectorStore) -> None:
    splitter = RecursiveCharacterTextSplitter(chunk_size=200, chunk_overlap=20, add_start_index=True)
    files = [Document(" ".join(said), metadata={"source": "a.md"}) for said in (YEARS[:20], other)]
    chunks = number_chunks(splitter.split_documents(files))
    assert [*dict.fromkeys(chunk.metadata["document_id"] for chunk in chunks)] == ["a.md", "a.md (2)"]
    assert number_chunks(chunks) == chunks
    context = whole(store, chunks)
    assert {passage.document_id for passage in context.passages} == {"a.md", "a.md (2)"}


def versions(*counts: int) -> list[list[Document]]:
    return [
        split("\n\n".join(f"Rule {n} of {count} is about leave." for n in range(count)), apart(40)) for count in counts
    ]


@pytest.mark.parametrize(("old", "new"), [(6, 4), (12, 3), (5, 1)])
def test_what_an_older_and_longer_version_left_is_no_neighbor(old: int, new: int, store: VectorStore) -> None:
    for chunks in versions(old, new):
        store.add_documents(chunks)
    kept = VectorStoreNeighbors(store)
    (last,) = store.get_by_ids([f"a.md#{new - 1}"])
    (leftover,) = store.get_by_ids([f"a.md#{new}"])
    assert f"of {old} is" in leftover.page_content
    alone = ContextAssembler(config=CONFIG, store=kept).as_context().invoke([last])
    assert f"of {old} is" not in alone.text
    assert "another version" in "".join(alone.trace.notes)
    both = ContextAssembler(config=CONFIG, store=kept).as_context().invoke([last, leftover])
    assert [f"of {old} is" in passage.text for passage in both.passages] == [False, True]


@pytest.mark.parametrize("key", ["updated_at", "document_version"])
@pytest.mark.parametrize("values", [("2023-01-01", "2024-06-01"), ("v1", "v2")])
def test_hits_of_two_versions_have_labels_of_their_own(key: str, values: tuple[str, str]) -> None:
    said = ("You have 20 days.", "You have 25 days.")
    hits = [
        Document(
            text, id=f"{at}", metadata={"source": "leave.md", "document_id": "leave.md", "chunk_index": at, key: value}
        )
        for at, (text, value) in enumerate(zip(said, values, strict=True))
    ]
    context = ContextAssembler(config=AssemblyConfig()).as_context().invoke(hits)
    assert [citation.source for citation in context.citations] == ["leave.md", "leave.md"]
    assert "document 'leave.md': hits of several versions, each read apart" in context.trace.notes


@pytest.mark.parametrize("key", ["indexed_at", "updated_at"])
def test_a_time_that_is_another_one_in_every_chunk_says_nothing(key: str) -> None:
    hits = [
        Document(
            text, metadata={"source": "a.md", "document_id": "a.md", "chunk_index": at, key: f"2024-06-01T10:00:0{at}"}
        )
        for at, text in enumerate(YEARS[:4])
    ]
    context = ContextAssembler(config=CONFIG).as_context().invoke(hits)
    assert context.text == "\n".join(YEARS[:4])


ROWS = {
    "Markdown": ("| Ward | Capacity |", "|---|---|", "| Ward {0} | {0} beds |"),
    "HTML": ("<table>", "<tr><th>Ward</th><th>Capacity</th></tr>", "<tr><td>Ward {0}</td><td>{0} beds</td></tr>"),
    "CSV": ("Ward,Floor,Capacity", "Ward 0,3,0 beds", "Ward {0},3,{0} beds"),
    "TSV": ("Ward\tFloor\tCapacity", "Ward 0\t3\t0 beds", "Ward {0}\t3\t{0} beds"),
    "German CSV": ("Station;Stock;Capacity", "Station 0;3;0 Betten", "Station {0};3;{0} Betten"),
}
TABLES = {name: "\n".join([*head, *(row.format(n) for n in range(1, 90))]) for name, (*head, row) in ROWS.items()}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("splitter", ["recursive 400/80", "recursive 200/20", "lines 300/100"])
@pytest.mark.parametrize(
    ("limit", "query"), [(60, None), (200, "How many has ward 55?"), (700, None), (8_000, "ward 55")]
)
def test_rows_are_read_below_the_head_of_their_table(
    name: str, splitter: str, limit: int, query: str | None, store: VectorStore
) -> None:
    chunks = split(TABLES[name], SPLITTERS[splitter])
    store.add_documents(chunks)
    hit = next(chunk for chunk in chunks if "55" in chunk.page_content)
    config = AssemblyConfig(neighbors="unfiltered", max_tokens=limit, window=0)
    assembler = ContextAssembler(config=config, store=VectorStoreNeighbors(store))
    context = assembler.as_context().invoke({"documents": [hit], "query": query})
    head = ROWS[name][1 if name == "HTML" else 0]
    assert context.text.count(head) == 1
    assert context.token_count <= limit
    verbatim = "".join(context.text[slice(*source.span)] for source in context.provenance)
    assert head not in verbatim
    assert verbatim


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("# Leave\n\n## Parents\n\n{}", "Leave > Parents"),
        ("Leave\n=====\n\nParents\n-------\n\n{}", "Leave > Parents"),
        ("Kapitel 3. Urlaub\n\nArtikel 17. Eltern\n\n{}", "Kapitel 3. Urlaub > Artikel 17. Eltern"),
        ("<h1>Leave</h1>\n<h2>Parents</h2>\n<p>{}", "Leave > Parents"),
    ],
)
def test_headings_are_read_above_text_that_is_cut_from_them(text: str, path: str, store: VectorStore) -> None:
    chunks = split(text.format(" ".join(YEARS)), SPLITTERS["recursive 400/80"])
    store.add_documents(chunks)
    config = AssemblyConfig(neighbors="unfiltered", window=0)
    (context,) = [ContextAssembler(config=config).as_context().invoke([chunks[5]])]
    assert context.text.splitlines()[1] == path
    assert context.text.count(path) == 1


PARSERS = [SentenceSplitter(chunk_size=80, chunk_overlap=20), TokenTextSplitter(chunk_size=60, chunk_overlap=10)]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("clean.sh", "# remove what is old\n\nrm -r old"),
        ("crontab.txt", "# restart the service\n0 3 * * * systemctl restart app"),
        ("faq.txt", "Like this.\n\nAlmost everyone gets it wrong at first.\n----------------------------------------"),
        ("license.txt", "The requirements of the Affero License,\nsection 13, concerning interaction, apply."),
    ],
)
def test_a_comment_a_rule_and_a_line_of_a_paragraph_are_no_headings(source: str, text: str, store: VectorStore) -> None:
    chunks = number_chunks([Document(each, metadata={"source": source}) for each in (text, "From Nordic mythology.")])
    store.add_documents(chunks)
    config = AssemblyConfig(neighbors="unfiltered", format="minimal", window=0, candidate_window=0)
    assembler = ContextAssembler(config=config, store=VectorStoreNeighbors(store))
    assert assembler.as_context().invoke(chunks[1:]).text == chunks[1].page_content


def test_a_heading_inside_a_chunk_takes_the_place_of_the_last_one_above_it(store: VectorStore) -> None:
    texts = (
        "# Notes\n\n## 2.0\n\n### Languages\n\nUpdate German.",
        "Update French.\n\n### Builds\n\nBump the wheels by two.",
    )
    chunks = number_chunks([Document(each, metadata={"source": "notes.md"}) for each in texts])
    store.add_documents(chunks)
    config = AssemblyConfig(neighbors="unfiltered", format="minimal", window=0, max_tokens=20)
    found = ContextAssembler(config=config, store=VectorStoreNeighbors(store)).as_context()
    context = found.invoke({"documents": chunks[1:], "query": "Which wheels were bumped?"})
    assert context.text == "Notes > 2.0\n### Builds\n\nBump the wheels by two."


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("text", [" ".join(YEARS), TABLES["Markdown"], "# Leave\n\n" + "\n\n".join(YEARS)])
def test_nodes_of_any_parser_are_read_once_and_embedded_as_they_were(parser: Any, text: str) -> None:
    given = parser.get_nodes_from_documents([Source(text=text, metadata={"file_name": "a.md"})])
    nodes = number_nodes(given)
    for mode in (MetadataMode.EMBED, MetadataMode.LLM):
        assert [node.get_content(mode) for node in nodes] == [node.get_content(mode) for node in given]
    made = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=4))
    found = made.as_retriever(similarity_top_k=len(nodes)).retrieve("anything")
    context = ContextAssemblyPostprocessor(config=CONFIG, docstore=made.docstore).context(found)
    assert "".join(context.text.split()) == "".join(text.split())


class NumberChunks(TransformComponent):
    """`number_chunks` as a step of a pipeline."""

    def __call__(self, nodes: Sequence[BaseNode], **_: Any) -> list[BaseNode]:
        return number_nodes(nodes)


@pytest.mark.parametrize("id_", ["leave.md", "/in/leave.md", "leave"])
@pytest.mark.parametrize(("old", "new"), [(9, 4), (4, 9)])
def test_a_pipeline_with_upserts_deletes_what_it_stored(id_: str, old: int, new: int) -> None:
    collection = chromadb.EphemeralClient().get_or_create_collection("upserts")
    pipeline = IngestionPipeline(
        transformations=[SentenceSplitter(chunk_size=60, chunk_overlap=0), NumberChunks(), MockEmbedding(embed_dim=2)],
        vector_store=ChromaVectorStore(collection),
        docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.UPSERTS,
    )
    for count in (old, new):
        rules = " ".join(f"{' '.join(['Rule'] * 45)} {n} of {count}." for n in range(count))
        pipeline.run(documents=[Source(id_=id_, text=rules, metadata={"file_name": "leave.md"})])
        assert sorted(collection.get()["ids"]) == [f"{id_}#{n}" for n in range(count)]
    chromadb.EphemeralClient().delete_collection("upserts")


@pytest.mark.parametrize("cleanup", ["incremental", "full"])
@pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning")
def test_the_indexing_api_deletes_old_chunks(cleanup: Any, store: VectorStore) -> None:
    records = SQLRecordManager("leave", db_url="sqlite:///:memory:")
    records.create_schema()
    for chunks in versions(9, 4):
        index(chunks, records, store, cleanup=cleanup, source_id_key="source", key_encoder="sha256")
    found = store.as_retriever(search_kwargs={"k": 20}).invoke("anything")
    assert sorted(chunk.metadata["chunk_index"] for chunk in found) == [0, 1, 2, 3]
    assert {chunk.metadata["chunk_count"] for chunk in found} == {4}


def test_the_first_warning_names_the_call_that_works() -> None:
    store = STORES["chroma"]()
    assert isinstance(store, Chroma)
    store.reset_collection()
    pages = [Document(" ".join(YEARS[at : at + 20]), metadata={"source": "a.pdf", "page": at}) for at in (0, 20)]
    store.add_documents(SPLITTERS["recursive 400/80"].split_documents(pages))
    assembler = ContextAssembler(config=CONFIG, store=VectorStoreNeighbors(store))
    found = store.as_retriever(search_kwargs={"k": 2}).invoke("anything")
    with pytest.warns(NothingToJoinWarning, match=r"number_stored_chunks\(vectorstore, trust_insertion_order=True\)"):
        assembler.invoke(found)
    assert number_stored_chunks(store).chunks == 0
    assert number_stored_chunks(store, trust_insertion_order=True).chunks > 2
    (found, *_) = store.as_retriever(search_kwargs={"k": 1}).invoke("anything"), None
    assert len(assembler.as_context().invoke(found).passages[0].chunk_ids) > 1
