"""English."""

from ctxassembly.wording.languages.language import Language

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
    # The published answer.
    no_content="No relevant content found.",
    refusal="I can't give advice on that.",
    unanswered="Nothing could be looked up for: {}",
    concise="Be concise.",
    continues_above="{} continues above",
    given_above="The sources that were found are given above{}.",
    same_text_in="The same text is in: {}",
    given_earlier="Sources that were shown earlier and are left out from here on: {}",
    nothing_left_out="Nothing that was left out matches.",
    left_out_sources="Left out and available: {}",
    left_out_unreadable="What was left out can't be read at the moment.",
    draft="Answer so far:",
    refine=(
        "Below is an answer from earlier parts of the context. Improve it with this part and keep "
        "its labels. If this part adds nothing, repeat it as it is."
    ),
    stop_words=(
        "a about above after again against ain all am an and any are aren as at be because been before being below "
        "between both but by can couldn did didn do does doesn doing don down during each few for from further had "
        "hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its "
        "itself just ll me mightn more most mustn my myself needn no nor not now of off on once only or other our "
        "ours ourselves out over own re s same shan she should shouldn so some such t than that the their theirs them "
        "themselves then there these they this those through to too under until up ve very was wasn we were weren "
        "what when where which while who whom why will with won wouldn you your yours yourself yourselves"
    ),
    question_words=(
        "also could define describe explain give list many may might much must please shall show summarise summarize "
        "tell us whose would"
    ),
    number_words=(
        "2 two 3 three 4 four 5 five 6 six 7 seven 8 eight 9 nine 10 ten 11 eleven 12 twelve 13 thirteen 14 fourteen "
        "15 fifteen 16 sixteen 17 seventeen 18 eighteen 19 nineteen 20 twenty 30 thirty 40 forty 50 fifty 60 sixty "
        "70 seventy 80 eighty 90 ninety 100 hundred 1000 thousand 1000000 million"
    ),
    negations="cannot neither never no nobody none nor not nothing nowhere without",
    months="January February March April May June July August September October November December",
    weekdays="Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
)
