"""The keys under which a neighbor may differ from its hit without a filter, and those that keep it out."""

from __future__ import annotations

from typing import Any

import pytest

from builders import hits_of, standing, words_of
from ctxassembly import AssemblyConfig, MemoryStore, MetadataKeys, assemble

KEEPS_OUT = """
         tenant tenant_id tenantId org org_id organization organisation company customer customer_id client
    account     account_id workspace project owner owner_id user user_id userId oid oids team department role
    roles group groups     group_ids acl access access_level access_group permission permissions
    authorized_identities scope     visibility classification sensitivity clearance level namespace collection
    _collection_name dataset kb_id source source_id file_id file_name folder session_id patient_id case_id region
    status version is_latest is_public valid_from     valid_until effective_date expires_at tags labels label
    segment order organizations from to language author doc_id document_id ref_doc_id url     chunk_tenant
    page_owner title_owner section_acl id_tenant index_name summary_group question_owner
    row_level_security line_of_business split access_count user_count rank parent_id
    category type tag content_type updated_at created_at content_hash file_hash revision my_summary questions_of
""".split()  # noqa: SIM905 - a table to be read
NUMBERS = """
    page pages Page pageNumber page_no chunk_index chunkIndex chunk row start_index end-index seq_num line_start
    sentence_idx token_count word_count col_end points score relevance_score split_idx_start _distance heading_level
    category_depth start_char_idx end_char_idx total_word_count metadata.page loc.pageNumber @search.score
""".split()  # noqa: SIM905 - a table to be read
VALUES = """
    id _id pk uuid chunk_id node_id point_id split_id chunk_hash page_label sheet title Header_1 h2 headings section
    subsection section_id toc_title parent_headers doc_items text window original_text page_summary section_summary
    prev_section_summary next_section_summary questions_this_excerpt_can_answer excerpt_keywords ingested_at timestamp
    element_type chunk_type element_id keep_whole ctxassembly_title sub_questions
""".split()  # noqa: SIM905 - a table to be read


def is_kept(hit: dict[Any, Any], neighbor: dict[Any, Any], **config: Any) -> bool:
    chunks = [words_of("A", 0, metadata=hit), words_of("A", 1, metadata=neighbor)]
    context = assemble(hits_of(chunks[:1]), AssemblyConfig(**config), store=MemoryStore(chunks))
    kept = standing(context) == ["A0", "A1"]
    assert bool(context.trace.unscoped) is not kept
    return kept


@pytest.mark.parametrize("key", KEEPS_OUT)
def test_what_anybody_may_filter_by_has_to_be_shared(key: str):
    for one, two in (("a", "b"), (1, 2), (["a"], ["b"]), ("a", None)):
        assert not is_kept({key: one}, {key: two})
        assert not is_kept({key: two}, {key: one})
    assert is_kept({key: "a"}, {key: "a"})


@pytest.mark.parametrize("key", NUMBERS)
def test_places_vary_as_numbers(key: str):
    for one, two in ((1, 2), (1.5, "2"), ("-7.25", [1, [2, "3"]]), (1, None), (1, [])):
        assert is_kept({key: one}, {key: two})
    for value in ("tenant-a", True, "7a", "1" * 16, [1, "x"]):
        assert not is_kept({key: value}, {key: 1})
        assert is_kept({key: value}, {key: value})


@pytest.mark.parametrize("key", VALUES)
def test_what_tools_write_for_each_chunk_varies_freely(key: str):
    for one, two in (("a", "b"), (["a"], "b"), (True, False), ("a", None)):
        assert is_kept({key: one}, {key: two})


@pytest.mark.parametrize("owner", ["tenant", "owner", "org", "m"])
@pytest.mark.parametrize("name", ["id", "uuid", "section", "index", "title", "score"])
def test_what_is_below_another_key_is_no_place(owner: str, name: str):
    """The id of a tenant is no id of a chunk."""
    assert not is_kept({owner: {name: 1}}, {owner: {name: 2}})
    assert not is_kept({f"{owner}.{name}": 1}, {f"{owner}.{name}": 2})
    assert not is_kept({"metadata": {owner: {name: 1}}}, {"metadata": {owner: {name: 2}}})
    assert is_kept({owner: {name: 1}}, {owner: {name: 2}}, varying_keys=(f"{owner}.{name}",))
    assert is_kept({owner: {"page": 1}}, {owner: {"page": 2}})


def test_a_name_is_in_snake_case_and_counts_in_containers_of_places():
    assert is_kept({"Header 1": "a", "loc": {"pageNumber": 1}}, {"Header 1": "b", "loc": {"pageNumber": 2}})
    assert is_kept({"metadata.loc.page": 1}, {"metadata.loc.page": 2})
    assert is_kept({"a.b.page": 1}, {"a.b.page": 2})
    assert not is_kept({"page.tenant": 1}, {"page.tenant": 2})
    assert not is_kept({"page": {"tenant": 1}}, {"page": {"tenant": 2}})
    assert not is_kept({"x" * 300 + "Page": 1}, {"x" * 300 + "Page": 2})


def test_the_callers_names_of_places_vary_but_never_those_of_documents_and_versions():
    places = {"index": 1, "start": 1, "score": 1, "row_number": 1, "start_line": 1}
    places |= dict.fromkeys(("title", "section", "headings", "sheet", "page"), "a")
    for name, one in places.items():
        two = 2 if one == 1 else "b"
        assert not is_kept({"own": one}, {"own": two})
        assert is_kept({"own": one}, {"own": two}, keys=MetadataKeys(**{name: "own"}))
    assert not is_kept({"own": "a"}, {"own": "b"}, keys=MetadataKeys(index="own"))
    for name in ("source", "url", "updated_at", "content_hash"):
        assert not is_kept({"own": "a"}, {"own": "b"}, keys=MetadataKeys(**{name: "own"}))
    assert is_kept({"own_summary": "a"}, {"own_summary": "b"}, summary_key="own_summary")


def test_the_caller_adds_keys():
    assert is_kept({"category": "Title"}, {"category": "Text"}, varying_keys=("category",))
    assert is_kept({"chunk": "1a"}, {"chunk": "1b"}, varying_keys=("chunk",))
    assert is_kept({"loc": {"from": 1}}, {"loc": {"from": 9}}, varying_keys=("loc.from",))
    assert not is_kept({"a": {"from": 1}}, {"a": {"from": 9}}, varying_keys=("loc.from",))
