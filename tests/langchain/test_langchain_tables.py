"""Tables and rosters split by LangChain: a row is read with its header, an entry whole."""

from __future__ import annotations

from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ctxassembly import AssemblyConfig
from langchain_ctxassembly import ContextAssembler, number_chunks
from langchain_samples import memory_store

NAMES = ["Ann", "Bob", "Cem", "Dia", "Eli", "Fay", "Gus", "Hal", "Ida", "Jim", "Kim", "Leo"]
PROSE = "The clinic is next to the town hall, behind the park with the old trees."
TABLE = "| name | room | hours |\n|---|---|---|\n" + "".join(
    f"| {name} Jansen | room {number} | from {number} to {number + 3} |\n" for number, name in enumerate(NAMES)
)
ROSTER = "\n\n".join(f"Dr. {name} Jansen\nRoom {number}\nFrom {number} to 12" for number, name in enumerate(NAMES))


def assembled(text: str, query: str, hit: str, max_tokens: int) -> str:
    """The context of the chunk that has `hit`, from a store that has the others."""
    splitter = RecursiveCharacterTextSplitter(chunk_size=200, chunk_overlap=0, add_start_index=True)
    documents = number_chunks(splitter.split_documents([Document(text, metadata={"source": "a"})]))
    config = AssemblyConfig(max_tokens=max_tokens, format="minimal", neighbors="unfiltered", granularity="sentence")
    hits = [document for document in documents if hit in document.page_content]
    return str(
        ContextAssembler(config=config, store=memory_store(documents))
        .as_context()
        .invoke({"documents": hits, "query": query})
    )


def test_a_row_has_the_header_of_its_table_from_another_chunk():
    text = assembled(f"{PROSE}\n\n{TABLE}", "In which room is Fay?", "Fay", 60)
    assert text.index("| name | room | hours |\n|---|---|---|") < text.index("| Fay Jansen | room 5 |")


def test_a_roster_is_cut_between_its_entries():
    text = assembled(f"{PROSE}\n\n{ROSTER}", "When is Dr. Fay there?", "Fay", 40)
    assert "Dr. Fay Jansen\nRoom 5\nFrom 5 to 12" in text
    assert text.count("Dr.") == text.count("Room") == text.count("From")


def test_a_statement_goes_on_in_the_next_chunk():
    labels = ["Cash", "Inventories", "Other assets", "Total assets", "Debt", "Wages due", "Taxes due", "Total due"]
    statement = "".join(f"{label}\n{1234 + number}\n{2345 + number}\n" for number, label in enumerate(labels * 2))
    others = "\n\n".join(f"The {name} branch has a statement of its own, which nobody reads." for name in NAMES)
    query = "Which inventories are on the statement?"
    text = assembled(f"{others}\n\n{statement}\n{others}", query, "Inventories", 180)
    assert statement.replace("\n", "") in text.replace("\n", "")
