from __future__ import annotations

import pytest

from ctxassembly.data.metadata_keys import is_known_word, is_number, key_category, normalize_key

FIXED = """
         tenant tenant_id tenantId org org_id organization organisation company customer customer_id client
    account     account_id workspace project owner owner_id user user_id userId oid oids team department role
    roles group groups     group_ids acl access access_level access_group permission permissions
    authorized_identities scope     visibility classification sensitivity clearance level namespace collection
    _collection_name dataset kb_id source file_id     file_name folder session_id patient_id case_id region
    status version is_latest is_public valid_from     valid_until effective_date expires_at tags labels
    segment order organizations from to language author doc_id document_id ref_doc_id url     chunk_tenant
    page_owner title_owner section_acl id_tenant index_name summary_group question_owner
    row_level_security line_of_business split access_count user_count
""".split()  # noqa: SIM905 - a table to be read


@pytest.mark.parametrize("key", FIXED)
def test_what_anybody_may_filter_by_does_not_vary(key: str):
    assert key_category(key) == "fixed"


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("number", "page pages Page pageNumber page_no chunk_index chunkIndex chunk row start_index end-index seq_num"),
        ("number", "line_start sentence_idx token_count word_count col_end bbox points @search.score relevance_score"),
        (
            "number",
            "split_idx_start _distance heading_level category_depth start_char_idx end_char_idx total_word_count",
        ),
        ("free", "id _id pk uuid chunk_id node_id point_id split_id chunk_hash content_hash page_label sheet title"),
        ("free", "Header_1 h2 headings section subsection section_id toc_title parent_headers doc_items text window"),
        (
            "free",
            "page_summary section_summary questions_this_excerpt_can_answer excerpt_keywords created_at timestamp",
        ),
        ("words", "category type element_type chunk_type tag content_type"),
        ("rank", "rank _rank"),
        ("element", "element_id elementId"),
        ("parent", "parent_id parentId"),
    ],
)
def test_what_tools_write_varies(kind: str, keys: str):
    assert {key: key_category(key) for key in keys.split()} == dict.fromkeys(keys.split(), kind)
    assert key_category("Header 1") == "free"


def test_a_key_is_read_in_snake_case():
    assert [
        normalize_key(each) for each in ("pageNumber", "@search.reranker_score", "_id", "Header 2", "page-label")
    ] == [
        "page_number",
        "reranker_score",
        "id",
        "header_2",
        "page_label",
    ]


def test_numbers_are_told_however_they_are_kept():
    assert all(map(is_number, (7, 7.5, "7", "-7.25", [1, [2, "3"]], (0.1,), [])))
    deep: list[object] = []
    deep.append(deep)
    assert not any(map(is_number, (True, "a", "7a", "", "1" * 16, None, [1, "x"], {1: 2}, deep)))


def test_words_are_those_of_the_tools():
    assert all(
        is_known_word("category", each) for each in ("NarrativeText", "Title", "ListItem", "section_header", "Table")
    )
    assert is_known_word("tag", "h2")
    assert is_known_word("content_type", "functions_classes")
    assert not any(is_known_word("category", each) for each in ("secret", "internal", None, 7, ["Title"]))
    assert not is_known_word("tag", "confidential")
    assert not is_known_word("content_type", "Title")


def test_a_name_too_long_to_be_remembered_is_read_as_any_other():
    assert key_category("_" * 300 + "page") == key_category("page") == "number"
    assert normalize_key("x" * 300 + "Page") == "x" * 300 + "_page"
    assert is_known_word("category", "Title")
    assert not is_known_word("category", "Title" * 1_000_000)
