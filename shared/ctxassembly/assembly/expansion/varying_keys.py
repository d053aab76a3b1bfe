"""The metadata keys whose values differ between the chunks of one document, as 63 pipelines of the field write them.

A chunk has to share every other key with its hit to be read as its neighbor. So a name by which anybody grants access
(`tenant`, `category`, `labels`, `segment`, `doc_id`) or tells versions apart (`version`, `updated_at`, `content_hash`)
must never be added; `document_version`, which `number_chunks` writes, is compared apart (`versions.py`).
`AssemblyConfig.varying_keys` adds keys for one assembly.

A name is in snake case, without underscores around it: `chunkIndex` is `chunk_index`. It counts at the top of the
metadata, and inside of `PLACE_CONTAINERS`: `loc.page` is a place, and `tenant.id` is a tenant. Anywhere else only names
count that can be nothing but a place.
"""

from __future__ import annotations

VARYING_NUMBERS = frozenset(
    """
    chunk chunk_index chunk_idx chunk_no chunk_num chunk_number chunk_position chunk_order chunk_start chunk_end
    chunk_count chunk_length chunk_size page pages page_index page_idx page_no page_num page_number page_numbers
    page_start page_end page_count line lines line_index line_no line_num line_number line_start line_end line_count
    row rows row_index row_idx row_idx_start row_no row_num row_number row_start row_end col_index col_idx
    col_idx_start col_start col_end slide slides slide_index slide_no slide_num slide_number paragraph paragraphs
    paragraph_index paragraph_idx paragraph_no paragraph_number sentence sentences sentence_index sentence_idx
    sentence_no sentence_number sentence_count split_index split_idx split_idx_start split_number block_index
    block_idx block_no block_number batch_index batch_idx buffer_index buffer_idx index idx seq seq_num seq_no
    sequence position pos offset start end length tokens start_index start_idx start_pos start_char start_char_idx
    start_offset start_line start_page start_row start_seconds end_index end_idx end_pos end_char end_char_idx
    end_offset end_line end_page end_row end_seconds char_index char_start char_end char_count char_length
    token_start token_end token_count token_length word_count total_word_count overlap_chars category_depth
    heading_level coordinates points bbox layout_width layout_height detection_class_prob score rerank_score
    reranker_score relevance_score retrieval_score fused_score similarity distance vector_rank vector_similarity
    cosine_similarity keyword_rank keyword_score
    """.split()  # noqa: SIM905 - a table to be read
)
"""Names whose values may differ as numbers. A value that isn't a number has to be shared."""

VARYING_VALUES = frozenset(
    """
    id pk uuid chunk_id chunk_hash node_id node_hash element_id element_hash point_id split_id page_label page_name
    sheet sheet_name title header headers heading headings section subsection chapter h1 h2 h3 h4 h5 h6 header_1
    header_2 header_3 header_4 header_5 header_6 parent_headers header_path section_id section_no section_number
    section_name section_title section_path chapter_id chapter_no chapter_number chapter_name chapter_title
    article_id article_no article_number article_title heading_path toc_title toc_path text content chunk_text
    window original_text text_as_html orig_elements split_overlap embedding doc_items captions images image_path
    image_base64 image_mime_type tables table_as_cells links link_texts link_urls link_start_indexes
    emphasized_text_contents emphasized_text_tags element_type chunk_type is_continuation header_footer_type summary
    page_summary chunk_summary section_summary prev_section_summary next_section_summary questions
    questions_this_excerpt_can_answer keywords excerpt_keywords entities matched_terms highlights search_method
    retrieval_method expanded_query expansion ingested_at indexed_at fetched_at crawled_at last_accessed_at
    timestamp start_timestamp keep_whole no_neighbors ctxassembly_title
    sub_questions table_head document_version
    """.split()  # noqa: SIM905 - a table to be read
)
"""Names whose values may differ freely."""

PLACE_CONTAINERS = frozenset({"coordinates", "dl_meta", "lines", "loc", "meta", "metadata"})
"""Keys whose values are mappings of names like these."""

NESTED_NUMBERS = VARYING_NUMBERS - frozenset(
    """
    chunk row rows line lines index idx seq seq_num seq_no sequence position pos offset start end length tokens points
    score similarity distance
    """.split()  # noqa: SIM905 - a table to be read
)
"""Names whose values may differ as numbers below any key: without those that a tenant or an owner may have, too."""
