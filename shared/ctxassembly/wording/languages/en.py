"""English."""

from ctxassembly.wording.languages.record import Language

LANGUAGE = Language(
    numbered="Source: {source}{page}",
    one_page=", page {}",
    many_pages=", pages {}",
    row="Row {}",
    unknown="unknown",
    summary="[Page context: {}]",
    supplement="--- SUPPLEMENTARY INFORMATION ---",
    context="Context:",
    nothing="(No documents were found.)",
    question="Question:",
    cited_as=("source", "sources"),
    quotes=(("“", "”"),),
    task="Answer the question on the basis of the context that comes with it.",
    only="Use only what the context says.",
    insufficient="If the context does not suffice, say so and say what is missing.",
    no_inference="Do not infer, guess or combine beyond what is written there.",
    refuse="If the answer is not there, reply with exactly this sentence and nothing else: {}",
    # The published sentence.
    not_enough="I don't have enough information in the provided context to answer this question.",
    first="Rely on the context first.",
    own_knowledge=(
        "You may add general knowledge to clarify what it says, if you say that it is general knowledge. "
        "Where the two differ, the context is right."
    ),
    cite_label="Cite the label of the source right after each specific claim, as in {}.",
    cite_index="Cite the index of the chunk in square brackets right after each specific claim, as in {}.",
    either="{} or {}",
    no_labels="Write no reference marks.",
    supplement_rule=(
        "The supplementary information completes the documents and has no label: use it without citing it. "
        "Where the two differ, the documents are right."
    ),
    concise="Be concise.",
)
