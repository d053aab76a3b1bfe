"""Dutch."""

from ctxassembly.wording.languages.record import Language

LANGUAGE = Language(
    numbered="Uit {source}{page}:",
    one_page=" (pagina {})",
    many_pages=" (pagina's {})",
    row="Rij {}",
    unknown="onbekend",
    summary="[Pagina context: {}]",
    supplement="--- AANVULLENDE INFORMATIE ---",
    context="Contextdocumenten:",
    nothing="(Er zijn geen documenten gevonden.)",
    question="Vraag:",
    cited_as=("bron", "bronnen"),
    quotes=(("“", "”"), ("„", "”")),
    task="Beantwoord de vraag op basis van de meegegeven context.",
    only="Gebruik alleen wat in de context staat.",
    insufficient="Volstaat de context niet, zeg dat dan en zeg wat er ontbreekt.",
    no_inference="Leid niets af, gok niet en combineer niets tot meer dan er staat.",
    refuse="Staat het antwoord er niet in, antwoord dan met precies deze zin en niets anders: {}",
    not_enough="Ik heb in de gegeven context niet genoeg informatie om deze vraag te beantwoorden.",
    first="Ga in de eerste plaats uit van de context.",
    own_knowledge=(
        "Algemene kennis mag verduidelijken wat daar staat, als je zegt dat het algemene kennis is. "
        "Spreken ze elkaar tegen, dan geldt de context."
    ),
    cite_label="Zet het label van de bron direct achter elke specifieke bewering, zoals {}.",
    cite_index="Zet de index van de chunk tussen vierkante haken achter elke specifieke bewering, zoals {}.",
    either="{} of {}",
    no_labels="Schrijf geen verwijzingstekens.",
    supplement_rule=(
        "De aanvullende informatie vult de documenten aan en heeft geen label: gebruik ze zonder verwijzing. "
        "Spreken ze elkaar tegen, dan gelden de documenten."
    ),
    concise="Wees beknopt.",
)
