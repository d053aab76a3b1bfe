"""French. The blank before a colon is a plain one: a model reads it as well, and it is one token less."""

from ctxassembly.wording.languages.language import Language

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
    no_content="Aucun contenu pertinent trouvé.",
    refusal="Je ne peux pas donner de conseil à ce sujet.",
    unanswered="Aucune recherche n'a pu être faite pour : {}",
    concise="Répondez de façon concise.",
    continues_above="{} continue plus haut",
    given_above="Les sources trouvées figurent ci-dessus{}.",
    same_text_in="Le même texte figure dans : {}",
    given_earlier="Sources montrées auparavant et omises désormais : {}",
    nothing_left_out="Rien de ce qui a été omis ne correspond.",
    left_out_sources="Omis et disponible : {}",
    left_out_unreadable="Ce qui a été omis ne peut pas être lu pour le moment.",
    draft="Réponse jusqu'ici :",
    refine=(
        "Une réponse tirée des parties précédentes du contexte figure ci-dessous. Améliorez-la à l'aide "
        "de cette partie et conservez ses étiquettes. Si cette partie n'apporte rien, répétez-la telle "
        "quelle."
    ),
    stop_words=(
        "ai aie aient aies ait as au aura aurai auraient aurais aurait auras aurez auriez aurions aurons auront aux "
        "avaient avais avait avec avez aviez avions avons ayant ayez ayons c ce ces d dans de des du elle en es est "
        "et eu eue eues eurent eus eusse eussent eusses eussiez eussions eut eux eûmes eût eûtes furent fus fusse "
        "fussent fusses fussiez fussions fut fûmes fût fûtes il ils j je l la le les leur lui m ma mais me mes moi "
        "mon même n ne nos notre nous on ont ou par pas pour qu que qui s sa se sera serai seraient serais serait "
        "seras serez seriez serions serons seront ses soient sois soit sommes son sont soyez soyons suis sur t ta te "
        "tes toi ton tu un une vos votre vous y à étaient étais était étant étiez étions êtes"
    ),
    question_words=(
        "avoir cet cette ceux cite citez combien comme comment doit doivent donne donnez décris décrivez définis "
        "définissez elles explique expliquer expliquez faire fait laquelle lequel lesquelles lesquels liste listez "
        "montre montrez nomme nommez où peut peuvent plus pourquoi quand quel quelle quelles quels quoi résume "
        "résumez sans si sous énumère énumérez être"
    ),
    number_words=(
        "2 deux 3 trois 4 quatre 5 cinq 6 six 7 sept 8 huit 9 neuf 10 dix 11 onze 12 douze 13 treize 14 quatorze "
        "15 quinze 16 seize 20 vingt 20 vingts 30 trente 40 quarante 50 cinquante 60 soixante 70 septante "
        "80 huitante 90 nonante 100 cent 100 cents 1000 mille 1000000 million 1000000 millions"
    ),
    negations="aucun aucune jamais n ne ni non nul nulle sans",
    months="janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
)
