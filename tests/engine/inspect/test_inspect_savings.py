"""What was kept out, by stage and rule, and the words in which a view begins."""

from __future__ import annotations

from dataclasses import replace

from builders import count, hits_of, words_of
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, assemble
from ctxassembly.views.budget import exclusion_costs, tokens_saved
from ctxassembly.views.summary import summarize
from pages import assembled, documents


def rows(context: Context) -> list[tuple[str, str, int, int | None]]:
    stages = context.trace.stages
    return [(stages[each.stage_index].name, each.rule, each.chunks, each.tokens) for each in tokens_saved(context)]


def test_a_copy_among_the_hits_is_counted_where_it_was_found():
    context = assembled(window=0)
    assert rows(context)[0] == ("dedup", "exact duplicates", 1, count(documents()[1].text))
    assert tokens_saved(context)[0].stage_index == 1


def test_the_tokens_of_a_copy_that_was_fetched_are_not_known():
    hit, neighbor = words_of("A", 0), words_of("A", 1)
    again = replace(neighbor, id="again", index=2)
    context = assemble([Hit(hit)], AssemblyConfig(window=2), store=MemoryStore([hit, neighbor, again]))
    assert rows(context) == [("dedup", "exact duplicates", 1, None)]
    assert tokens_saved(context)[0].stage_index == 3


def test_near_duplicates_are_told_from_exact_ones():
    text = " ".join(f"word{n}" for n in range(60))
    hits = hits_of([Chunk("a", "A", text), Chunk("b", "B", text.replace("word30", "other")), Chunk("c", "C", text)])
    context = assemble(hits, AssemblyConfig(dedup="near", near_threshold=0.7))
    assert rows(context) == [
        ("dedup", "exact duplicates", 1, count(text)),
        ("near dedup", "near duplicates", 1, count(hits[1].chunk.text)),
    ]


def test_overlap_is_counted_as_it_stood_in_the_chunk():
    chunks = documents()
    context = assemble(hits_of(chunks[1:3]), AssemblyConfig(window=0))
    assert rows(context) == [("render", "overlap stripped", 1, count(chunks[2].text[:60]))]


def test_a_chunk_inside_another_one_is_named():
    outer = Chunk("outer", "A", "The first sentence stands here. The second one stands here.", index=0, start=0)
    inner = Chunk("inner", "A", "The second one stands here.", index=1, start=32)
    context = assemble(hits_of([outer, inner]), AssemblyConfig(window=0))
    assert rows(context) == [("render", "contained in another", 1, count(inner.text))]


def test_what_the_budget_kept_out_is_what_the_trace_says():
    context = assembled(max_tokens=260)
    trace = context.trace
    assert ("budget", "left out", len(trace.excluded), trace.excluded_tokens) in rows(context)
    assert [(each.reason, each.chunks, each.tokens) for each in exclusion_costs(trace)] == [
        ("budget", len(trace.excluded), trace.excluded_tokens)
    ]


def test_what_was_cut_counts_with_the_tokens_that_went():
    context = assemble([Hit(documents()[1])], AssemblyConfig(max_tokens=60))
    (cut,) = context.trace.shortened
    assert rows(context) == [("budget", "cut or compressed", 1, cut.tokens_before - cut.tokens_after)]
    assert cut.tokens_before > cut.tokens_after


def test_where_nothing_had_to_go_nothing_was_saved():
    context = assemble(hits_of([words_of("A", 0), words_of("B", 0)]))
    assert tokens_saved(context) == []
    assert exclusion_costs(context.trace) == []


def test_the_first_words_say_what_was_done():
    context = assembled(max_tokens=260)
    trace = context.trace
    became, done = summarize(context)
    assert became == "4 retrieved chunks became 2 passages of 2 documents"
    assert done == (
        f"1 duplicate removed; {trace.stripped_chars} repeated characters stripped; "
        f"{len(trace.excluded)} chunks left out, which would have cost {trace.excluded_tokens} tokens."
    )
    assert trace.stripped_chars == 60
    assert "4 neighbors added for context" in summarize(assembled())[1]


def test_they_say_no_more_than_was_done():
    assert summarize(assemble(hits_of([words_of("A", 0)]))) == ("1 retrieved chunk became 1 passage of 1 document", "")
    assert summarize(assemble([])) == ("0 retrieved chunks became nothing to read", "")
