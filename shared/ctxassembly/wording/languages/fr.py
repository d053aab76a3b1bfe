"""French. The blank before a colon is a plain one: a model reads it as well, and it is one token less."""

from ctxassembly.wording.languages.record import Language

LANGUAGE = Language(
    numbered="Source : {source}{page}",
    one_page=", page {}",
    many_pages=", pages {}",
    row="Ligne {}",
    unknown="inconnue",
    summary="[Résumé de la page : {}]",
    supplement="--- INFORMATIONS COMPLÉMENTAIRES ---",
    context="Contexte :",
    nothing="(Aucun document n'a été trouvé.)",
    question="Question :",
    cited_as=("source", "sources"),
    quotes=(("«", "»"), ("“", "”")),
    task="Répondez à la question en vous appuyant sur le contexte qui l'accompagne.",
    only="N'utilisez que ce que dit le contexte.",
    insufficient="Si le contexte ne suffit pas, dites-le et précisez ce qui manque.",
    no_inference="Ne déduisez rien, ne supposez rien et ne combinez rien au-delà de ce qui y est écrit.",
    refuse="Si la réponse n'y figure pas, répondez exactement par cette phrase, sans rien ajouter : {}",
    not_enough="Le contexte fourni ne contient pas assez d'informations pour répondre à cette question.",
    first="Appuyez-vous d'abord sur le contexte.",
    own_knowledge=(
        "Vous pouvez ajouter des connaissances générales pour éclairer ce qu'il dit, à condition de les signaler "
        "comme telles. En cas de contradiction, c'est le contexte qui fait foi."
    ),
    cite_label="Indiquez l'étiquette de la source juste après chaque affirmation précise, par exemple {}.",
    cite_index="Indiquez l'index du chunk entre crochets juste après chaque affirmation précise, par exemple {}.",
    either="{} ou {}",
    no_labels="N'écrivez aucune marque de renvoi.",
    supplement_rule=(
        "Les informations complémentaires s'ajoutent aux documents et n'ont pas d'étiquette : utilisez-les sans les "
        "citer. En cas de contradiction, ce sont les documents qui font foi."
    ),
    concise="Répondez de façon concise.",
)
