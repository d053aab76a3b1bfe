"""Dutch."""

from ctxassembly.wording.languages.language import Language

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
    no_content="Geen relevante inhoud gevonden.",
    refusal="Daarover kan ik geen advies geven.",
    unanswered="Hiervoor kon niets worden opgezocht: {}",
    concise="Wees beknopt.",
    continues_above="{} gaat hierboven verder",
    given_above="De gevonden bronnen staan hierboven{}.",
    same_text_in="Dezelfde tekst staat in: {}",
    given_earlier="Eerder getoonde bronnen die vanaf hier zijn weggelaten: {}",
    nothing_left_out="Niets van wat is weggelaten komt hiermee overeen.",
    left_out_sources="Weggelaten en op te vragen: {}",
    left_out_unreadable="Wat is weggelaten kan nu niet worden gelezen.",
    draft="Antwoord tot nu toe:",
    refine=(
        "Hieronder staat een antwoord op grond van eerdere delen van de context. Verbeter het met dit "
        "deel en behoud de labels ervan. Voegt dit deel niets toe, herhaal het dan ongewijzigd."
    ),
    stop_words=(
        "aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er ge "
        "geen geweest haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je kan kon kunnen "
        "maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op over reeds te "
        "tegen toch toen tot u uit uw van veel voor want waren was wat werd wezen wie wil worden wordt zal ze zelf "
        "zich zij zijn zo zonder zou"
    ),
    question_words=(
        "bent beschrijf definieer geef graag hebt hoeveel jij jullie kun kunt leg mag moeten mogen noem onze samen "
        "som toon vat vertel waar waarom wanneer we welk welke wij"
    ),
    number_words=(
        "1 een 2 twee 3 drie 4 vier 5 vijf 6 zes 7 zeven 8 acht 9 negen 10 tien 11 elf 12 twaalf 13 dertien "
        "14 veertien 15 vijftien 16 zestien 17 zeventien 18 achttien 19 negentien 20 twintig 30 dertig 40 veertig "
        "50 vijftig 60 zestig 70 zeventig 80 tachtig 90 negentig 100 honderd 1000 duizend 1000000 miljoen"
    ),
    negations="geen nergens niemand niet niets nooit zonder",
    months="januari februari maart april mei juni juli augustus september oktober november december",
    weekdays="maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
)
